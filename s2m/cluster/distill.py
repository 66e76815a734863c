"""From the words of a command to a checked student config; needs no torch, so a login node can."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from s2m.config.compose import from_dict, load
from s2m.config.distill import AGENTS, StudentCfg, TaughtByCfg
from s2m.config.overrides import quoted, require_once
from s2m.config.run import LEARNER, RunCfg
from s2m.config.search import REPOSITORY, Search, digest
from s2m.console.errors import UserError
from s2m.console.text import count
from s2m.run.files import read_json
from s2m.run.finding import locate
from s2m.run.folder import RunFolder, saved
from s2m.run.identity import check_experiment
from s2m.run.kind import STUDENT
from s2m.run.seal import sum_in

WHO = f"a run folder, a teacher.json of analysis/make_tables.py, or {', '.join(AGENTS)}"


def compose_student(
    words: list[str], search: Search = REPOSITORY, partial: bool = False
) -> StudentCfg:
    """Return the student that a command asks for, in the task of its teacher.

    A teacher that was chosen while other runs had not ended is taken if it may be `partial`.
    """
    require_once(words)
    given = next((word.split("=", 1)[1] for word in words if word.startswith("teacher=")), "")
    teacher = _unquoted(given)
    if not teacher:
        raise UserError(f"teacher= is missing: give {WHO}")
    if teacher in AGENTS:
        cfg = load(StudentCfg, words, search)
        cfg.taught_by = TaughtByCfg(variant=teacher)
        cfg.root, cfg.experiment = cfg.root or "runs", cfg.experiment or "default"
    else:
        # Its path is set later, and may hold what Hydra could not read.
        rest = [word for word in words if not word.startswith("teacher=")]
        cfg = _of_run(find_teacher(teacher, partial), rest, search)
    check_experiment(cfg.experiment)
    return cfg


def _unquoted(value: str) -> str:
    """Return a path, which may be given in quotes as every other text."""
    if value.startswith(("'", '"')):
        with suppress(HydraException):
            return str(OverridesParser.create().parse_override(f"teacher={value}").value())
    return value


def refuse_partial(what: str, waiting: Sequence[str], partial: bool) -> None:
    """Refuse a teacher that was chosen before all runs had ended, unless that is asked for."""
    if waiting and not partial:
        named = f"{', '.join(waiting[:3])}{' ...' if len(waiting) > 3 else ''}"
        them = "it" if len(waiting) == 1 else "them"
        raise UserError(
            f"{what}: the teacher was chosen before {count(len(waiting), 'other run')} had ended "
            f"({named}): wait for {them} and make the tables again, or use it anyway with --partial"
        )


def find_teacher(name: str, partial: bool = True) -> RunFolder:
    """Return the finished run that a path or a teacher.json names."""
    path = Path(name)
    if path.is_file():
        found = read_json(path)
        if not found.get("path"):
            raise UserError(f"{path} names no teacher: no run was evaluated when it was written")
        refuse_partial(str(path), [str(run) for run in found.get("partial", [])], partial)
        path = Path(found["path"])
    path = locate(path)
    if not path.exists():
        raise UserError(f"teacher = {name}: there is no such folder; allowed is {WHO}")
    folder = RunFolder.open(path)
    if folder.kind is STUDENT:
        raise UserError(f"teacher = {name}: is a student itself; allowed is {WHO}")
    if folder.result("train") is None:
        raise UserError(
            f"teacher = {name}: has not finished training; wait for it (python -m s2m.status "
            f"{path.parent}) or choose another"
        )
    return folder


def _of_run(folder: RunFolder, words: list[str], search: Search) -> StudentCfg:
    """Take task, simulator, evaluation and size of the budget over from a teacher."""
    own = [word for word in words if word.startswith(("task.", "sim", "permute", "task="))]
    if own:
        raise UserError(f"{own[0]}: a student learns in the task of its teacher")
    run = from_dict(RunCfg, folder.config())
    if run.agent != LEARNER:
        raise UserError(f"teacher = {folder.path}: has learned nothing; allowed is {WHO}")
    require_code(run, folder, search)
    cfg = load(StudentCfg, [*_inherited(run, words, search), *words], search)
    checkpoints = saved(folder)
    if not checkpoints:
        raise UserError(f"teacher = {folder.path}: its checkpoint is gone")
    newest = checkpoints[-1]
    iteration = int(newest.name[:9])
    folder.check_final(iteration)
    identity = folder.identity
    cfg.taught_by = TaughtByCfg(
        variant=identity.variant,
        seed=identity.seed,
        signature=identity.signature,
        iteration=iteration,
        checkpoint=sum_in(newest),
        source=run.encoder.source,
    )
    place = folder.path.resolve()
    cfg.teacher, cfg.task, cfg.sim, cfg.permute = str(place), run.task, run.sim, run.permute
    cfg.root = cfg.root or os.path.relpath(place.parent.parent)
    cfg.experiment = cfg.experiment or place.parent.name
    return cfg


def require_code(run: RunCfg, folder: RunFolder, search: Search) -> None:
    """Make sure that a policy's code is at hand: a run's own copy is not executed unasked."""
    if not run.encoder.source:
        return
    file = search.encoder(run.encoder.name)
    if file is None or digest(file) != run.encoder.source:
        raise UserError(
            f"{folder.path} has an encoder of its own: read own/encoder/{run.encoder.name}.py in "
            f"it, then give --config-dir {folder.own}"
        )


def own_of(cfg: StudentCfg, search: Search) -> dict[str, bytes]:
    """Return the files from outside of s2m that a student needs: its teacher's encoder."""
    variant = cfg.taught_by.variant.removesuffix("_off")
    return search.used([], variant)


def _inherited(run: RunCfg, words: list[str], search: Search) -> list[str]:
    """Return words for what the command leaves open: the teacher's budget, evaluation, W&B."""
    given = {word.split("=", 1)[0] for word in words}
    budget = run.budget.name
    found = []
    if "distill" not in given and budget in search.options("distill"):
        found.append(f"distill={budget}")
    for group, settings in (("evaluate", run.evaluate), ("tracking", run.tracking)):
        if group in given:
            continue
        values: dict[str, Any] = asdict(settings)
        for name, value in values.items():
            if f"{group}.{name}" not in given and value != "":
                found.append(f"{group}.{name}={_word(value)}")
    return found


def _word(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else str(value).replace(" ", "")
