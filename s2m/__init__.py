"""S2M-Trek: multi-sphere transport with per-frame deep sets, from a config to a table cell."""

__version__ = "0.2.0.dev0"
