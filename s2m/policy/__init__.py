"""What acts: the rsl-rl model, the tactile student, policies of run folders, their films.

May import `env`, `encoders` and what lies below them, and `run`.
"""
