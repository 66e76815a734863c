"""Success rates of reference agents and of trained policies, as trained or under a shift.

    python -m s2m.evaluate agent=lqr
    python -m s2m.evaluate run=runs/default/pfds-...          a trained policy, as trained
    python -m s2m.evaluate run=... sim.ball.rolling=0.0004 task.command.linear_x=0.8
    python -m s2m.evaluate run=... delay.action=2 task.noise.position=0.03
    python -m s2m.evaluate -m run=A,B sim.ball.rolling=0.0002,0.0004 delay.action=0,2
    python -m s2m.evaluate -m run=results/desktop +shifts=common episodes=20

Beside run=, settings of task, sim, delay, faults and slots shift what the policy was trained with;
its own evaluation stays unchanged. With -m all values of all settings are combined, for every
run at or below the folders of run=. +shifts=NAME takes the lines of sweeps/shifts/NAME.yaml one
after the other. Each policy is also evaluated as trained. out=FOLDER (robustness) gets the
episodes, a table and a figure; the same command again evaluates what is missing.
--cfg job prints the composed config, beside run= with that run's shifted settings; --info also
where it comes from.
"""

import sys
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path

from s2m.cluster.cells import expand
from s2m.cluster.shown import choices, searched, show_config
from s2m.config.compose import describe, from_dict, load
from s2m.config.env import EnvCfg
from s2m.config.evaluate import EvaluateCfg
from s2m.config.overrides import require_once, take_flags
from s2m.config.search import Search, take_search
from s2m.config.shift import named_shifts, shifted
from s2m.console.errors import UserError, run_command
from s2m.run.folder import RunFolder, runs_at, saved

FLAGS = ("--multirun", "--help", "--cfg", "--info")


def main(words: list[str]) -> int:
    """Evaluate a reference agent or trained policies and print the table."""
    search, words = take_search(words)
    flags, words = take_flags(words, FLAGS)
    if flags.help:
        print(f"{(sys.modules[__name__].__doc__ or '').strip()}\n")
        print("\n".join(describe(EvaluateCfg())))
        return 0
    if flags.multirun and (flags.cfg or flags.info):
        raise UserError("--cfg and --info show one evaluation: leave out -m")
    if flags.multirun:
        return _several(words, search)
    require_once(words)
    cfg = load(EvaluateCfg, [*words, *_simulator(words)], search)
    if cfg.out and Path(cfg.out).suffix != ".csv":
        raise UserError(f"out = {cfg.out}: allowed is a .csv file")
    if cfg.store and not cfg.run:
        raise UserError("store = true: needs run=FOLDER, the run whose evaluation is replaced")
    # Slow to import: help and mistakes come before.
    from s2m.encoders.registry import load_own
    from s2m.policy.stored import cast
    from s2m.stages.evaluate import judge

    load_own(search.own)
    if flags.cfg or flags.info:
        _, world, who = cast(cfg, words)
        source = f"world: of {who}" if cfg.run else choices(EvaluateCfg, words, search)
        notes = [*searched(search), source] if flags.info else []
        show_config(replace(cfg, task=world.task, sim=world.sim), notes)
        return 0
    judge(cfg, words)
    return 0


def _simulator(words: list[str]) -> list[str]:
    """Return the word that chooses a run's simulator, whose settings may be shifted."""
    run = load(EvaluateCfg, [word for word in words if word.startswith("run=")]).run
    given = any(word.startswith("sim=") for word in words)
    return [] if given or not run else [f"sim={RunFolder.open(run).executed()['sim']['name']}"]


def _several(words: list[str], search: Search) -> int:
    """Judge all runs under all shifts, then make their table and figure."""
    chosen = [word for word in words if word.partition("=")[0] == "+shifts"]
    rest = [word for word in words if word.partition("=")[0] not in ("+shifts", "run", "out")]
    lines = [line for word in chosen for line in named_shifts(word.partition("=")[2])] or [""]
    cells = [cell for line in lines for cell in expand([*line.split(), *rest], search).cells]
    given = [word for word in words if word.startswith(("run=", "out="))]
    places = [load(EvaluateCfg, cell, search) for cell in expand(given, search).cells]
    if not all(place.run for place in places):
        raise UserError("-m needs run=FOLDER, or several: run=A,B; each a run or a folder of runs")
    if len(outs := {place.out or "robustness" for place in places}) > 1:
        raise UserError(f"out = {', '.join(sorted(outs))}: allowed is one folder for all")
    runs, out = runs_at([place.run for place in places]), Path(outs.pop())
    for word in (word for cell in cells for word in cell):
        if word.partition("=")[0] in ("agent", "store", "task", "sim"):
            raise UserError(f"'{word}': -m evaluates runs under shifts of single settings")
    _check_shifts(runs, cells, search)
    # Slow to import: help and mistakes come before.
    from s2m.encoders.registry import load_own
    from s2m.stages.robustness import judge_all

    load_own(search.own)
    left_out = judge_all(runs, cells, out, search)
    try:
        from analysis.robustness import write
    except ModuleNotFoundError:
        raise UserError(
            f"the episodes are in {out}; tables are made in the repository: "
            f"python -m analysis.robustness {out}"
        ) from None
    print(write(out))
    return int(left_out > 0)


def _check_shifts(runs: list[RunFolder], cells: list[list[str]], search: Search) -> None:
    """Refuse settings that a run does not have, and values that they cannot have.

    Whether a shift applies to a policy is told later, policy by policy.
    """
    worlds: dict[str, EnvCfg] = {}
    for run in filter(saved, runs):
        with suppress(UserError):  # said when its policy is opened
            worlds[run.path.name] = from_dict(run.kind.schema, run.executed()).environment()
    several = len({world.sim.name for world in worlds.values()}) > 1
    composed: dict[tuple[str, ...], EvaluateCfg] = {}
    for (name, world), cell in product(worlds.items(), cells):
        words = (*cell, f"sim={world.sim.name}")
        try:
            if words not in composed:
                composed[words] = load(EvaluateCfg, [*words], search)
            shifted(world, composed[words], cell)
        except UserError as error:
            raise UserError(
                f"{name}, sim={world.sim.name}: {error}" if several else error
            ) from None


if __name__ == "__main__":
    run_command(main)
