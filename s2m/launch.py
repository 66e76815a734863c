"""Train runs.

    python -m s2m.launch encoder=pfds seed=40                         one run, in the foreground
    python -m s2m.launch -m encoder=pfds,dshc permute=true,false seed=40,41,42,43,44
    python -m s2m.launch -m +sweep=encoders                           a named sweep

The same command again goes on where it was: finished runs are left alone, others are resumed.
dry=true only prints the plan; retry_failed=true also runs what has failed before.
"""

import sys

from rich.console import Console

from s2m.cluster.cells import compose_cells, expand, sweep_names
from s2m.cluster.plan import Cell, create_folders, make_plan, plan_table
from s2m.compose import CONF, describe
from s2m.config import RunCfg
from s2m.errors import UserError, run_command
from s2m.outcomes import CODES

SWEEP_FLAGS = ("-m", "--multirun")


def main(words: list[str]) -> int:
    """Compose and check all cells, then plan and execute them."""
    if "--help" in words or "-h" in words:
        print(_help())
        return 0
    many = any(word in SWEEP_FLAGS for word in words)
    words = [word for word in words if word not in SWEEP_FLAGS]
    if not many and len(expand(words)) > 1:
        raise UserError("the command names several runs: add -m to run them all")
    plan = make_plan(compose_cells(words))
    console = Console()
    if not console.is_terminal:
        console.width = 140
    if plan[0].cfg.dry:
        console.print(plan_table(plan))
        console.print(f"{sum(cell.due() for cell in plan)} of {len(plan)} runs would be executed")
        return 0
    create_folders(plan)
    return _pool(plan, console) if many else _foreground(plan[0])


def _foreground(cell: Cell) -> int:
    from s2m.progress import Progress
    from s2m.stages import execute

    outcome = execute(cell.folder, Progress.automatic())
    print(f"{outcome}: {cell.folder.path}")
    return CODES[outcome]


def _pool(plan: list[Cell], console: Console) -> int:
    from s2m.cluster.local import Pool

    due = [cell for cell in plan if cell.due()]
    left = [cell for cell in plan if not cell.due()]
    for status in sorted({cell.state.status for cell in left}):
        count = sum(cell.state.status == status for cell in left)
        console.print(f"{count} of {len(plan)} runs are {status} and left alone")
    return Pool(due, plan[0].cfg.cluster.workers, console).run()


def _help() -> str:
    groups = {
        folder.name: [path.stem for path in sorted(folder.glob("*.yaml"))]
        for folder in sorted(CONF.iterdir())
        if folder.is_dir()
    }
    lines = [(sys.modules[__name__].__doc__ or "").strip(), "", "Groups (group=name):"]
    lines += [f"  {name:<12} {', '.join(options)}" for name, options in groups.items()]
    lines += ["", "Sweeps (+sweep=name):"]
    lines += [f"  {name:<12} {text}" for name, text in sweep_names().items()]
    lines += ["", "Settings (name=value, with their defaults before a budget is applied):"]
    return "\n".join([*lines, *describe(RunCfg)])


if __name__ == "__main__":
    run_command(main)
