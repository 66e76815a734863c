"""What a sweep will cost in time and disk, from runs of the same kind that were measured."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from s2m.cluster.plan import PlannedRun
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.run.folder import RunFolder, find_runs
from s2m.run.journal import Journal
from s2m.run.kind import STUDENT, kind_of

MOST = 200
"""Runs that are looked at; more would not change the mean."""


@dataclass(frozen=True)
class Cost:
    """What one iteration and one run's folder cost, or what is expected of many runs."""

    seconds: float
    """Time of one process; of a forecast that is a range, the shortest."""
    bytes: float
    measured: bool = True
    longest: float = 0.0
    """Where a range ends; 0 if there is none."""


FOLDER = 250e6
"""Bytes of a run's folder with the paper's networks."""
FORECAST = {("paper", "isaaclab"): Cost(12 * 3600 / 30_000, FOLDER, measured=False)}
"""What is expected of a kind of run before the first was measured.

Comparable Isaac Lab tasks, as published, train 4,096 environments for 30,000 iterations in 10 to 13
hours of an RTX 4090 or L40. The folder: eight checkpoints of 30 MB (networks with optimizer, and
the histories of all environments) and the metrics.
"""

RATES = {"warp": (60_000, 120_000)}
"""Control steps per second of 4,096 environments on one GPU, learning included, by simulator.

Figures of others, none of ours. G1 in mjlab, which uses MuJoCo Warp: 82,000 on an RTX 5090, 41,000
on an A4000; without learning 238,000 on an RTX 4090. G1 in Isaac Lab: 82,000 on an RTX 4090, 62,000
on an L40. G1 has more joints than our robot, and no balls.
"""
AT = 4096
"""Environments at which they were measured."""
FEWEST = 1024
"""With fewer environments a GPU waits for the host, and these rates tell nothing."""


def estimate(cells: Sequence[PlannedRun], root: Path) -> Cost | None:
    """Return the expected cost of the cells that are due; None if nothing is known of their kind.

    Measured runs of the same budget and simulator decide, where there are any of the same encoder.
    """
    rates: dict[tuple, list[Cost]] = {}
    for folder in list(find_runs(root))[:MOST]:
        try:
            keys, measured = _keys(folder.config()), _measure(folder)
        except (UserError, OSError, KeyError, TypeError):
            continue
        if measured is not None:
            for key in keys:
                rates.setdefault(key, []).append(measured)
    total = Cost(0.0, 0.0)
    for cell in cells:
        keys = _keys(asdict(cell.cfg))
        known = [rates[key] for key in keys if key in rates]
        forecast = _forecast(cell.cfg)
        kind = known[0] if known else [forecast] if forecast else []
        if not kind:
            return None
        left = cell.state.total - cell.state.iteration
        total = Cost(
            total.seconds + left * sum(cost.seconds for cost in kind) / len(kind),
            total.bytes + sum(cost.bytes for cost in kind) / len(kind),
            total.measured and bool(known),
            total.longest + left * sum(cost.longest or cost.seconds for cost in kind) / len(kind),
        )
    return total


def _forecast(cfg: RunCfg | StudentCfg) -> Cost | None:
    """Return what an iteration of a kind of run is expected to cost before the first was measured.

    Of fewer environments than were published, either a sample takes as long, or a whole step does.
    """
    if isinstance(cfg, StudentCfg):
        return None
    budget, sim = cfg.budget, cfg.sim
    if sim.name not in RATES or not sim.on_gpu or budget.num_envs < FEWEST:
        return FORECAST.get((budget.name, sim.name))
    slow, fast = RATES[sim.name]
    samples, filled = budget.num_envs * budget.steps, min(1.0, budget.num_envs / AT)
    return Cost(samples / fast, FOLDER, measured=False, longest=samples / (slow * filled))


def _keys(config: dict[str, Any]) -> list[tuple]:
    """Return what runs must share to cost the same, the closest kinship first."""
    budget = config[kind_of(config).budget]
    sim = config["sim"]
    place = str(sim.get("device", "cpu")).partition(":")[0]
    kind = (budget["name"], budget["version"], budget["num_envs"], sim["name"], place)
    if kind_of(config) is STUDENT:
        return [(STUDENT.name, *kind)]
    return [(*kind, config["encoder"]["name"]), kind]


def _measure(folder: RunFolder) -> Cost | None:
    """Return seconds per iteration and bytes of a run that has trained."""
    times = [
        row["time/iteration"] for _, row in Journal(folder).tail(10) if "time/iteration" in row
    ]
    if not times or folder.result(folder.kind.stage) is None:
        return None
    size = sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file())
    return Cost(sum(times) / len(times), size)
