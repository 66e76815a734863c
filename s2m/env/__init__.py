"""The task on a simulator as an rsl-rl VecEnv, reference agents, episodes. May import `sim`."""
