"""The episodes of an evaluated run: one row each on disk, sums per number of balls in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet

from analysis.frames import LEFT_OUT, Evaluation, KRates
from s2m.console.errors import UserError
from s2m.run.files import sha256
from s2m.run.folder import RunFolder
from s2m.run.rates import COLUMNS, rates_by_balls
from s2m.run.status import PENDING, STOPPED

START = ("seed", "episode")
"""What decides how an episode starts, together with the settings of the run."""


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
                reported=_reported(folder, result),
                selection=_read(folder, result, "selection"),
                file=_beside(folder, result["episodes"]),
            ),
            "",
        )
    except UserError as error:
        return None, str(error)
    except (OSError, pyarrow.ArrowException) as error:
        return None, f"its episodes cannot be read: {str(error).splitlines()[0]}"
    except (KeyError, TypeError, ValueError) as error:
        return None, f"its evaluation lacks something: {error!r}"


def judging(state: str, remark: str) -> str:
    """Return where the evaluation of a finished run stands, if what was read of it is a remark."""
    return LEFT_OUT if remark else PENDING if state == STOPPED else state


def _beside(folder: RunFolder, name: str) -> Path:
    """Return the path of a file of the run; a name from its result may not lead elsewhere."""
    if Path(name).name != name:
        raise ValueError(f"{name!r} is not a file of its folder")
    return folder.path / name


def _read(folder: RunFolder, result: dict[str, Any], name: str) -> dict[int, KRates]:
    path, sums = _beside(folder, result[name]), result.get("sha256", {})
    if name in sums and sha256(path.read_bytes()) != sums[name]:
        raise UserError(f"its {path.name} is damaged: it does not match the sum in evaluate.json")
    return summarise(path)


def _reported(folder: RunFolder, result: dict[str, Any]) -> dict[int, KRates]:
    """Read the episodes; results without their sum still know how many of them succeeded."""
    found = _read(folder, result, "episodes")
    counts = {str(k): rates.successes() for k, rates in found.items()}
    if counts != result.get("successes", counts):
        raise UserError("its episodes are damaged: they do not add up to those in evaluate.json")
    return found


def read_rows(path: Path) -> pyarrow.Table:
    """Return the episodes of a file, a row for each, but for the name of their run."""
    with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        names = [name for name in file.schema_arrow.names if name != "run"]
        return file.read(names, use_threads=False)


def summarise(path: Path) -> dict[int, KRates]:
    """Sum up a file of episodes per number of balls."""
    with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read([*COLUMNS, *START], use_threads=False)
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise KeyError(", ".join(missing))
    columns = {name: table[name].to_numpy() for name in COLUMNS}
    found = {}
    for k, rates in rates_by_balls(columns).items():
        starts, kept = _starts(table, columns["k"] == k)
        found[k] = KRates(**vars(rates), starts=starts, kept=kept)
    return found


def _starts(table: pyarrow.Table, which: np.ndarray) -> tuple[str, bytes]:
    """Return a digest of the chosen episodes' starts, and which kept their balls in that order."""
    if any(name not in table.column_names for name in START):
        return "", b""
    # In plain NumPy: a study has tens of thousands of these.
    starts = np.stack([table[name].to_numpy()[which] for name in START], axis=1).astype("<i8")
    order = np.lexsort(starts.T[::-1])
    starts = starts[order]
    if (np.diff(starts, axis=0) == 0).all(axis=1).any():
        return "", b""
    kept = table["no_drop"].to_numpy()[which][order]
    return sha256(starts.tobytes()), kept.tobytes()
