"""Which runs are asked for: conditions such as ppo.gamma=0.97,0.99 or seed<45 or encoder!=*mlp."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import yaml

from analysis.dotted import require_setting, value
from analysis.frames import AnyRun
from s2m.console.errors import UserError
from s2m.run.settings import show

_FORM = re.compile(r"([A-Za-z_][\w.]*)\s*(!=|<=|>=|=|<|>)\s*(.+)", re.DOTALL)
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
GRAMMAR = "NAME=VALUE[,VALUE...], NAME!=..., NAME<VALUE, <=, >, >=; * matches any text"


@dataclass(frozen=True)
class Condition:
    """One condition on a setting."""

    text: str
    name: str
    sign: str
    values: tuple[Any, ...]

    def holds(self, found: Mapping[str, Any]) -> bool:
        """Tell whether the settings of a run meet it."""
        mine = value(found, self.name)
        if self.sign in _ORDER:
            return _is_number(mine) and _ORDER[self.sign](mine, self.values[0])
        return any(_equal(mine, wanted) for wanted in self.values) == (self.sign == "=")


def parse(text: str) -> Condition:
    """Read one condition."""
    form = _FORM.fullmatch(text.strip())
    if form is None:
        raise UserError(f"'{text}' is not a condition; allowed: {GRAMMAR}")
    name, sign, rest = form.groups()
    try:
        values = tuple(map(_number, yaml.safe_load(f"[{_quoted(rest)}]")))
    except yaml.YAMLError:
        values = (rest,)
    if sign in _ORDER and (len(values) != 1 or not _is_number(values[0])):
        raise UserError(f"'{text}': {sign} needs one number")
    return Condition(text, name, sign, values)


def _quoted(text: str) -> str:
    """Return text in which names with * are no YAML aliases."""
    return re.sub(r"(?<![^\s,])([^\s,\[\]'\"]*\*[^\s,\[\]]*)", r"'\1'", text)


def _number(value: Any) -> Any:
    """Return 1e-3 as a number, which YAML takes for text."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _equal(mine: Any, wanted: Any) -> bool:
    if isinstance(wanted, str):
        return fnmatchcase(show(mine), wanted)
    if isinstance(mine, bool) or isinstance(wanted, bool):
        return mine is wanted
    return list(mine) == wanted if isinstance(mine, tuple) else mine == wanted


Known = Sequence[tuple[AnyRun, Mapping[str, Any]]]
"""Runs with their settings."""


def refusals(known: Known, only: Sequence[str], exclude: Sequence[str]) -> dict[str, str]:
    """Return why runs are not asked for, by their ids: the first condition against them."""
    names = {name for _, found in known for name in found}
    wanted, unwanted = [parse(text) for text in only], [parse(text) for text in exclude]
    for condition in (*wanted, *unwanted):
        require_setting(condition.name, names)
        _must_be_there(condition, known)
    said: dict[str, str] = {}
    for run, found in known:
        for condition in wanted:
            if not condition.holds(found):
                said.setdefault(run.id, f"--only {condition.text} asks for others")
        for condition in unwanted:
            if condition.holds(found):
                said.setdefault(run.id, f"--exclude {condition.text}")
    return said


def _must_be_there(condition: Condition, known: Known) -> None:
    """Refuse a value that no run has: it is a typing error, or the wrong folder."""
    if condition.sign != "=" or not known:
        return
    have = [value(found, condition.name) for _, found in known]
    for wanted in condition.values:
        if not any(_equal(mine, wanted) for mine in have):
            there = ", ".join(sorted({show(mine) for mine in have}))
            raise UserError(
                f"'{condition.text}': no run has {condition.name}={show(wanted)}; there are {there}"
            )
