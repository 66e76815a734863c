"""A tiny teacher without physics, and students of it."""

from dataclasses import asdict

import pytest

from s2m.compose import load
from s2m.config import RunCfg
from s2m.distill.request import compose_student
from s2m.run.folder import RunFolder
from s2m.run.identity import run_path
from s2m.stages import execute
from tests.words import latest

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


@pytest.fixture(scope="session")
def teacher(tmp_path_factory):
    """A trained and evaluated run."""
    root = tmp_path_factory.mktemp("runs")
    config = asdict(load(RunCfg, "config", [*TEACHER, f"root={root}", "experiment=small"]))
    folder = RunFolder.create(run_path(root, "small", config), config)
    execute(folder)
    return folder


@pytest.fixture
def student(teacher, tmp_path):
    """Return a function that creates the folder of a student."""

    def create(name, *words, **frozen):
        cfg = compose_student(latest(f"teacher={teacher.path}", *STUDENT, *words))
        return RunFolder.create(tmp_path / name, asdict(cfg) | frozen)

    return create
