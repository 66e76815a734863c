"""Synthetic run folders with known curves, level changes and episodes.

python -m tests.analysis.synthetic writes the stored folders of tests/analysis/data anew.
"""

import shutil
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow
from pyarrow import parquet

from analysis.rows import CONTROLS
from s2m.config.distill import StudentCfg, TaughtByCfg
from s2m.config.encoder import EncoderCfg
from s2m.config.run import RunCfg
from s2m.run.code import CodeState
from s2m.run.events import Events
from s2m.run.files import write_json
from s2m.run.folder import RunFolder
from s2m.run.identity import run_path
from s2m.run.lock import Attempt
from s2m.run.metrics import write_table

DATA = Path(__file__).parent / "data"
COMMIT = "c0ffee0000000000000000000000000000000000"
Rates = dict[int, tuple[int, int]]
"""Strict and no-drop successes per number of balls."""


@dataclass
class Spec:
    """What a synthetic run shall look like."""

    variant: str = "pfds"
    seed: int = 40
    levels: dict[int, int] = field(default_factory=dict)
    rates: Rates | None = None
    selection: Rates | None = None
    """As `rates` unless given."""
    state: str = "finished"
    reason: str = "cuda out of memory"
    iteration: int | None = None
    """Finished iterations of a run that is not finished."""
    iterations: int = 30_000
    episodes: int = 100
    episode_seed: int = 1000
    evaluated_at: int | None = None
    budget: str = "paper"
    experiment: str = "encoders"
    commit: str | None = COMMIT
    patch: str = ""
    margin: float = 0.3
    changed: int = 60
    """Iterations at which metrics change; every fifth of them is an audit."""
    seconds: float = 1.5
    created: str = "2026-01-01T00:00:00+00:00"
    changes: dict = field(default_factory=dict)
    """Other settings: {"ppo": {"gamma": 0.9}, "normalise": "frozen"}."""


def config(spec: Spec) -> dict:
    """Return the resolved config of a run."""
    name = spec.variant.removesuffix("_off")
    cfg = RunCfg(encoder=EncoderCfg(name=name), permute=name == spec.variant, seed=spec.seed)
    if name in CONTROLS:
        cfg.agent, cfg.encoder.name = name, "pfds"
    cfg.budget.name, cfg.budget.iterations = spec.budget, spec.iterations
    cfg.budget.num_envs = 4096
    values = asdict(cfg)
    for group, changed in spec.changes.items():
        values[group] = values[group] | changed if isinstance(changed, dict) else changed
    return values


def write_run(root: Path, spec: Spec) -> RunFolder:
    """Write the folder of one run."""
    values = config(spec)
    path = run_path(root, spec.experiment, values)
    with mock.patch("s2m.run.folder.timestamp", lambda: spec.created):
        with mock.patch("s2m.run.events.timestamp", lambda: spec.created):
            folder = RunFolder.create(
                path, values, CodeState(spec.commit, bool(spec.patch), spec.patch)
            )
            _fill(folder, spec)
    return folder


def _fill(folder: RunFolder, spec: Spec) -> None:
    if spec.state == "pending":
        return
    last = spec.iterations if spec.state == "finished" else spec.iteration or 0
    ended = None if spec.state == "running" else spec.created
    # Another host: whether the process lives is known from `ended` alone, wherever this is read.
    attempt = Attempt(1, "0" * 16, "elsewhere", 1, spec.created, None, ended)
    write_json(folder.attempt, asdict(attempt))
    events = Events(folder, 1)
    events.append("attempt", host="elsewhere", pid=1, job=None, stolen=False)
    for level, at in spec.levels.items():
        events.append("level", iteration=at, level=level, step=24 * at, episodes=2048, criteria={})
    if last:
        write_table(folder.metrics, metrics(spec, last))
    if spec.state == "failed":
        events.append("failed", reason=spec.reason)
    if spec.state != "finished":
        return
    folder.write_result(
        "train",
        {
            "iterations": last,
            "samples": last * 4096 * 24,
            "level": max(spec.levels, default=1),
            "levels": {str(level): at for level, at in spec.levels.items()},
            "attempts": 1,
            "encoder_parameters": 166_000,
            "actor_parameters": 400_000,
        },
    )
    if spec.rates is not None:
        write_evaluation(folder, spec, last)


def metrics(spec: Spec, last: int) -> pyarrow.Table:
    """Return curves: the level as the events say, criteria that grow to their final values."""
    iteration = np.arange(1, last + 1)
    changes = np.unique(np.linspace(1, last, min(spec.changed, last)).astype(int))
    held = changes[np.searchsorted(changes, iteration, side="right") - 1]
    part = (held / last) ** (0.5 + 0.1 * (spec.seed % 5))
    level = np.ones(len(iteration))
    for k, at in spec.levels.items():
        level[iteration >= at] = k
    audit = np.full(last, np.nan)
    audit[changes[4::5] - 1] = audit[-1] = 1.0
    reach = spec.margin * (0.7 if spec.variant == "dshc_off" else 1.0)
    frame = 1e-7 if spec.variant.startswith(("pfds", "set_transformer_pf")) else 0.3
    diag = 0.3 if "mlp" in spec.variant else 1e-7
    columns = {
        "curriculum/level": level,
        "criteria/length_ratio": 0.5 + 0.45 * part,
        "criteria/margin": reach * part,
        "criteria/dangerous": 0.8 * (1 - part),
        "criteria/edge": 0.1 * (1 - part),
        "criteria/linear_error": 0.5 * (1 - part),
        "criteria/yaw_error": 0.6 * (1 - part),
        "symmetry/diag_max": 4 * diag * audit,
        "symmetry/diag_mean": diag * audit,
        "symmetry/frame_max": 4 * frame * audit * (1.1 - part),
        "symmetry/frame_mean": frame * audit * (1.1 - part),
        "time/iteration": np.full(len(iteration), spec.seconds),
    }
    arrays = {name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()}
    return pyarrow.table({"iteration": iteration, **arrays})


def write_evaluation(folder: RunFolder, spec: Spec, last: int) -> None:
    """Write evaluate.json and both files of episodes."""
    rates = spec.rates or {}
    parquet.write_table(episodes(folder, spec, rates), folder.path / "episodes.parquet")
    selection = spec.selection if spec.selection is not None else rates
    selection = {k: hits for k, hits in selection.items() if k == 5}
    parquet.write_table(episodes(folder, spec, selection), folder.path / "selection.parquet")
    folder.write_result(
        "evaluate",
        {
            "iteration": last if spec.evaluated_at is None else spec.evaluated_at,
            "checkpoint": "final",
            "settings": {
                "levels": sorted(rates),
                "episodes": spec.episodes,
                "seed": spec.episode_seed,
                "selection_episodes": spec.episodes,
                "selection_seed": 2000,
                "slots": "as_trained",
            },
            "episodes": "episodes.parquet",
            "selection": "selection.parquet",
            "successes": {
                str(k): {"n": spec.episodes, **_counts(spec, *hits)} for k, hits in rates.items()
            },
        },
    )


def _counts(spec: Spec, strict: int, no_drop: int) -> dict[str, int]:
    return {"strict": min(strict, spec.episodes), "no_drop": min(no_drop, spec.episodes)}


def episodes(folder: RunFolder, spec: Spec, rates: Rates) -> pyarrow.Table:
    """Return rows with the wanted successes: strict ones first, failures last."""
    rows = []
    for k, (strict, no_drop) in rates.items():
        for i in range(spec.episodes):
            survived = i < no_drop
            rows.append(
                {
                    "run": folder.path.name,
                    "k": k,
                    "episode": i,
                    "seed": spec.episode_seed,
                    "steps": 500 if survived else 100 + i,
                    "dropped": not survived,
                    "fell": False,
                    "unstable": False,
                    "near_edge_steps": 0 if i < strict else 7,
                    "outside_steps": 0,
                    "strict": i < strict,
                    "no_drop": survived,
                    "linear_error": 0.1,
                    "yaw_error": 0.05,
                    "minimum_margin": 0.2 if survived else -0.1,
                }
            )
    return pyarrow.Table.from_pylist(rows)


GOOD: Rates = {1: (20, 20), 2: (19, 20), 3: (16, 19), 4: (12, 19), 5: (8, 19)}
WEAK: Rates = {1: (18, 20), 2: (5, 12), 3: (0, 1), 4: (0, 0), 5: (0, 0)}


def stored_specs() -> list[Spec]:
    """Return the runs of the regression fixture: every kind of trouble once."""
    small = Spec(iterations=2000, episodes=20, budget="small", changed=20)

    def run(variant: str, seed: int, levels: list[int], **fields) -> Spec:
        begun = dict(enumerate(levels, start=2))
        rates = fields.pop("rates", GOOD if len(levels) == 4 else WEAK)
        return replace(small, variant=variant, seed=seed, levels=begun, rates=rates, **fields)

    better = {**GOOD, 5: (11, 20)}
    return [
        run("pfds", 40, [100, 220, 350, 420], rates=better),
        run("pfds", 41, [110, 260, 380, 500]),
        run("pfds", 42, [90, 240, 410, 610], selection=better),
        run("pfds_off", 40, [150, 900, 1200, 1700]),
        run("pfds_off", 41, [160, 800, 1500], rates=WEAK),  # censored at level 5
        run("dshc", 40, [120, 500, 700, 900]),
        run("dshc", 41, [130, 480, 720, 980]),
        run("dshc", 42, [140], state="running", iteration=300, rates=None),
        run("dshc_off", 40, [200]),
        run("dshc_off", 41, [210]),
        run("dshc_off", 42, [205], state="failed", iteration=400, rates=None),
        run("set_transformer", 40, [100, 300, 500, 800], rates=None),  # not yet evaluated
        run("set_transformer_pf", 40, [], state="running", iteration=50, rates=None),
        run("branch_mlp", 40, [], state="failed", iteration=10, rates=None),
        run("flat_mlp", 40, [], state="pending", rates=None),
        # The same run in another experiment, another budget, other code, other episodes.
        run("pfds", 40, [100, 220, 350, 420], experiment="ablation"),
        run("pfds", 43, [50, 60, 70, 80], changes={"budget": {"name": "tiny", "iterations": 900}}),
        run("dshc", 43, [50, 60, 70, 80], commit="badc0de000000000000000000000000000000000"),
        run("dshc", 44, [150, 520, 760, 1010], episodes=10),
    ]


ROUNDS = [{1: 0.5, 2: 0.25, 5: 0.0}, {1: 1.0, 2: 0.75, 5: 0.25}, {1: 1.0, 2: 1.0, 5: 0.75}]
FELT: Rates = {1: (19, 20), 2: (17, 20), 3: (11, 18), 4: (8, 17), 5: (4, 15)}


def write_student(
    root: Path, teacher: RunFolder, rates: Rates | None = None, seed: int = 40, **fields
) -> RunFolder:
    """Write the folder of a student: finished if it has rates, else in the middle of round 1."""
    spec = Spec(seed=seed, **fields)
    identity = teacher.identity
    cfg = StudentCfg(
        teacher=f"/elsewhere/{teacher.path.parent.name}/{teacher.path.name}", seed=seed
    )
    cfg.taught_by = TaughtByCfg(identity.variant, identity.seed, identity.signature, 2000, "a" * 64)
    cfg.distill.rounds, cfg.distill.epochs, cfg.distill.epochs_more = 3, 10, 0
    values = asdict(cfg)
    for group, changed in spec.changes.items():
        values[group] = values[group] | changed if isinstance(changed, dict) else changed
    path = run_path(root, spec.experiment, values)
    with mock.patch("s2m.run.folder.timestamp", lambda: spec.created):
        with mock.patch("s2m.run.events.timestamp", lambda: spec.created):
            folder = RunFolder.create(path, values, CodeState(spec.commit))
            _teach(folder, spec, rates)
    return folder


def _teach(folder: RunFolder, spec: Spec, rates: Rates | None) -> None:
    rounds = ROUNDS if rates else ROUNDS[:1]
    last = 10 * len(rounds)
    ended = spec.created if rates else None
    write_json(
        folder.attempt, asdict(Attempt(1, "0" * 16, "elsewhere", 1, spec.created, None, ended))
    )
    events = Events(folder, 1)
    for i, found in enumerate(rounds):
        named = {f"round/no_drop_{k}": rate for k, rate in found.items()}
        events.append("round", iteration=10 * (i + 1), round=i, rates=named)
    iteration = np.arange(1, last + 1)
    times = np.full(last, spec.seconds)
    write_table(folder.metrics, pyarrow.table({"iteration": iteration, "time/iteration": times}))
    if rates:
        folder.write_result("distill", {"iterations": last, "parameters": 124_140})
        write_evaluation(folder, replace(spec, rates=rates), last)


def write_stored() -> None:
    """Write the regression fixture anew."""
    shutil.rmtree(DATA / "runs", ignore_errors=True)
    runs = [write_run(DATA / "runs", spec) for spec in stored_specs()]
    # Of the best teacher; of another, still in round 1; and of a run that is not compared.
    write_student(DATA / "runs", runs[2], FELT, episodes=20)
    write_student(DATA / "runs", runs[0], seed=41)
    write_student(DATA / "runs", runs[16], seed=42)


if __name__ == "__main__":
    write_stored()
