"""A shift: what an evaluation changes of the settings with which a policy was trained."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import fields
from typing import Any

import yaml

from s2m.config.env import EnvCfg
from s2m.config.evaluate import EvaluateCfg
from s2m.config.fields import validate
from s2m.config.search import SWEEPS
from s2m.config.sim import SIMULATORS
from s2m.console.errors import UserError, unknown

WORLD = ("task", "sim")
"""Groups of settings that a run has, too."""
SHIFTABLE = (*WORLD, "delay", "faults", "slots")
"""Groups of settings, and settings, that a shift may change."""
AS_TRAINED = "as trained"
FOLDER = SWEEPS / "shifts"
"""Named lists of shifts: FOLDER/common.yaml is +shifts=common."""

Shift = dict[str, str]
"""What is changed: the value of each setting, as it was given."""


def shift_of(words: Iterable[str]) -> Shift:
    """Return the settings of a command that are a shift, in the order of their names."""
    given = dict(word.split("=", 1) for word in words if "=" in word)
    aside = {
        f"sim.{item.name}" for schema in SIMULATORS.values() for item in fields(schema)  # pyright: ignore[reportArgumentType]
        if not item.metadata.get("decides", True)
    }  # fmt: skip
    keys = sorted(key for key in given if key.split(".")[0] in SHIFTABLE and key not in aside)
    return {key: given[key] for key in keys}


def name_of(shift: Mapping[str, str]) -> str:
    """Return what a shift is called wherever it is shown or stored."""
    return " ".join(f"{key}={value}" for key, value in shift.items()) or AS_TRAINED


def value_at(config: Any, key: str) -> Any:
    """Return a setting by its dotted name; a UserError if there is none."""
    *path, last = key.split(".")
    for part in path:
        config = getattr(config, part, None)
    if not hasattr(config, last):
        names = [item.name for item in fields(config)] if hasattr(config, "name") else []
        raise unknown("setting", key, [".".join([*path, name]) for name in names])
    return getattr(config, last)


def shifted(world: EnvCfg, cfg: EvaluateCfg, words: Iterable[str]) -> EnvCfg:
    """Return the world of a run with the settings that a command gives for it."""
    world = deepcopy(world)
    for word in words:
        key, _, value = word.partition("=")
        group, _, rest = key.partition(".")
        if group not in WORLD or not rest:
            continue
        value_at(world, key)
        *path, last = key.split(".")
        place = world
        for part in path:
            place = getattr(place, part)
        setattr(place, last, value_at(cfg, key))
    validate(world)
    return world


def named_shifts(name: str) -> list[str]:
    """Return the lines of a named list of shifts, each to be read as the words of a command."""
    known = {path.stem: path for path in FOLDER.glob("*.yaml")}
    if name not in known:
        raise unknown("shifts", name, known)
    lines = yaml.safe_load(known[name].read_text())
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        raise UserError(f"{known[name]} must be a list of text, as '- delay.action=1,2'")
    return lines
