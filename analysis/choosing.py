"""Which runs may share a table: the same settings and code except for what makes the rows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.dotted import covers, settings, told, value
from analysis.frames import LeftOut, Run
from analysis.rows import CONTROLS, Row, require_alike
from s2m.console.errors import UserError
from s2m.run.identity import decisive
from s2m.run.settings import differing, flat, show
from s2m.run.status import FINISHED

LONGEST = 200
"""Characters of a setting that are shown."""
SHOWN = 3
"""Differing settings that are named when a run is left out."""
VARIANT = ("agent", "encoder", "permute")
"""What makes the rows unless --by does."""


def hint(chosen: Sequence[Run], others: Sequence[Run]) -> str:
    """Say by which settings the runs that are left out could have rows of their own."""
    if not others:
        return ""
    names = differing([told(run) for run in (*chosen, *others)])
    free = {"seed", "experiment", "agent", "permute", "encoder.name", "encoder.source"}
    more = [name.removesuffix(".name") for name in names if name not in free]
    kept = [name.removesuffix(".name") for name in names if name in ("encoder.name", "permute")]
    if not more or len(more) > SHOWN:
        return ""
    return f"Rows of those that were left out, too: --by {' '.join([*kept, *more])}"


def shared(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that runs of one table must share, by their dotted names."""
    free = {"agent", "encoder.name", "encoder.source", "permute", "seed"}
    return {name: value for name, value in flat(decisive(config)) if name not in free}


def _key(run: Run, mix_code: bool) -> tuple[str, str]:
    """Return text that is equal for runs that may share a table."""
    found = json.dumps(shared(run.config), sort_keys=True, default=str)
    return found, "" if mix_code else run.code


def largest(runs: list[Run], mix_code: bool) -> tuple[list[Run], list[Run]]:
    """Return the largest set of runs that may be compared, and all others."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault(_key(run, mix_code), []).append(run)
    if not groups:
        return [], []

    def size(members: list[Run]) -> tuple[int, int]:
        return sum(run.state == FINISHED for run in members), len(members)

    chosen = max(groups.values(), key=size)
    equal = [members for members in groups.values() if size(members) == size(chosen)]
    if len(equal) > 1:
        raise UserError(_tie(equal, mix_code))
    return chosen, without(runs, chosen)


def _tie(groups: list[list[Run]], mix_code: bool) -> str:
    """Say in what the sets of runs differ, none of which is larger, and how to choose."""
    one, other = groups[0][0], groups[1][0]
    said = f"{len(groups)} sets of {len(groups[0])} runs may not share a table and none is larger: "
    said += difference(one, other, mix_code)
    names = [n for n in differing([told(one), told(other)]) if n not in ("seed", "experiment")]
    names = [name.removesuffix(".name") for name in names][:SHOWN]
    if not mix_code and one.code != other.code:
        return f"{said}. Compare them with --mix-code, or choose: --only commit={one.commit}"
    first = show(value(settings(one), names[0])) if names else ""
    return f"{said}. Make rows: --by {' '.join(names)}; or choose: --only {names[0]}={first}"


def alike(runs: list[Run], by: Sequence[str], mix_code: bool) -> tuple[list[Run], list[Run]]:
    """Return the runs of --by, which differ in that and the seed only, and controls of others."""
    learning = [run for run in runs if run.variant not in CONTROLS]
    require_alike(learning, by)
    codes = {run.code: run for run in learning}
    if len(codes) > 1 and not mix_code:
        commits = ", ".join(sorted({_commit(run) for run in codes.values()}))
        raise UserError(
            f"the runs come from different code: {commits}. Compare them with --mix-code, or "
            f"choose: --only commit={next(iter(codes.values())).commit}"
        )
    if not learning:
        raise UserError(f"--by {' '.join(by)}: no run learns")
    free = [*by, *VARIANT, "seed"]

    def fixed(run: Run) -> dict[str, Any]:
        found = told(run)
        return {n: v for n, v in found.items() if not any(covers(name, n) for name in free)}

    usual = fixed(learning[0])
    others = [run for run in runs if run.variant in CONTROLS and _apart(fixed(run), usual)]
    return without(runs, others), others


def _apart(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> bool:
    known = ("experiment", "budget.name")
    names = (mine.keys() | theirs.keys()) - {*known}
    return any(mine.get(name) != theirs.get(name) for name in names)


def without(runs: list[Run], some: list[Run]) -> list[Run]:
    """Return the runs that are not among some."""
    gone = {id(run) for run in some}
    return [run for run in runs if id(run) not in gone]


def difference(run: Run, other: Run, mix_code: bool) -> str:
    """Say in what a run differs from another."""
    said = differences(_told(run.config), _told(other.config))
    if not mix_code and run.code != other.code:
        said.append(f"other code: {_commit(run)} instead of {_commit(other)}")
    return ", ".join(said)


def _told(config: Mapping[str, Any]) -> dict[str, Any]:
    """Add what cannot change a result, but is what people know runs by."""
    return shared(config) | {"budget.name": config["budget"].get("name")}


def differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Name the first settings that differ."""
    names = sorted(n for n in mine.keys() | theirs.keys() if mine.get(n) != theirs.get(n))
    names.sort(key=lambda name: name != "budget.name")
    said = [f"{n} = {_short(mine, n)} instead of {_short(theirs, n)}" for n in names[:SHOWN]]
    if len(names) > SHOWN:
        said.append(f"and {len(names) - SHOWN} more settings")
    return said


def _short(settings: Mapping[str, Any], name: str) -> str:
    text = str(settings.get(name))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def _commit(run: Run) -> str:
    return (run.commit or "unknown")[:10] + (" with changes" if run.dirty else "")


def once(
    rows: Mapping[str, tuple[Row, list[Run]]], teachers: set[str]
) -> tuple[list[Run], list[LeftOut]]:
    """Count every row and seed once: the most complete run, then a teacher, then the first."""

    def progress(run: Run) -> tuple[bool, bool, int, bool]:
        return run.state == FINISHED, run.evaluation is not None, run.iteration, run.id in teachers

    best: dict[tuple[str, int], Run] = {}
    members = [(name, run) for name, (_, runs) in rows.items() for run in runs]
    for name, run in sorted(members, key=lambda member: member[1].id):
        key = name, run.seed
        if key not in best or progress(run) > progress(best[key]):
            best[key] = run
    kept = sorted(best.values(), key=lambda run: (run.seed, run.id))
    doubles = [
        LeftOut(run.id, f"the same run as {best[name, run.seed].id}, which is counted")
        for name, run in members
        if run is not best[name, run.seed]
    ]
    return kept, doubles
