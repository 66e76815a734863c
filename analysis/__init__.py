"""Runs become tables, figures and a report here; `load` gives them as pandas frames."""

from analysis.tidy import Tidy, load

__all__ = ["Tidy", "load"]
