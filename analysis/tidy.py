"""Runs, curves and episodes as tidy tables: a row is a run, an iteration of one, an episode of one.

from analysis import load

data = load("runs", only=["encoder=pfds"], metrics=["reward/mean"])
data.runs.groupby("ppo.gamma").no_drop_5.mean()
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow
import pyarrow.parquet

from analysis.conditions import refusals
from analysis.dotted import settings
from analysis.frames import AnyRun, Run, StudentRun
from analysis.sources import local
from analysis.sources.episodes import read_rows
from analysis.study import Study
from s2m.run.settings import same

if TYPE_CHECKING:
    import pandas

FILES = ("runs", "curves", "episodes")
_PATHS = ("root", "teacher", "dry", "retry_failed")
"""Settings that say where a run was made, not what it is."""


@dataclass(frozen=True)
class Tidy:
    """Three frames; `run` joins them."""

    runs: "pandas.DataFrame"
    """A row per run: what it is, every setting by its dotted name, its results."""
    curves: "pandas.DataFrame"
    """A row per kept iteration of a run: about 1,000 of them, and every level change."""
    episodes: "pandas.DataFrame"
    """A row per evaluated episode of a run."""


def load(
    root: str | Path = "runs",
    only: Sequence[str] = (),
    exclude: Sequence[str] = (),
    metrics: Collection[str] = (),
    project: str | None = None,
) -> Tidy:
    """Return the runs below a folder, or of a W&B project, as pandas frames.

    `only` and `exclude` are conditions as those of make_tables.py; `metrics` are read besides those
    that tables and figures show. Nothing else is left out: comparability is the reader's business.
    """
    if project is None:
        frames = local.load(Path(root), metrics=metrics)
    else:
        from analysis.sources import wandb

        frames = wandb.load(project, metrics=metrics)
    found: list[AnyRun] = [*frames.runs, *frames.students]
    said = refusals([(run, settings(run)) for run in found], only, exclude)
    tables = tidy([run for run in found if run.id not in said])
    return Tidy(*(table.to_pandas() for table in tables))


def write_tidy(study: Study, out: Path) -> None:
    """Write runs.parquet, curves.parquet and episodes.parquet of a study."""
    tables = tidy([*study.runs, *study.students])
    for name, table in zip(FILES, tables, strict=True):
        pyarrow.parquet.write_table(table, out / f"{name}.parquet")


def tidy(runs: Sequence[AnyRun]) -> tuple[pyarrow.Table, pyarrow.Table, pyarrow.Table]:
    """Return runs, curves and episodes as Arrow tables."""
    return _runs(runs), _curves(runs), _episodes(runs)


def _runs(runs: Sequence[AnyRun]) -> pyarrow.Table:
    records = [_record(run) for run in runs]
    names = dict.fromkeys(name for record in records for name in record)
    return pyarrow.table({name: _column([r.get(name) for r in records]) for name in names})


def _column(values: list[Any]) -> pyarrow.Array:
    """Return a column; settings of several types, or lists, as text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        values = [None if value is None else float(value) for value in values]
    elif len(kinds) > 1 or kinds & {list, tuple, dict}:
        values = [None if value is None else str(same(value)) for value in values]
    return pyarrow.array(values)


def _record(run: AnyRun) -> dict[str, Any]:
    record: dict[str, Any] = {
        "run": run.id, "name": run.name, "kind": "student", "variant": "tactset",
        "seed": run.seed, "state": run.state, "iteration": run.iteration,
    }  # fmt: skip
    if isinstance(run, Run):
        record |= {"kind": "teacher", "variant": run.variant, "group": run.group}
        record |= {"k_max": run.level, "seconds": run.seconds}
        record |= {f"advance_{k}": run.began(k) for k in range(2, 6)}
    elif isinstance(run, StudentRun):
        record |= {"taught_by": run.teacher}
    for k, rates in sorted(run.rates.items()):
        record[f"episodes_{k}"] = rates.n
        for metric in ("no_drop", "strict"):
            record[f"{metric}_{k}"] = rates.count(metric).rate
    known = settings(run)
    kept = {n: v for n, v in known.items() if n.split(".")[0] not in (*_PATHS, "cluster")}
    return record | {name: value for name, value in sorted(kept.items()) if name not in record}


def _curves(runs: Sequence[AnyRun]) -> pyarrow.Table:
    curves = [(run.id, run.curves) for run in runs if isinstance(run, Run)]
    names = sorted({name for _, one in curves for name in one.metrics})
    ids = [name for name, one in curves for _ in one.iteration]
    columns: dict[str, Any] = {
        "run": pyarrow.array(ids, pyarrow.string()).dictionary_encode(),
        "iteration": np.concatenate([one.iteration for _, one in curves] or [np.empty(0)]),
    }
    for name in names:
        parts = [one.metrics.get(name, np.full(len(one.iteration), np.nan)) for _, one in curves]
        columns[name] = np.concatenate(parts)
    columns["iteration"] = columns["iteration"].astype(np.int64)
    return pyarrow.table(columns)


def _episodes(runs: Sequence[AnyRun]) -> pyarrow.Table:
    parts = []
    for run in runs:
        if run.evaluation is None:
            continue
        table = read_rows(run.evaluation.file)
        name = pyarrow.array([run.id] * len(table), pyarrow.string())
        parts.append(table.append_column("run", name.dictionary_encode()))
    if not parts:
        return pyarrow.table({"run": pyarrow.array([], pyarrow.string())})
    table = pyarrow.concat_tables(parts, promote_options="default").unify_dictionaries()
    return table.select(["run", *(name for name in table.column_names if name != "run")])
