"""What dry=true prints: the plan, the scripts for SLURM, and what it will cost."""

from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from s2m.cluster.estimate import estimate
from s2m.cluster.followup import Step
from s2m.cluster.plan import Plan, PlannedRun, plan_table
from s2m.config.cluster import SlurmCfg
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.console.text import duration
from s2m.run.kind import kind_of


def preview(plan: Plan, steps: list[Step], console: Console) -> None:
    """Print what a launch would do."""
    cfg = plan[0].cfg
    due = [cell for cell in plan if cell.due()]
    console.print(plan_table(plan))
    if isinstance(cfg.cluster, SlurmCfg) and due:
        from s2m.cluster.queue import USUAL_ARRAY_SIZE, SlurmError, max_array_size
        from s2m.cluster.slurm import job_arrays, script

        try:
            limit = max_array_size()
        except SlurmError:  # A preview is welcome on a machine without SLURM too.
            limit = USUAL_ARRAY_SIZE
        for array in job_arrays(due, cfg.cluster, limit):
            text = script(cfg.cluster, Path(cfg.root).resolve(), array)
            console.print(text, highlight=False)
    for step in steps:
        console.print("then:", *step.command, highlight=False)
    console.print(f"{len(due)} of {len(plan)} runs would be executed")
    if due:
        console.print(_cost(due), highlight=False)


def _cost(due: list[PlannedRun]) -> str:
    cfg = due[0].cfg
    cost = estimate(due, Path(cfg.root))
    if cost is None:
        return (
            f"time and disk are unknown: no run of budget {_budget(cfg)} on {cfg.sim.name} has "
            f"finished in {cfg.root}"
        )
    source = f"as measured in {cfg.root}"
    if not cost.measured:
        source = "a forecast from published runs of this size: none was measured yet"
    disk = f"{cost.bytes / 1e6:,.0f} MB of disk"
    if isinstance(cfg.cluster, SlurmCfg):
        gpus, cpus = cfg.cluster.gpus, cfg.cluster.cpus
        hours = cost.seconds / 3600 * (gpus or cpus) / cfg.cluster.pack
        if cfg.cluster.pack > 1:
            source += f"; more if those runs had {'a GPU' if gpus else 'the cores'} to themselves"
        return f"about {hours:,.1f} {'GPU' if gpus else 'core'}-hours and {disk} ({source})"
    return f"about {duration(cost.seconds)} of one core and {disk} ({source})"


def _budget(cfg: RunCfg | StudentCfg) -> str:
    return getattr(cfg, kind_of(asdict(cfg)).budget).name
