"""The cells of a sweep: from the words of a command to one checked config per run."""

import itertools
import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from hydra.errors import HydraException, OverrideParseException

from s2m.config.cluster import SlurmCfg
from s2m.config.compose import broken_yaml, load, settings
from s2m.config.fields import validate
from s2m.config.overrides import require_once, unreadable
from s2m.config.run import RunCfg
from s2m.config.search import REPOSITORY, Search
from s2m.console.errors import UserError, unknown
from s2m.run.identity import check_experiment, signature

KEYS = ("experiment", "cells")
OPTIONAL = ("then",)
SHARED = ("root", "experiment", "cluster", "tracking", "evaluate", "dry", "retry_failed")
"""Settings of a whole launch, which cannot differ between its cells: no identity has them."""


@dataclass(frozen=True)
class Sweep:
    """The cells of a command and what comes after them."""

    cells: list[list[str]]
    """The words of every run."""
    then: list[str]
    """Commands that come after all runs."""

    def compose(self, search: Search = REPOSITORY) -> list[RunCfg]:
        """Return the checked config of every cell; two that are one run are refused by name."""
        composed: dict[tuple[str, ...], RunCfg] = {}
        cells = []
        for cell in self.cells:
            # Composing is slow and the seed is a plain value: compose once for all seeds.
            rest = tuple(word for word in cell if _key(word) != "seed")
            seeds = [word for word in cell if _key(word) == "seed"]
            if rest not in composed:
                composed[rest] = load(RunCfg, cell, search)
            cfg = composed[rest]
            if seeds:
                cfg = replace(cfg, seed=_seed(seeds[-1]))
                validate(cfg)
            cells.append(cfg)
        _check_shared(list(composed.values()))
        self._check_distinct(cells)
        return cells

    def _check_distinct(self, cells: list[RunCfg]) -> None:
        found: dict[str, int] = {}
        for place, cfg in enumerate(cells):
            before = found.setdefault(signature(asdict(cfg)), place)
            if before != place:
                raise _same(self.cells[place], cfg, self.cells[before], cells[before])


def sweep_names(search: Search = REPOSITORY) -> dict[str, str]:
    """Return the named sweeps and the first line of each."""
    return {
        name: path.read_text(errors="replace").partition("\n")[0].lstrip("# ")
        for name, path in search.sweeps().items()
    }


def expand(words: list[str], search: Search = REPOSITORY) -> Sweep:
    """Return the words of every cell: the product of all `a=x,y`, for each line of `+sweep=NAME`.

    What the command line sets takes the place of the sweep's own setting of that name.
    """
    sweep, rest = _take_sweep(words, search)
    require_once(rest, swept=True)
    if sweep is None:
        return Sweep(_product(rest, search), [])
    given = {_key(word) for word in rest}
    named = [] if "experiment" in given else [f"experiment={sweep['experiment']}"]
    cells = []
    for line in sweep["cells"]:
        require_once(line.split(), swept=True)
        own = [word for word in line.split() if _key(word) not in given]
        cells += _product([*named, *own, *rest], search)
    return Sweep(cells, sweep.get("then", []))


def _take_sweep(words: list[str], search: Search) -> tuple[dict[str, Any] | None, list[str]]:
    rest = [word for word in words if _key(word) != "sweep"]
    chosen = [word for word in words if _key(word) == "sweep"]
    if not chosen:
        return None, rest
    if len(chosen) > 1:
        raise UserError(f"'{' '.join(chosen)}': give one sweep, and launch others after it")
    name = chosen[0].partition("=")[2]
    if name not in search.sweeps():
        raise unknown("sweep", name, search.sweeps())
    return _read(search.sweeps()[name]), rest


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


def _product(words: list[str], search: Search) -> list[list[str]]:
    try:
        overrides = OverridesParser.create().parse_overrides(words)
    except OverrideParseException as error:
        raise unreadable(error.override) from None
    try:
        values = [_values(override, search) for override in overrides]
    except (HydraException, ValueError) as error:
        raise UserError(f"cannot sweep over '{' '.join(words)}': {error}") from None
    cells = [list(cell) for cell in itertools.product(*values)]
    if not cells:
        raise UserError(f"'{' '.join(words)}' names no run: a range is empty")
    return cells


def _values(override: Override, search: Search) -> list[str]:
    """Return a word for each value of an override."""
    if not override.is_sweep_override():
        return [override.input_line or ""]
    key, value = override.get_key_element(), override.value()
    if isinstance(value, Glob) and override.key_or_group in search.groups:
        names = value.filter(sorted(search.options(override.key_or_group)))
    elif override.is_discrete_sweep() and not isinstance(value, Glob):
        names = list(override.sweep_string_iterator())
    else:
        raise UserError(
            f"cannot sweep over '{override.input_line}': write the values, as in "
            f"{override.key_or_group}=a,b"
        )
    return [f"{key}={name}" for name in names]


def _same(cell: list[str], cfg: RunCfg, other: list[str], before: RunCfg) -> UserError:
    """Say which two cells are one run, and what makes them so."""
    if cell == other:
        return UserError(f"'{' '.join(cell)}' appears twice: give every run once")
    ours = " ".join(word for word in cell if word not in other)
    theirs = " ".join(word for word in other if word not in cell)
    mine, its = (dict((n, v) for n, v, _ in settings(c)) for c in (cfg, before))
    differ = sorted(name for name in mine if mine[name] != its.get(name))
    why = "they set the same values"
    if differ:
        why = f"{', '.join(differ)} cannot change a result"
    return UserError(f"'{theirs}' and '{ours}' are the same run: {why}; launch one of them")


def _check_shared(cells: list[RunCfg]) -> None:
    for name in SHARED:
        values = [getattr(cfg, name) for cfg in cells]
        if any(value != values[0] for value in values):
            line = f"{name} must be the same for all runs of a command"
            if name == "root":
                line += """ (a comma in it needs quotes: 'root="a,b"')"""
            if name == "cluster":
                if all(isinstance(value, SlurmCfg) for value in values):
                    continue  # every cell is submitted where it says
                line += ", unless they are all on SLURM (a list needs brackets: cluster.gpus=[0,1])"
            raise UserError(line)
    check_experiment(cells[0].experiment)


def _seed(word: str) -> int:
    value = word.split("=", 1)[1]
    try:
        return int(value)
    except ValueError:
        raise UserError(f"seed = {value}: must be an integer from 0") from None
