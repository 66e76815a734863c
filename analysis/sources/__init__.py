"""Where runs come from; every source fills the classes of analysis/frames.py."""
