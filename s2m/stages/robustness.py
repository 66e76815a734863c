"""Several policies under several shifts: each evaluated once, stored apart from its run.

Every policy is also evaluated as trained, in the same episodes. What is stored names run,
checkpoint, shift and settings; the same command again does only what is missing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from s2m.config.compose import load
from s2m.config.evaluate import EvaluateCfg, EvaluationCfg
from s2m.config.overrides import quoted
from s2m.config.search import Search
from s2m.config.shift import WORLD, Shift, name_of, shift_of, value_at
from s2m.console.errors import UserError, in_words
from s2m.env.episodes import run_episodes
from s2m.policy.stored import cast, open_policy
from s2m.run.files import checksum, read_sealed, sha256, write_sealed
from s2m.run.folder import RunFolder, saved
from s2m.run.rates import rates_of_rows
from s2m.stages.evaluate import environment, write_episodes

FOLDER = "evaluations"
"""In the folder of a comparison: a record and a table of episodes per run and shift."""


def judge_all(
    runs: Sequence[RunFolder], cells: Iterable[list[str]], out: Path, search: Search
) -> int:
    """Evaluate runs under every cell's shift and as trained; return how often that failed.

    Runs without a policy, as archives keep most of theirs, are left out and named.
    """
    console = Console(markup=False, width=120, highlight=False)
    torch.set_num_threads(1)
    worlds = []
    for cell in cells:
        unshifted = [word for word in cell if word.partition("=")[0] not in shift_of(cell)]
        worlds += [words for words in (unshifted, cell) if words not in worlds]
    without = [run.path.name for run in runs if not saved(run)]
    if len(without) == len(runs):
        raise UserError(f"{', '.join(without)}: without a checkpoint there is nothing to evaluate")
    if without:
        names = f"{', '.join(without[:3])}{', ...' if len(without) > 3 else ''}"
        console.print(f"{len(without)} of {len(runs)} runs have no checkpoint: {names}")
    left_out = 0
    for run in (run for run in runs if run.path.name not in without):
        for words in worlds:
            said = f"{run.path.name}, {name_of(shift_of(words))}"
            try:
                rates = _judge(run, words, out, search)
            except UserError as error:
                left_out += 1
                console.print(f"{said}: left out: {in_words(error)}", soft_wrap=True)
                if not shift_of(words):  # then it cannot be under a shift either
                    break
                continue
            shown = ", ".join(f"{100 * r['no_drop'] / r['n']:.0f}" for r in rates.values())
            console.print(f"{said}: no-drop % with {', '.join(rates)} balls: {shown}")
    return left_out


def _judge(run: RunFolder, words: list[str], out: Path, search: Search) -> dict[str, Any]:
    """Evaluate a policy unless that was done before; return its successes per number of balls."""
    sim = run.executed()["sim"]["name"]
    cfg = load(EvaluateCfg, [*words, f"run={quoted(str(run.path))}", f"sim={sim}"], search)
    shift = shift_of(words)
    policy, who = open_policy(run.path), run.identity
    settings = {
        name: value for name, value in asdict(cfg).items()
        if name in EvaluationCfg.__dataclass_fields__ and not name.startswith("selection")
    }  # fmt: skip
    content = {
        "run": f"{run.path.resolve().parent.name}/{run.path.resolve().name}",
        "signature": who.signature, "variant": who.variant, "seed": who.seed, "label": who.label,
        "group": who.group, "colour": who.colour, "iteration": policy.checkpoint.iteration,
        "shift": shift, "settings": settings,
    }  # fmt: skip
    record = out / FOLDER / f"{checksum(content)[:16]}.json"
    if record.exists():
        return read_sealed(record)["successes"]
    make, world, _ = cast(cfg, words)
    rows = run_episodes(environment(world, cfg), make, cfg.levels, cfg.episodes)
    table = record.with_suffix(".parquet")
    named = {"run": content["run"], "shift": name_of(shift), "seed": cfg.seed}
    record.parent.mkdir(parents=True, exist_ok=True)
    write_episodes(table, [{**named, **row} for row in rows])
    found = {str(k): rates.successes() for k, rates in rates_of_rows(rows).items()}
    more = {
        "own": _own(policy.environment(), cfg, shift), "sim": world.sim.name, "successes": found,
        "episodes": table.name, "episodes_sha256": sha256(table.read_bytes()),
    }  # fmt: skip
    write_sealed(record, content | more)
    return found


def _own(world: Any, cfg: EvaluateCfg, shift: Shift) -> dict[str, Any]:
    """Return what the run itself has for the settings that are shifted."""
    rest = EvaluateCfg()
    return {key: value_at(world if key.split(".")[0] in WORLD else rest, key) for key in shift}
