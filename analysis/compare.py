"""Tell whether two runs are the same, bit for bit, and where they part.

python analysis/compare.py RUN OTHER compares metrics (but for times), level changes, results and
episodes of two run folders, or of all runs that two folders of runs have in common: of equal name,
or else the only ones of their variant and seed. The beginning of a folder's name is enough. The
exit code is 1 if anything differs.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from s2m.console.errors import UserError, run_command
from s2m.console.text import harmless
from s2m.run.events import Events
from s2m.run.finding import locate
from s2m.run.folder import RunFolder, find_runs
from s2m.run.identity import decisive
from s2m.run.journal import Journal
from s2m.run.metrics import ITERATION, VOLATILE
from s2m.run.milestones import level_changes
from s2m.run.naming import value_of
from s2m.run.settings import flat

PROCESS = ("attempts", "sha256", "teacher")
"""What results say of how they came about and what runs are called, not of what came out."""


def differences(one: RunFolder, other: RunFolder) -> list[str]:
    """Return one line for every part in which two runs differ."""
    found = [*_settings(one, other), *_metrics(Journal(one).table(), Journal(other).table())]
    levels = [level_changes(Events(run).read()) for run in (one, other)]
    if levels[0] != levels[1]:
        found.append(f"level changes: {_levels(levels[0])} and {_levels(levels[1])}")
    for stage in ("train", "distill", "evaluate"):
        results = [_result(run, stage) for run in (one, other)]
        if results[0] != results[1]:
            found.append(f"result of {stage}")
    for name in ("episodes", "selection"):
        if _episodes(one, name) != _episodes(other, name):
            found.append(name)
    return found


def _settings(one: RunFolder, other: RunFolder) -> Iterator[str]:
    """Name the settings that differ, and what they are, before what followed from them."""
    if one.identity.signature == other.identity.signature:
        return
    configs = [run.config() for run in (one, other)]
    settings = [dict(flat(decisive(config))) for config in configs]
    names = sorted(name for name in {*settings[0], *settings[1]} if _differ(name, *settings))
    if names:
        said = (f"{name} = {' and '.join(map(str, _values(name, configs)))}" for name in names)
        yield f"settings: {', '.join(said)}"


def _differ(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return not name.startswith("taught_by.") and one.get(name) != other.get(name)


def _values(name: str, configs: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [value_of(config, name) for config in configs]


def _episodes(run: RunFolder, name: str) -> list[dict[str, Any]] | None:
    """Return the rows of a file of episodes but for the name of their run."""
    path = run.path / f"{name}.parquet"
    if not path.exists():
        return None
    try:
        rows = parquet.read_table(path).to_pylist()
    except pyarrow.ArrowException as error:
        raise UserError(f"{path} is damaged: {str(error).splitlines()[0]}") from None
    return [{key: value for key, value in row.items() if key != "run"} for row in rows]


def _result(run: RunFolder, stage: str) -> dict[str, Any] | None:
    result = run.result(stage)
    return result and {name: value for name, value in result.items() if name not in PROCESS}


def _levels(levels: dict[int, int]) -> str:
    return ", ".join(f"{level} at {at}" for level, at in levels.items()) or "none"


def _metrics(one: pyarrow.Table, other: pyarrow.Table) -> Iterator[str]:
    """Say at which iteration the metrics part, and how far apart they are there."""
    if one.num_rows != other.num_rows:
        yield f"iterations: {one.num_rows} and {other.num_rows}"
    names = {
        name for name in {*one.column_names, *other.column_names} if not name.startswith(VOLATILE)
    }
    rows = min(one.num_rows, other.num_rows)
    parted: dict[str, int] = {}
    for name in sorted(names):
        a, b = (_column(table, name)[:rows] for table in (one, other))
        if len(where := np.flatnonzero(~((a == b) | (np.isnan(a) & np.isnan(b))))):
            parted[name] = int(where[0])
    if parted:
        row = min(parted.values())
        first = [name for name, at in parted.items() if at == row]
        gaps = [_gap(_column(one, name)[row], _column(other, name)[row]) for name in first]
        yield (
            f"metrics: {len(parted)} of {len(names)} differ, from iteration "
            f"{one[ITERATION][row].as_py()} on ({', '.join(first[:3])}"
            f"{', ...' if len(first) > 3 else ''}: by up to {max(gaps):.1g} of their value)"
        )


def _column(table: pyarrow.Table, name: str) -> np.ndarray:
    if name not in table.column_names:
        return np.full(table.num_rows, np.nan)
    return table[name].to_numpy().astype(float)


def _gap(a: float, b: float) -> float:
    return float(abs(a - b) / max(abs(a), abs(b))) if np.isfinite(a + b) else np.inf


def pairs(one: Path, other: Path) -> list[tuple[RunFolder, RunFolder]]:
    """Return the run that each path is, or those below both that belong together."""
    if RunFolder(one).run_file.exists() and RunFolder(other).run_file.exists():
        return [(RunFolder.open(one), RunFolder.open(other))]
    for named in (lambda run: run.path.name, lambda run: run.path.name.rpartition("-")[0]):
        found: list[dict[str, list[RunFolder]]] = [{}, {}]
        for runs, path in zip(found, (one, other), strict=True):
            for run in find_runs(path):
                runs.setdefault(named(run), []).append(run)
        common = sorted(found[0].keys() & found[1].keys())
        alone = [name for name in common if len(found[0][name]) == len(found[1][name]) == 1]
        if alone:
            return [(found[0][name][0], found[1][name][0]) for name in alone]
    raise UserError(f"{one} and {other} have no run in common")


def main(words: list[str]) -> int:
    """Compare and say what was found."""
    parser = argparse.ArgumentParser(
        prog="analysis/compare.py", description="Tell whether runs are the same, bit for bit."
    )
    parser.add_argument("one", type=Path, help="a run folder, or a folder of runs")
    parser.add_argument("other", type=Path, help="the one to compare with")
    options = parser.parse_args(words)
    same = True
    for one, other in pairs(*map(_folder, (options.one, options.other))):
        found = differences(one, other)
        same = same and not found
        lines = [f"{one.path.name}: {'differs' if found else 'the same, bit for bit'}", *found]
        if found:
            lines += [f"{run.path}: {_machines(run)}" for run in (one, other)]
        print("\n  ".join(harmless(line) for line in lines))
    return int(not same)


def _folder(path: Path) -> Path:
    """Return the folder that somebody means; see `locate`."""
    found = locate(path)
    if not found.is_dir():
        raise UserError(f"{path} is not a directory: compare two runs, or two folders of runs")
    return found


def _machines(run: RunFolder) -> str:
    """Say with what the attempts at a run computed."""
    told = [(e["processor"], e.get("packages")) for e in Events(run).read() if "processor" in e]
    lines = [f"{processor}, {packages}" for processor, packages in told]
    return "; ".join(sorted(set(lines))) or "its machine is not recorded"


if __name__ == "__main__":
    run_command(main)
