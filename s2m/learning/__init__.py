"""How policies learn: PPO, controls that do not, imitation and its data. May import `policy`."""
