"""Simulators behind one small protocol, and the camera. May import `task` and `robot`."""
