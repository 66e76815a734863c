"""Train and evaluate runs, here or on a SLURM cluster.

    python -m s2m.launch encoder=pfds seed=40                         one run, in the foreground
    python -m s2m.launch -m encoder=pfds,dshc permute=true,false seed=40,41,42,43,44
    python -m s2m.launch -m +sweep=encoders                           a named sweep
    python -m s2m.launch -m +sweep=paper cluster=slurm                ... as jobs of a cluster

The same command resumes: finished runs are skipped, interrupted ones continue from a checkpoint.
dry=true only prints the plan; retry_failed=true also reruns runs that failed.
--wait stays until all jobs of a cluster have ended, and submits the rest as its limits allow.
--cfg job prints the composed config (with -m of every run), --info also each group's file.
--clean removes the copies of the code that no job and no unfinished run below root needs.
--config-dir DIR adds a folder of your own groups, sweeps and encoders, laid out like conf/.
python -m s2m.status shows the progress of runs, s2m.logs RUN the output of one; s2m.cancel stops
runs.
"""

import sys
from pathlib import Path

from s2m.cluster.cells import expand, sweep_names
from s2m.cluster.followup import make_steps
from s2m.cluster.launch import launch
from s2m.cluster.shown import show_cells
from s2m.cluster.snapshot import clean
from s2m.config.cluster import SlurmCfg
from s2m.config.compose import describe, load
from s2m.config.overrides import take_flags, with_root
from s2m.config.run import RunCfg
from s2m.config.search import Search, take_search
from s2m.config.sim import IsaacLabCfg, WarpCfg
from s2m.console.errors import UserError, run_command
from s2m.run.folder import RunFolder
from s2m.run.status import CODES
from s2m.tracking.mode import choose

FLAGS = ("--multirun", "--help", "--cfg", "--info", "--wait", "--clean")


def main(words: list[str]) -> int:
    """Compose and check all cells, then plan and execute them."""
    search, words = take_search(words)
    flags, words = take_flags(with_root(words), FLAGS)
    if flags.help:
        print(_help(words, search))
        return 0
    if flags.clean:
        print(clean(Path(load(RunCfg, words, search).root)))
        return 0
    sweep = expand(words, search)
    if not flags.multirun and len(sweep.cells) > 1:
        load(RunCfg, sweep.cells[0], search)  # a misspelt setting is told first
        raise UserError(
            "the command names several runs: add -m to run them all, "
            """or put a value with a comma in quotes: 'root="a,b"'"""
        )
    cells = sweep.compose(search)
    if flags.cfg or flags.info:
        show_cells(sweep.cells, cells, search, info=flags.info)
        return 0
    steps = make_steps(sweep.then, Path(cells[0].root), cells[0].experiment, search.own)
    own = [
        search.used(words, cfg.encoder.name) for words, cfg in zip(sweep.cells, cells, strict=True)
    ]
    if flags.multirun:
        note = choose(cells[0].tracking).note
        return launch(cells, steps, own=own, note=note, wait=flags.wait)
    return launch(cells, steps, own=own, foreground=foreground)


def foreground(folder: RunFolder) -> int:
    """Execute what is left of a run in this process."""
    # Slow to import: torch comes with it.
    from s2m.stages.execute import attempt
    from s2m.stages.progress import Progress
    from s2m.tracking.mirror import Mirror

    progress = Progress.automatic(kept=folder)
    with Mirror(folder, progress.say) as mirror:
        mirror.outcome = attempt(folder, progress, mirror)
    progress.say(f"{mirror.outcome}: {folder.path}")
    return CODES[mirror.outcome]


def _help(words: list[str], search: Search) -> str:
    lines = [(sys.modules[__name__].__doc__ or "").strip(), "", "Groups (group=name):"]
    lines += [
        f"  {group:<12} {', '.join(search.options(group))}"
        for group in search.groups
        if group != "distill"
    ]
    lines += ["", "Sweeps (+sweep=name):"]
    lines += [f"  {name:<12} {text}" for name, text in sweep_names(search).items()]
    cell = expand(words, search).cells[0]
    given = f" of {' '.join(cell)}" if cell else ""
    lines += ["", f"Settings (name=value), with the values{given or ' of a plain launch'}:"]
    lines += describe(load(RunCfg, cell, search))
    for schema in (WarpCfg, IsaacLabCfg):
        cfg = schema()
        lines += ["", f"Settings of sim={cfg.name}:", *describe(cfg, "sim.")]
    lines += ["", "Settings of cluster=slurm:", *describe(SlurmCfg(), "cluster.")]
    return "\n".join(lines)


if __name__ == "__main__":
    run_command(main)
