"""What dry=true prints: the plan, the scripts for SLURM, and what it will cost."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from s2m.cluster.dealer import make_dealer
from s2m.cluster.followup import Step
from s2m.cluster.forecast import RATES, Cost, estimate
from s2m.cluster.manifest import FOLDER
from s2m.cluster.memory import ASSUMED, gpu_memory, kept
from s2m.cluster.plan import Plan, PlannedRun, plan_table
from s2m.config.cluster import LocalCfg, SlurmCfg
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.console.text import duration
from s2m.run.kind import kind_of


def preview(plan: Plan, steps: list[Step], console: Console) -> None:
    """Print what a launch would do."""
    cfg = plan[0].cfg
    due = [cell for cell in plan if cell.due()]
    console.print(plan_table(plan))
    if isinstance(cfg.cluster, SlurmCfg) and due:
        _scripts(due, Path(cfg.root).resolve(), console)
    for step in steps:
        console.print("then:", *step.command, highlight=False)
    console.print(f"{len(due)} of {len(plan)} runs would be executed")
    if isinstance(cfg.cluster, LocalCfg) and due:
        for line in _cards(due, cfg.cluster):
            console.print(line, highlight=False)
    if due:
        console.print(_cost(due), highlight=False)
        if memory := _memory(due):
            console.print(memory, highlight=False)


def _scripts(due: list[PlannedRun], root: Path, console: Console) -> None:
    """Print the script of each array, with all of its jobs."""
    from s2m.cluster.commands import USUAL_ARRAY_SIZE, SlurmError, max_array_size
    from s2m.cluster.script import script
    from s2m.cluster.slurm import by_cluster, describe_runs, packs_of

    code = str(root / FOLDER / "code" / "<hash of the code>")
    for cfg, cells in by_cluster(due):
        try:
            limit = max_array_size(cfg.clusters)
        except SlurmError:  # A preview is welcome on a machine without SLURM too.
            limit = USUAL_ARRAY_SIZE
        packs = packs_of(cells, cfg)
        for i in range(0, len(packs), limit):
            array = describe_runs(root, 0, packs[i : i + limit], cfg, code, "")
            console.print(script(cfg, array, last=not cfg.chain), highlight=False)
        if cfg.chain:
            console.print(f"and {cfg.chain} such jobs after each, which resume its runs")


def _cards(due: list[PlannedRun], cluster: LocalCfg) -> list[str]:
    """Say on which GPUs runs are executed; a preview is welcome on a machine without them too."""
    try:
        dealer = make_dealer(due, cluster)
    except UserError as error:
        return [f"but not here: {error}"]
    return [dealer.describe(cluster.workers)] if dealer else []


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
        source = "a forecast from published runs of this size: none has been measured yet"
        if cfg.sim.name in RATES:
            slow, fast = RATES[cfg.sim.name]
            source = (
                f"a forecast from published rates of similar tasks, {slow:,} to {fast:,} "
                "steps/s; python -m s2m.bench measures yours"
            )
    disk = f"{cost.bytes / 1e6:,.0f} MB of disk"
    if isinstance(cfg.cluster, SlurmCfg):
        gpus, cpus = cfg.cluster.gpus, cfg.cluster.cpus
        share = (gpus or cpus) / cfg.cluster.pack / 3600
        hours = _range(cost, lambda seconds: f"{seconds * share:,.1f}")
        if cfg.cluster.pack > 1:
            source += f"; more if those runs had {'a GPU' if gpus else 'the cores'} to themselves"
        return f"about {hours} {'GPU' if gpus else 'core'}-hours and {disk} ({source})"
    on = "GPU" if cfg.sim.on_gpu else "core"
    return f"about {_range(cost, duration)} of one {on} and {disk} ({source})"


def _range(cost: Cost, show: Callable[[float], str]) -> str:
    """Show the time of a cost, which may be a range."""
    shortest, longest = show(cost.seconds), show(max(cost.seconds, cost.longest))
    return shortest if shortest == longest else f"{shortest} to {longest}"


def _memory(due: list[PlannedRun]) -> str:
    """Say what the largest run takes of a GPU's memory; nothing where there is nothing to say."""
    found = [
        (parts, cell.cfg.encoder.name if not kept(cell.cfg, cell.own) else "")
        for cell in due
        if isinstance(cell.cfg, RunCfg) and cell.cfg.sim.on_gpu
        if (parts := gpu_memory(cell.cfg, cell.own))
    ]
    if not found:
        return ""
    parts, _ = max(found, key=lambda item: sum(item[0].values()))
    unknown = sorted({name for _, name in found if name})
    assumed = f"; assumed of {', '.join(unknown)}: as of {ASSUMED}" if unknown else ""
    told = ", ".join(f"{name} {size / 1e9:.1f}" for name, size in parts.items())
    each = "a run" if len(found) == 1 else "the largest run"
    return (
        f"about {sum(parts.values()) / 1e9:.1f} GB of GPU memory for {each} "
        f"({told}; computed, not measured{assumed})"
    )


def _budget(cfg: RunCfg | StudentCfg) -> str:
    return getattr(cfg, kind_of(asdict(cfg)).budget).name
