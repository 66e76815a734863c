"""Words of a tiny teacher without physics, and of students of it."""

TEACHER = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=6", "budget.iterations=2",
    "encoder.width=8", "encoder.embedding=8", "task.episode_steps=12", "evaluate.episodes=2",
    "evaluate.selection_episodes=2",
]  # fmt: skip
STUDENT = [
    "distill=demo", "distill.rounds=3", "distill.bc_steps=200", "distill.dagger_steps=100",
    "distill.num_envs=10", "distill.epochs=3", "distill.batch=60", "distill.round_episodes=1",
    "distill.checkpoint_every=2",
]  # fmt: skip
