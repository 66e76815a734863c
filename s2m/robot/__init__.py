"""The robot as data, and the MJCF and URDF made from it. May import `config`."""
