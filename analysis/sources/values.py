"""Values from run folders, whoever wrote them: words for people, numbers of a sane kind."""

from collections.abc import Callable
from typing import Any

from s2m.config.curriculum import CRITERIA
from s2m.console.errors import UserError
from s2m.console.text import one_line
from s2m.run.files import LARGEST, is_count
from s2m.run.milestones import HIGHEST as MOST_BALLS

MOST_ROUNDS = 1000
"""Rounds of a student that can be believed."""
LONGEST = 500
"""Characters of a name or a reason."""


def words(text: str) -> str:
    """Return text as one line that any terminal and file can take."""
    return one_line(text)[:LONGEST]


def count(value: Any) -> int:
    """Return a whole number as it stands in a result."""
    if not is_count(value):
        raise UserError(f"its result has {str(value)[:40]!r} instead of a whole number")
    return value


def parameters(result: dict[str, Any] | None, name: str) -> int | None:
    """Return how many parameters a network has, where the result says so."""
    value = (result or {}).get(name)
    return None if value is None else count(value)


def complaint(error: Exception) -> str:
    """Return what is wrong with a run, whatever it is."""
    return words(str(error) if isinstance(error, UserError) else f"damaged: {error!r}")


def check_config(config: dict[str, Any], student: bool = False) -> None:
    """Make sure of the settings that every table needs."""
    for group, names in (NEEDED_OF_STUDENTS if student else NEEDED).items():
        found = config.get(group)
        for name, fits in names.items():
            if not isinstance(found, dict) or name not in found:
                raise UserError(f"its config has no {group}.{name}: it is not a run of this study")
            if not fits(found[name]):
                raise UserError(f"its config has {group}.{name} = {str(found[name])[:40]}")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < LARGEST


def is_level(value: Any) -> bool:
    """Tell whether a value is a number of balls."""
    return type(value) is int and 1 <= value <= MOST_BALLS


def _are_numbers(value: Any) -> bool:
    return isinstance(value, list) and len(value) == MOST_BALLS - 1 and all(map(_is_number, value))


NEEDED: dict[str, dict[str, Callable[[Any], bool]]] = {
    "budget": {
        "name": lambda value: isinstance(value, str) and value == one_line(value),
        "iterations": is_count, "num_envs": is_count, "steps": is_count,
    },
    "curriculum": {
        "start": is_level, "stop": is_level, "length_ratio": _is_number,
        **{name: _are_numbers for name in CRITERIA if name != "length_ratio"},
    },
}  # fmt: skip
"""Settings that every table needs, and what they must be, whoever wrote the config."""

NEEDED_OF_STUDENTS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "taught_by": {"signature": lambda value: isinstance(value, str)},
    "distill": {
        "rounds": lambda value: is_count(value) and value <= MOST_ROUNDS,
        "round_episodes": is_count,
        "levels": lambda value: isinstance(value, list) and all(map(is_level, value)),
    },
}
