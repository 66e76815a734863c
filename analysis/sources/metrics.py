"""The metrics of a run folder, refused where some are lost: sums over them would be wrong."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow

from s2m.console.errors import UserError
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.metrics import ITERATION


def read_metrics(
    folder: RunFolder, names: Collection[str], result: dict[str, Any] | None
) -> pyarrow.Table:
    """Return some metrics of a run, up to the end if it has the result of its learning."""
    table = Journal(folder).table(names)
    # A checkpoint is written after the table of the rows before it.
    if not folder.metrics.exists() and any(folder.checkpoints.glob("*.pt")):
        raise UserError(f"its {folder.metrics.name} is gone")
    if result is not None:
        _check(table[ITERATION].to_numpy(), result["iterations"])
    return table


def _check(found: np.ndarray, total: int) -> None:
    """Refuse the rows of a finished run if some are missing."""
    last = found[-1] if len(found) else 0
    if last != total:
        raise UserError(f"its metrics end at iteration {last} of {total}")
    if len(found) != total or np.any(np.diff(found) != 1):
        raise UserError(f"its metrics have {len(found)} of {total} iterations")
