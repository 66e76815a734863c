"""The plan of a sweep: every cell with its folder, its state and what will be done about it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import repeat
from pathlib import Path

from rich.table import Table
from rich.text import Text

from s2m.cluster.queue import Queue
from s2m.cluster.state import COLUMNS, RunState, glance
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.config.search import ROOT
from s2m.console.errors import UserError, in_words
from s2m.run.code import code_state
from s2m.run.folder import RunFolder
from s2m.run.identity import run_path
from s2m.run.kind import total_iterations
from s2m.run.naming import tell_apart
from s2m.run.status import FAILED, PENDING, STOPPED, UNREADABLE

Own = Mapping[str, bytes]
"""Files from outside of s2m that a run uses, by their place in a --config-dir."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep, with its config, its folder and where it stands."""

    cfg: RunCfg | StudentCfg
    folder: RunFolder
    state: RunState
    own: Own = field(default_factory=dict)

    def due(self) -> bool:
        """Whether there is anything to do."""
        retry = self.cfg.retry_failed and self.state.status == FAILED
        return retry or self.state.status in (PENDING, STOPPED)


Plan = list[PlannedRun]


def make_plan(
    cells: Sequence[RunCfg | StudentCfg], queue: Queue | None, own: Sequence[Own] = ()
) -> Plan:
    """Look every cell up; nothing is written. One whose folder holds another config is damaged."""
    plan = []
    for cfg, files in zip(cells, own or repeat({}), strict=False):
        config = asdict(cfg)
        folder = RunFolder(run_path(Path(cfg.root), cfg.experiment, config))
        cell = PlannedRun(cfg, folder, glance(folder, total_iterations(config), queue), files)
        if cell.due() and folder.path.exists():
            try:
                folder.require(config)
            except UserError as error:
                state = replace(cell.state, status=UNREADABLE, failure=in_words(error))
                cell = replace(cell, state=state)
        plan.append(cell)
    return plan


def create_folders(plan: Plan) -> None:
    """Freeze config and code of every cell that is due, and forget that it was to stop."""
    code = code_state(ROOT)
    twin = None
    for cell in plan:
        if cell.due():
            fresh = not cell.folder.path.exists()
            RunFolder.create(cell.folder.path, asdict(cell.cfg), code, cell.own, twin)
            if fresh:
                twin = twin or cell.folder
            else:
                cell.folder.stop.unlink(missing_ok=True)


def plan_table(plan: Plan) -> Table:
    """Tabulate what will be done; a name shows the settings in which the runs differ."""
    table = Table("run", *COLUMNS[:3], "will", box=None)
    names = tell_apart({cell.folder.path.name: asdict(cell.cfg) for cell in plan})
    for cell in plan:
        state = cell.state
        action = "run" if cell.due() else "leave"
        if state.status == FAILED and not cell.due():
            action = f"leave ({state.failure}; retry_failed=true runs it again)"
        if state.status == UNREADABLE:
            action = f"leave ({state.failure})"
        if state.doubt:
            action = f"leave ({state.doubt})"
        name, shown = names[cell.folder.path.name], state.columns()
        told = Text(f"{cell.cfg.experiment}/{name}", overflow="fold")
        table.add_row(told, *(shown[column] for column in COLUMNS[:3]), Text(action))
    return table
