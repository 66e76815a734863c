"""All settings of a run by dotted names, those that tell it apart, and names that mean them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from analysis.frames import AnyRun, Run
from s2m.console.errors import UserError, unknown
from s2m.run.identity import decisive
from s2m.run.kind import STUDENT, kind_of
from s2m.run.settings import flat, labels, show


@cache
def _defaults(student: bool) -> dict[str, Any]:
    schema = kind_of({STUDENT.budget: {}} if student else {}).schema
    # Of another simulator other settings are known.
    found = flat(asdict(schema()))
    return {name: value for name, value in found if not name.startswith(("sim.", "cluster."))}


def defaults() -> dict[str, Any]:
    """Return the settings of a training run as its schema has them."""
    return _defaults(False)


def settings(run: AnyRun) -> dict[str, Any]:
    """Return all settings of a run, those added later at their default, and what it is known by."""
    known = {"experiment": run.id.split("/")[0], "state": run.state, "commit": run.commit or ""}
    if isinstance(run, Run):
        known["variant"] = run.variant
    return {**_defaults(kind_of(run.config) is STUDENT), **dict(flat(run.config)), **known}


def value(found: Mapping[str, Any], name: str) -> Any:
    """Return a setting by its name; that of a section is the section's own name."""
    return found[name] if name in found else found.get(f"{name}.name")


def require_setting(name: str, known: Iterable[str]) -> None:
    """Refuse a name that is neither a setting nor a section of them."""
    names = {part for full in known for part in _parts(full)}
    if name not in names:
        # The long list of all settings helps nobody: the nearest one does.
        said = str(unknown("setting", name, sorted(names))).partition(" Allowed:")[0]
        raise UserError(f"{said} Settings have dotted names, as in a run's config.yaml: ppo.gamma")


def _parts(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:i]) for i in range(1, len(parts) + 1))


def covers(name: str, setting: str) -> bool:
    """Tell whether a name means a setting: it is the setting, or a section that holds it."""
    return setting == name or setting.startswith(f"{name}.")


def told(run: Run) -> dict[str, Any]:
    """Return what tells runs apart: what decides a result, the budget's name and the experiment."""
    named = {"budget.name": run.config["budget"].get("name"), "experiment": run.id.split("/")[0]}
    return dict(flat(decisive(run.config))) | named


def describe(found: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the named settings of a run in short: `γ=0.98 edge=-15`."""
    short = labels(names)
    return " ".join(short[name] + show(value(found, name)) for name in names)
