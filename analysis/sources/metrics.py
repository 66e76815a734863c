"""The metrics of a run folder, refused where some are lost: sums over them would be wrong."""

from collections.abc import Collection
from typing import Any

import pyarrow

from s2m.errors import UserError
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.metrics import ITERATION


def read_metrics(
    folder: RunFolder, names: Collection[str], result: dict[str, Any] | None
) -> pyarrow.Table:
    """Return some metrics of a run, up to the end if it has the result of its learning."""
    table = Journal(folder).table(names)
    # Checkpoints come after the table of what they go on from.
    if not folder.metrics.exists() and any(folder.checkpoints.glob("*.pt")):
        raise UserError(f"its {folder.metrics.name} is gone")
    last = table[ITERATION][-1].as_py() if len(table) else 0
    if result is not None and last != result["iterations"]:
        raise UserError(f"its metrics end at iteration {last} of {result['iterations']}")
    return table
