"""Train and evaluate runs, here or on a SLURM cluster.

    python -m s2m.launch encoder=pfds seed=40                         one run, in the foreground
    python -m s2m.launch -m encoder=pfds,dshc permute=true,false seed=40,41,42,43,44
    python -m s2m.launch -m +sweep=encoders                           a named sweep
    python -m s2m.launch -m +sweep=paper cluster=slurm                ... as jobs of a cluster

The same command again goes on where it was: finished runs are left alone, others are resumed.
dry=true only prints the plan; retry_failed=true also runs what has failed before.
python -m s2m.status shows where runs stand, s2m.logs RUN what one printed, s2m.cancel stops them.
"""

import sys
from dataclasses import fields
from pathlib import Path

from s2m.cluster.cells import compose_cells, expand, follow_ups, sweep_names
from s2m.cluster.followup import make_steps
from s2m.cluster.launch import launch
from s2m.config.cluster import CLUSTERS
from s2m.config.compose import CONF, describe
from s2m.config.run import RunCfg
from s2m.config.sim import SIMULATORS
from s2m.console.errors import UserError, run_command
from s2m.run.folder import RunFolder
from s2m.run.status import CODES
from s2m.tracking.choice import choose

SWEEP_FLAGS = ("-m", "--multirun")


def main(words: list[str]) -> int:
    """Compose and check all cells, then plan and execute them."""
    if "--help" in words or "-h" in words:
        print(_help())
        return 0
    many = any(word in SWEEP_FLAGS for word in words)
    words = [word for word in words if word not in SWEEP_FLAGS]
    if not many and len(expand(words)) > 1:
        raise UserError(
            "the command names several runs: add -m to run them all, "
            """or put a value with a comma in quotes: 'root="a,b"'"""
        )
    cells = compose_cells(words)
    steps = make_steps(follow_ups(words), Path(cells[0].root), cells[0].experiment)
    if many:
        return launch(cells, steps, note=choose(cells[0].tracking).note)
    return launch(cells, steps, foreground=foreground)


def foreground(folder: RunFolder) -> int:
    """Execute what is left of a run in this process."""
    # Slow to import: torch comes with it.
    from s2m.stages.execute import attempt
    from s2m.stages.progress import Progress
    from s2m.tracking.mirror import Mirror

    progress = Progress.automatic()
    with Mirror(folder, progress.say) as mirror:
        mirror.outcome = attempt(folder, progress, mirror)
    print(f"{mirror.outcome}: {folder.path}")
    return CODES[mirror.outcome]


def _help() -> str:
    groups = {
        folder.name: [path.stem for path in sorted(folder.glob("*.yaml"))]
        for folder in sorted(CONF.iterdir())
        if folder.is_dir() and folder.name in {item.name for item in fields(RunCfg)}
    }
    lines = [(sys.modules[__name__].__doc__ or "").strip(), "", "Groups (group=name):"]
    lines += [f"  {name:<12} {', '.join(options)}" for name, options in groups.items()]
    lines += ["", "Sweeps (+sweep=name):"]
    lines += [f"  {name:<12} {text}" for name, text in sweep_names().items()]
    lines += ["", "Settings (name=value, with their defaults before a budget is applied):"]
    lines += describe(RunCfg)
    lines += ["", "Settings of sim=isaaclab:", *describe(SIMULATORS["isaaclab"], "sim.")]
    lines += ["", "Settings of cluster=slurm:", *describe(CLUSTERS["slurm"], "cluster.")]
    return "\n".join(lines)


if __name__ == "__main__":
    run_command(main)
