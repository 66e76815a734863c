"""The figures: every one of the paper that shows data, survival curves and the symmetry gap."""
