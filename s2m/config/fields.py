"""Config fields that know their meaning and range, and the check that uses both."""

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import field, fields, is_dataclass
from typing import Any

from s2m.console.errors import UserError, unknown


def setting(
    default: Any,
    meaning: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    length: int | None = None,
    distinct: bool = False,
    choices: Sequence[str] | None = None,
    decides: bool = True,
    since: str = "",
) -> Any:
    """Declare a dataclass field with its meaning (and unit) and what it may be.

    `low` and `high` are inclusive bounds, `above` an exclusive lower one; for a list they hold for
    every item, `length` is its exact number of items, and `distinct` that none occurs twice.
    What cannot change a result has `decides=False`. A field that is added to a schema has `since`,
    the version it came with: at its default it is left out of signatures, so no run is renamed.
    """
    limits = {"low": low, "high": high, "above": above, "length": length, "choices": choices}
    metadata = {
        "meaning": meaning, "distinct": distinct, "decides": decides, "since": since, **limits
    }  # fmt: skip
    if isinstance(default, list | dict) or is_dataclass(default):
        return field(default_factory=lambda: deepcopy(default), metadata=metadata)
    return field(default=default, metadata=metadata)


def validate(config: Any, path: str = "") -> None:
    """Check every field of a config tree; raise a UserError naming the first wrong value.

    Rules that involve several fields belong in a config's own method `check`.
    """
    for item in fields(config):
        value = getattr(config, item.name)
        name = f"{path}{item.name}"
        if is_dataclass(value):
            validate(value, f"{name}.")
        elif item.metadata.get("meaning") is not None:
            _check(name, value, item.metadata)
    if check := getattr(config, "check", None):
        check()


def _check(name: str, value: Any, rule: Any) -> None:
    if rule["choices"] is not None and value not in rule["choices"]:
        raise unknown(name, value, rule["choices"])
    if rule["length"] is not None and len(value) != rule["length"]:
        raise UserError(f"{name} = {value}: needs {rule['length']} values ({rule['meaning']})")
    if rule["distinct"] and len(set(value)) < len(value):
        raise UserError(f"{name} = {value}: needs every value once ({rule['meaning']})")
    numeric = any(rule[bound] is not None for bound in ("low", "high", "above"))
    if value == [] and numeric:
        raise UserError(f"{name} = []: needs at least one value ({rule['meaning']})")
    for number in value if isinstance(value, list) else [value]:
        if isinstance(number, bool) or not isinstance(number, int | float):
            continue
        # Written so that NaN, for which every comparison is false, is refused too.
        inside = (
            (rule["low"] is None or number >= rule["low"])
            and (rule["high"] is None or number <= rule["high"])
            and (rule["above"] is None or number > rule["above"])
        )
        if not inside:
            raise UserError(f"{name} = {value}: allowed {_range(rule)} ({rule['meaning']})")
        if isinstance(number, float) and not math.isfinite(number):
            raise UserError(f"{name} = {value}: allowed are finite numbers ({rule['meaning']})")


def _range(rule: Any) -> str:
    low, high, above = rule["low"], rule["high"], rule["above"]
    if low is not None and high is not None:
        return f"{low} to {high}"
    if above is not None:
        return f"above {above}" + (f" and at most {high}" if high is not None else "")
    return f"{low} or more" if low is not None else f"{high} or less"
