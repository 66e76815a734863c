"""The composed configs of a command as YAML: what `--cfg job` and `--info` print."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from s2m.config.compose import chosen
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.config.search import CONF, Search
from s2m.run import frozen
from s2m.run.identity import folder_name


def show_cells(words: list[list[str]], cells: list[RunCfg], search: Search, info: bool) -> None:
    """Print the config of each cell; several as documents."""
    if info:
        print("\n".join(f"# {note}" for note in searched(search)))
    for cell, cfg in zip(words, cells, strict=True):
        if len(cells) > 1:
            print(f"---\n# {' '.join(cell)}")
        notes = [choices(RunCfg, cell, search), place(cfg)] if info else []
        show_config(cfg, notes)


def show_config(cfg: Any, notes: Iterable[str] = ()) -> None:
    """Print a config as a run folder would freeze it, below some notes."""
    for note in notes:
        print(f"# {note}")
    print(frozen.dump(asdict(cfg)).decode(), end="")


def searched(search: Search) -> list[str]:
    """Say where the files of groups are looked for."""
    return [f"searched: {root}" for root in (CONF, *search.own)]


def choices(schema: type, words: list[str], search: Search) -> str:
    """Say which file of each group some words choose."""
    found = sorted(chosen(schema, words, search).items())
    return f"chosen: {' '.join(f'{group}={name}' for group, name in found)}"


def place(cfg: RunCfg | StudentCfg) -> str:
    """Say which folder a run or a student gets."""
    return f"folder: {cfg.root}/{cfg.experiment}/{folder_name(asdict(cfg))}"
