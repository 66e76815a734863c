"""The multi-sphere transport MDP: batched torch, free of any simulator. May import `robot`."""
