"""What a sweep will cost in time and disk, from runs of the same kind that were measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from s2m.cluster.plan import Cell
from s2m.errors import UserError
from s2m.run.folder import RunFolder, find_runs
from s2m.run.journal import Journal

MOST = 200
"""Runs that are looked at; more would not change the mean."""


@dataclass(frozen=True)
class Cost:
    """What was measured of one run, or is expected of many."""

    seconds: float
    """Training time of one process."""
    bytes: float


def estimate(cells: Sequence[Cell], root: Path) -> Cost | None:
    """Return the expected cost of the cells that are due; None if no run like them was measured.

    Like means: the same budget and simulator; where there are any, the same encoder too.
    """
    rates: dict[tuple, list[Cost]] = {}
    for folder in list(find_runs(root))[:MOST]:
        try:
            config, measured = folder.config(), _measure(folder)
        except UserError:
            continue
        if measured is not None:
            for key in _keys(config):
                rates.setdefault(key, []).append(measured)
    seconds = size = 0.0
    for cell in cells:
        kinds = [rates[key] for key in _keys_of(cell) if key in rates]
        if not kinds:
            return None
        left = cell.state.total - cell.state.iteration
        seconds += left * sum(cost.seconds for cost in kinds[0]) / len(kinds[0])
        size += sum(cost.bytes for cost in kinds[0]) / len(kinds[0])
    return Cost(seconds, size)


def _keys(config: dict[str, Any]) -> list[tuple]:
    budget = config["budget"]
    kind = (budget["name"], budget["version"], budget["num_envs"], config["sim"]["name"])
    return [(*kind, config["encoder"]["name"]), kind]


def _keys_of(cell: Cell) -> list[tuple]:
    cfg = cell.cfg
    kind = (cfg.budget.name, cfg.budget.version, cfg.budget.num_envs, cfg.sim.name)
    return [(*kind, cfg.encoder.name), kind]


def _measure(folder: RunFolder) -> Cost | None:
    """Return seconds per iteration and bytes of a run that has trained."""
    times = [
        row["time/iteration"] for _, row in Journal(folder).tail(10) if "time/iteration" in row
    ]
    if not times or folder.result("train") is None:
        return None
    size = sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file())
    return Cost(sum(times) / len(times), size)
