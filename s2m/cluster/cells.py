"""The cells of a sweep: from the words of a command to one checked config per run."""

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import yaml
from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ValueType
from hydra.errors import HydraException, OverrideParseException

from s2m.config.compose import CONF, broken_yaml, load
from s2m.config.fields import validate
from s2m.config.overrides import require_once, unreadable
from s2m.config.run import RunCfg
from s2m.console.errors import UserError, unknown
from s2m.run.identity import check_experiment, signature

SWEEPS = CONF.parent / "sweeps"
KEYS = ("experiment", "cells")
OPTIONAL = ("then",)
SHARED = ("root", "experiment", "cluster", "tracking", "evaluate", "dry", "retry_failed")
"""Settings of a whole launch, which cannot differ between its cells: no identity has them."""
UNLISTED = (ValueType.INTERVAL_SWEEP, ValueType.GLOB_CHOICE_SWEEP)
"""Sweeps that Hydra can read, but whose values only some of its plugins know."""


def sweep_names() -> dict[str, str]:
    """Return the named sweeps and the first line of each."""
    return {
        path.stem: path.read_text(errors="replace").partition("\n")[0].lstrip("# ")
        for path in sorted(SWEEPS.glob("*.yaml"))
    }


def expand(words: list[str]) -> list[list[str]]:
    """Return the words of every cell: the product of all `a=x,y`, for each line of `+sweep=NAME`.

    What the command line sets takes the place of the sweep's own setting of that name.
    """
    sweep, rest = _take_sweep(words)
    require_once(rest, swept=True)
    if sweep is None:
        return _product(rest)
    given = {_key(word) for word in rest}
    named = [] if "experiment" in given else [f"experiment={sweep['experiment']}"]
    cells = []
    for line in sweep["cells"]:
        require_once(line.split(), swept=True)
        own = [word for word in line.split() if _key(word) not in given]
        cells += _product([*named, *own, *rest])
    return cells


def follow_ups(words: list[str]) -> list[str]:
    """Return the commands that come after the runs of a named sweep."""
    sweep, _ = _take_sweep(words)
    return sweep.get("then", []) if sweep else []


def _take_sweep(words: list[str]) -> tuple[dict[str, Any] | None, list[str]]:
    rest = [word for word in words if _key(word) != "sweep"]
    chosen = [word for word in words if _key(word) == "sweep"]
    if not chosen:
        return None, rest
    if len(chosen) > 1:
        raise UserError(f"'{' '.join(chosen)}': give one sweep, and launch others after it")
    name = chosen[0].partition("=")[2]
    if name not in sweep_names():
        raise unknown("sweep", name, sweep_names())
    return _read(SWEEPS / f"{name}.yaml"), rest


def _read(path: Path) -> dict[str, Any]:
    """Return what a sweep file says: `cells` and `then` are lists of text, each line a command."""
    try:
        with path.open("rb") as file:
            content = yaml.safe_load(file)
    except yaml.YAMLError as error:
        raise broken_yaml(error) from None
    if not isinstance(content, dict) or set(content) - set(OPTIONAL) != set(KEYS):
        raise UserError(f"{path} must have the keys {', '.join(KEYS)}, and may have then")
    if not isinstance(content["experiment"], str | int):
        raise UserError(f"{path}: experiment must be the name of a folder")
    for key, example in {"cells": "encoder=pfds seed=40,41", "then": "-m s2m.status"}.items():
        lines = content.get(key, [])
        if not isinstance(lines, list) or not all(isinstance(x, str) and x.strip() for x in lines):
            raise UserError(f"{path}: {key} must be a list of text, each line like '- {example}'")
    if not content["cells"]:
        raise UserError(f"{path}: cells must have at least one line")
    for line in content.get("then", []):
        _require_command(line, path)
    return content


def _require_command(line: str, path: Path) -> None:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UserError(f"{path}: then: {line}: {str(error).lower()}") from None
    if words[0] in ("", "-m") and len(words) == 1:
        raise UserError(f"{path}: then: {line}: write a script, or -m and a module")


def _key(word: str) -> str:
    return word.split("=", 1)[0].lstrip("+")


def _product(words: list[str]) -> list[list[str]]:
    try:
        overrides = OverridesParser.create().parse_overrides(words)
    except OverrideParseException as error:
        raise unreadable(error.override) from None
    for override in overrides:
        if override.value_type in UNLISTED:
            raise UserError(
                f"cannot sweep over '{override.input_line}': write the values, as in "
                f"{override.key_or_group}=a,b"
            )
    try:
        (batch,) = BasicSweeper.split_arguments(overrides, max_batch_size=None)
    except (HydraException, ValueError) as error:
        raise UserError(f"cannot sweep over '{' '.join(words)}': {error}") from None
    if not batch:
        raise UserError(f"'{' '.join(words)}' names no run: a range is empty")
    return batch


def compose_cells(words: list[str]) -> list[RunCfg]:
    """Return the checked config of every cell, each run once."""
    composed: dict[tuple[str, ...], RunCfg] = {}
    cells: dict[str, RunCfg] = {}
    for cell in expand(words):
        # Composing is slow and the seed is a plain value: compose once for all seeds.
        rest = tuple(word for word in cell if _key(word) != "seed")
        seeds = [word for word in cell if _key(word) == "seed"]
        if rest not in composed:
            composed[rest] = load(RunCfg, "config", cell)
        cfg = composed[rest]
        if seeds:
            cfg = replace(cfg, seed=_seed(seeds[-1]))
            validate(cfg)
        cells.setdefault(signature(asdict(cfg)), cfg)
    _check_shared(list(composed.values()))
    return list(cells.values())


def _check_shared(cells: list[RunCfg]) -> None:
    for name in SHARED:
        values = [getattr(cfg, name) for cfg in cells]
        if any(value != values[0] for value in values):
            line = f"{name} must be the same for all runs of a command"
            if name == "root":
                line += """ (a comma in it needs quotes: 'root="a,b"')"""
            raise UserError(line)
    check_experiment(cells[0].experiment)


def _seed(word: str) -> int:
    value = word.split("=", 1)[1]
    try:
        return int(value)
    except ValueError:
        raise UserError(f"seed = {value}: allowed are whole numbers from 0") from None
