"""Execute the cells of a command and the commands after them, here or on a cluster."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from s2m.cluster.followup import Step
from s2m.cluster.plan import Own, Plan, PlannedRun, create_folders, make_plan
from s2m.cluster.queue import Queue, SlurmError, ask
from s2m.cluster.submission import launch_lock, submission_of
from s2m.config.cluster import SlurmCfg
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.config.search import CONF
from s2m.console.errors import UserError
from s2m.run.folder import RunFolder
from s2m.run.status import QUEUED, RUNNING, UNREADABLE

Foreground = Callable[[RunFolder], int]
"""Executes the run of a folder in this process and returns an exit code."""


def launch(
    cells: Sequence[RunCfg | StudentCfg],
    steps: list[Step],
    *,
    own: Sequence[Own] = (),
    foreground: Foreground | None = None,
    note: str = "",
) -> int:
    """Execute checked cells and the commands after them, here or where their config says.

    `own` are files from outside of s2m that each cell uses. With `foreground` the one cell
    runs in this process. `note` is said before runs begin.
    """
    # Paths and the environment may hold square brackets, which are no markup.
    console = Console(soft_wrap=True, markup=False)
    if not console.is_terminal:
        console.width = 140
    cfg = cells[0]
    root = Path(cfg.root)
    slurm = isinstance(cfg.cluster, SlurmCfg)
    if slurm:
        from s2m.cluster.slurm import check

        try:
            check(cfg.cluster, root.resolve())
        except SlurmError as error:
            if not cfg.dry:
                raise
            console.print(f"not checked against a cluster: {error}")
    if cfg.dry:
        from s2m.cluster.preview import preview

        preview(make_plan(cells, _queue(False), own), steps, console)
        return 0
    if note:
        console.print(note, highlight=False)
    with launch_lock(root, console.print):
        queue = _queue(slurm)
        plan = make_plan(cells, queue, own)
        create_folders(plan)
        if slurm:
            return _submit(plan, steps, queue, console)
    if foreground is None:
        return _pool(plan, steps, queue, console)
    if plan[0].state.status == UNREADABLE:
        raise UserError(plan[0].state.failure)
    return foreground(plan[0].folder)


def _queue(required: bool) -> Queue | None:
    """Ask SLURM for its queue; what it does not tell of must not be submitted twice."""
    queue = Queue.read()
    if required and (queue is None or queue.silent):
        raise SlurmError("squeue does not answer: nothing was submitted")
    return queue


def _pool(plan: Plan, steps: list[Step], queue: Queue | None, console: Console) -> int:
    from s2m.cluster.local import INTERRUPTED_CODE, Pool
    from s2m.cluster.pack import FollowUp

    due, runs = _due(plan, queue, console), _names(plan)
    pending = [step for step in steps if due or not _settled(step, runs, queue)]
    _withdraw(pending, queue)
    code = Pool(
        [(cell.folder, cell.state.total) for cell in due], plan[0].cfg.cluster.workers, console
    ).run()
    if code == INTERRUPTED_CODE:
        return code
    code = code or _damaged(plan)
    for step in pending:
        if not FollowUp(step.command, str(step.record), runs, str(CONF.parent)).run():
            console.print("interrupted: the same command goes on")
            return INTERRUPTED_CODE
    return code


def _submit(plan: Plan, steps: list[Step], queue: Queue | None, console: Console) -> int:
    from s2m.cluster.slurm import Submitter

    due, runs = _due(plan, queue, console), _names(plan)
    pending = [step for step in steps if due or not _settled(step, runs, queue)]
    if not due and not pending:
        console.print("nothing to submit")
        return _damaged(plan)
    _withdraw(pending, queue)
    submitter = Submitter(plan[0].cfg.cluster, Path(plan[0].cfg.root), console.print)
    arrays = submitter.runs(due) if due else []
    if due:
        console.print(f"submitted {_count(len(due))} as {', '.join(f'job {i}' for i in arrays)}")
    for cell in plan:
        submission = submission_of(cell.folder.submitted)
        if cell.state.status in (QUEUED, RUNNING) and submission is not None:
            arrays.append(submission.array)
    submitter.follow_up(pending, sorted(set(arrays)), runs)
    console.print(f"python -m s2m.status {plan[0].cfg.root} shows where they stand")
    return _damaged(plan)


def _settled(step: Step, runs: list[str], queue: Queue | None) -> bool:
    """Tell whether a command has succeeded after these runs, or a job is there to see to it."""
    return step.covers(runs) or step.state(queue) in (QUEUED, RUNNING)


def _withdraw(steps: list[Step], queue: Queue | None) -> None:
    """Make commands due again; jobs that still wait would come after the wrong runs."""
    jobs = []
    for step in steps:
        with suppress(UserError):  # a damaged note, which tells of no job
            jobs.append(step.job(queue))
    if ids := [job.id for job in jobs if job]:
        ask("scancel", *ids)
    for step in steps:
        step.forget()


def _damaged(plan: Plan) -> int:
    """Return the exit code of a plan that leaves runs alone because they cannot be read."""
    return int(any(cell.state.status == UNREADABLE for cell in plan))


def _count(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def _names(plan: Plan) -> list[str]:
    return [cell.folder.path.name for cell in plan]


def _due(plan: Plan, queue: Queue | None, console: Console) -> list[PlannedRun]:
    """Return what is to be executed, and say what is not."""
    left = [cell for cell in plan if not cell.due()]
    for status in sorted({cell.state.status for cell in left}):
        count = sum(cell.state.status == status for cell in left)
        console.print(f"{count} of {len(plan)} runs are {status} and left alone")
        if status == QUEUED and queue and queue.silent:
            console.print("squeue does not answer: runs that were submitted count as queued")
    for cell in left:
        if cell.state.status == UNREADABLE:
            console.print(f"{UNREADABLE}: {cell.state.failure}", highlight=False)
        if cell.state.doubt:
            console.print(cell.state.doubt, highlight=False)
    return [cell for cell in plan if cell.due()]
