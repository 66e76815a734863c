"""Execute the cells of a command and the commands after them, here or on a cluster."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from s2m.cluster.chain import Chain, withdraw
from s2m.cluster.commands import SlurmError
from s2m.cluster.dealer import Dealer, make_dealer
from s2m.cluster.followup import Step
from s2m.cluster.plan import Own, Plan, create_folders, make_plan
from s2m.cluster.queue import Queue
from s2m.cluster.remarks import exit_code, left_alone
from s2m.cluster.turn import launch_lock
from s2m.config.cluster import LocalCfg, SlurmCfg
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.config.search import ROOT
from s2m.console.errors import UserError
from s2m.console.text import count
from s2m.run.folder import RunFolder
from s2m.run.status import FAILED, FINISHED, UNREADABLE

Foreground = Callable[[RunFolder], int]
"""Executes the run of a folder in this process and returns an exit code."""


def launch(
    cells: Sequence[RunCfg | StudentCfg],
    steps: list[Step],
    *,
    own: Sequence[Own] = (),
    foreground: Foreground | None = None,
    note: str = "",
    wait: bool = False,
) -> int:
    """Execute checked cells and the commands after them, here or where their config says.

    `own` are files from outside of s2m that each cell uses. With `foreground` the one cell
    runs in this process. `note` is said before runs begin. With `wait` a launch on SLURM stays
    until all has ended.
    """
    # Paths and the environment may hold square brackets, which are no markup.
    console = Console(soft_wrap=True, markup=False)
    if not console.is_terminal:
        console.width = 140
    cfg = cells[0]
    root = Path(cfg.root)
    slurm = isinstance(cfg.cluster, SlurmCfg)
    if slurm:
        _check(cells, root.resolve(), console)
    if cfg.dry:
        from s2m.cluster.preview import preview

        preview(make_plan(cells, Queue.read(root), own), steps, console)
        return 0
    if note:
        console.print(note, highlight=False)
    if slurm:
        from s2m.cluster.feed import Feed

        say = lambda text: console.print(text, highlight=False)  # noqa: E731
        return Feed(cells, steps, own, say).run(wait)
    with launch_lock(root, console.print):
        queue = Queue.read(root)
        plan = make_plan(cells, queue, own)
        again = [FAILED] if foreground else []
        # A missing card is told before anything is written.
        needed = [cell for cell in plan if cell.due() or cell.state.status in again]
        dealer = make_dealer(needed, cfg.cluster)
        create_folders(plan)
    if foreground is None:
        return _pool(plan, steps, queue, console, dealer)
    if plan[0].state.status == UNREADABLE:
        raise UserError(plan[0].state.failure)
    folder = plan[0].folder
    if plan[0].state.status == FINISHED:  # told without torch
        console.print(f"{FINISHED}: {folder.path}", highlight=False)
        return 0
    with _environment(dealer.deal(folder.path.name).environment() if dealer else {}):
        return foreground(folder)


def _check(cells: Sequence[RunCfg | StudentCfg], root: Path, console: Console) -> None:
    """Check where cells are to run; a preview is welcome without a cluster."""
    from s2m.cluster.slurm import check

    found: list[SlurmCfg] = []
    for cell in cells:
        if cell.cluster not in found:
            found.append(cell.cluster)
    for cfg in found:
        try:
            check(cfg, root)
        except SlurmError as error:
            if not cells[0].dry:
                raise
            console.print(f"not checked against a cluster: {error}")


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process for a while."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _pool(
    plan: Plan, steps: list[Step], queue: Queue | None, console: Console, dealer: Dealer | None
) -> int:
    from s2m.cluster.local import INTERRUPTED_CODE, Pool
    from s2m.cluster.pack import FollowUp

    def say(text: str) -> None:
        console.print(text, highlight=False)

    left_alone(plan, queue, say)
    due = [cell for cell in plan if cell.due()]
    cluster = plan[0].cfg.cluster
    workers = cluster.workers if isinstance(cluster, LocalCfg) else 0
    if dealer:
        say(dealer.describe(workers))
    code = Pool([(c.folder, c.state.total) for c in due], workers, console, dealer=dealer).run()
    if code == INTERRUPTED_CODE:
        return code
    code = code or exit_code(plan)
    runs = [cell.folder for cell in plan]
    chain = Chain(steps, runs, queue := Queue.read(Path(plan[0].cfg.root)) if steps else None)
    pending = chain.due()
    if pending and (chain.ahead or chain.elsewhere):
        waiting = chain.waiting() or "their jobs are in the queue"
        wait = "waits" if len(pending) == 1 else "wait"
        said = f"{count(len(pending), 'command')} {wait} for runs ({waiting})"
        say(f"{said}: launch again to execute {'it' if len(pending) == 1 else 'them'}")
        return code
    withdraw(pending, queue)
    for step in pending:
        step.forget()
    for step in pending:
        if not FollowUp(step, runs, str(ROOT)).run():
            say("interrupted: the same command resumes")
            return INTERRUPTED_CODE
    return code
