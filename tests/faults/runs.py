"""Tiny runs to disturb, and everything of a finished one that must not depend on how it got there.

The runs have no physics; they train, change levels, save, are evaluated and distilled as others do.
"""

import hashlib
import logging
from collections.abc import Iterable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from analysis.sources.episodes import read_evaluation
from s2m.cluster.distill import compose_student
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.policy.stored import open_policy
from s2m.run import checkpoint
from s2m.run.events import Events
from s2m.run.files import to_json
from s2m.run.folder import RunFolder
from s2m.run.identity import run_path
from s2m.run.journal import Journal
from s2m.run.metrics import VOLATILE
from s2m.run.status import FINISHED
from s2m.stages.execute import execute
from s2m.tracking.contents import digest
from tests.words import latest

TEACHER = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=6", "budget.iterations=24",
    "budget.checkpoint_every=4", "encoder.width=8", "encoder.embedding=8", "ppo.epochs=2",
    "ppo.mini_batches=2", "task.episode_steps=12", "curriculum.window=8",
    "curriculum.min_stage_episodes=8", "curriculum.min_steps_per_level=12",
    "curriculum.check_steps=6", "evaluate.episodes=2", "evaluate.selection_episodes=2",
    "tracking=disabled",
]  # fmt: skip
STUDENT = [
    "distill=demo", "distill.rounds=3", "distill.bc_steps=200", "distill.dagger_steps=100",
    "distill.num_envs=10", "distill.epochs=3", "distill.batch=60", "distill.round_episodes=1",
    "distill.checkpoint_every=2", "tracking=disabled",
]  # fmt: skip


def teacher(root: Path, *words: str) -> RunFolder:
    """Create the folder of a run to train, named as the launcher names it."""
    config = asdict(load(RunCfg, [*TEACHER, f"root={root}", *words]))
    return RunFolder.create(run_path(root, config["experiment"], config), config)


def student(root: Path, taught_by: RunFolder, *words: str) -> RunFolder:
    """Create the folder of a student of a finished run."""
    config = asdict(compose_student(latest(f"teacher={taught_by.path}", *STUDENT, *words)))
    return RunFolder.create(run_path(root, config["experiment"], config), config)


def finish(folder: RunFolder) -> RunFolder:
    """Do all that is left of a run."""
    assert execute(folder) == FINISHED
    return folder


def fingerprint(folder: RunFolder) -> dict[str, str]:
    """Return a sum for each part of a run, equal for runs that are bit-equal.

    What nobody would be given, as a damaged final checkpoint, is a UserError.
    """
    done = folder.result(folder.kind.stage) is not None
    newest = open_policy(folder.path).checkpoint if done else checkpoint.load_latest(folder)
    table = Journal(folder).table()
    stable = table.select([name for name in table.column_names if not name.startswith(VOLATILE)])
    found = {"metrics": digest(stable), "iterations": str(table["iteration"].to_pylist())}
    state = hashlib.sha256()
    for piece in _pieces({newest.iteration: newest.state} if newest else None):
        state.update(piece)
    found["state"] = state.hexdigest()
    for stage in ("train", "distill", "evaluate"):
        result = dict(folder.result(stage) or {})
        # The sums of the files hold the name of the folder; the episodes themselves follow.
        for name in ("attempts", "sha256"):
            result.pop(name, None)
        found[stage] = to_json(result)
    evaluation, remark = read_evaluation(folder)
    if remark:
        raise UserError(remark)
    # Where the episodes lie is no part of what they are.
    found["episodes"] = str(evaluation and replace(evaluation, file=Path()))
    return found


def _pieces(value: Any) -> Iterable[bytes]:
    """Yield a nested state as bytes, tensors by their content."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield f"{key}:".encode()
            yield from _pieces(item)
    elif isinstance(value, list | tuple):
        yield f"{type(value).__name__}{len(value)}".encode()
        for item in value:
            yield from _pieces(item)
    elif isinstance(value, torch.Tensor):
        yield f"{value.dtype}{tuple(value.shape)}".encode()
        yield value.detach().contiguous().numpy().tobytes()
    else:
        yield repr(value).encode()


def differences(folder: RunFolder, expected: dict[str, str]) -> list[str]:
    """Return the parts of a run that are not as they would have been."""
    found = fingerprint(folder)
    return [name for name, value in expected.items() if found[name] != value]


def course(folder: RunFolder) -> dict[str, Any]:
    """Return the fingerprint of a run, and the levels and rounds its events tell, in their order.

    Damaged events may be lost; those of a run that was only interrupted may not.
    """
    told = [
        {key: value for key, value in event.items() if key not in ("time", "attempt")}
        for event in Events(folder).read()
        if event["kind"] in ("level", "round")
    ]
    return {**fingerprint(folder), "told": told}


def times(folder: RunFolder) -> list[float]:
    """Return how many seconds each iteration of a run took."""
    return Journal(folder).table()["time/iteration"].to_pylist()


def kinds(folder: RunFolder) -> list[str]:
    """Return the kinds of a run's events, oldest first."""
    return [event["kind"] for event in Events(folder).read()]


def quiet() -> None:
    """Keep warnings about damaged files off the screen; they are what is asked for."""
    logging.getLogger("s2m").setLevel(logging.ERROR)
