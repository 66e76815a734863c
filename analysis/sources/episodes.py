"""The episodes of an evaluated run: one row each on disk, sums per number of balls in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from analysis.frames import CRITERIA, Evaluation, KRates
from s2m.run.folder import RunFolder

FLAGS = ("strict", "no_drop", "dropped", "fell", "unstable")
MEANS = ("steps", "linear_error", "yaw_error", "minimum_margin")
PARTS = ("near_edge_steps", "outside_steps")
COLUMNS = ("k", *FLAGS, *MEANS, *PARTS)


def read_evaluation(folder: RunFolder) -> tuple[Evaluation | None, str]:
    """Return the evaluation of a run, or None and, where there should be one, what is wrong."""
    result = folder.result("evaluate")
    if result is None:
        damaged = folder.result_file("evaluate").exists()
        return None, "its evaluate.json is damaged" if damaged else ""
    try:
        return (
            Evaluation(
                iteration=int(result["iteration"]),
                settings=dict(result["settings"]),
                reported=summarise(_beside(folder, result["episodes"])),
                selection=summarise(_beside(folder, result["selection"])),
            ),
            "",
        )
    except (OSError, pyarrow.ArrowException) as error:
        return None, f"its episodes cannot be read: {str(error).splitlines()[0]}"
    except (KeyError, TypeError, ValueError) as error:
        return None, f"its evaluation lacks something: {error!r}"


def _beside(folder: RunFolder, name: str) -> Path:
    """Return the path of a file of the run; a name from its result may not lead elsewhere."""
    if Path(name).name != name:
        raise ValueError(f"{name!r} is no file of its folder")
    return folder.path / name


def summarise(path: Path) -> dict[int, KRates]:
    """Sum up a file of episodes per number of balls."""
    with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read(list(COLUMNS), use_threads=False)
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise KeyError(", ".join(missing))
    k, which = np.unique(table["k"].to_numpy(), return_inverse=True)
    n = np.bincount(which)
    flags = {f: np.bincount(which, weights=table[f].to_numpy()) for f in FLAGS}
    means = {m: np.bincount(which, weights=table[m].to_numpy()) / n for m in MEANS}
    measures = _criteria(table, which, n)
    found = {}
    for i, balls in enumerate(k):
        values: dict[str, Any] = {name: int(column[i]) for name, column in flags.items()}
        values |= {name: float(column[i]) for name, column in means.items()}
        values["criteria"] = {name: float(column[i]) for name, column in measures.items()}
        found[int(balls)] = KRates(n=int(n[i]), **values)
    return found


def _criteria(table: pyarrow.Table, which: np.ndarray, n: np.ndarray) -> dict[str, np.ndarray]:
    """Return the promotion measures per number of balls: mean steps, then means over all steps."""
    length = table["steps"].to_numpy()
    steps = np.bincount(which, weights=length)

    def over_steps(sums: np.ndarray) -> np.ndarray:
        return np.bincount(which, weights=sums) / steps

    parts = [over_steps(table[name].to_numpy()) for name in PARTS]
    margin, linear, yaw = (
        over_steps(table[name].to_numpy() * length)
        for name in ("minimum_margin", "linear_error", "yaw_error")
    )
    return dict(zip(CRITERIA, (steps / n, margin, *parts, linear, yaw), strict=True))
