"""Runs on the cores of this machine: a pool of processes with one torch thread each."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections import deque

from rich.console import Console
from rich.live import Live
from rich.table import Table

from s2m.cluster.plan import Cell
from s2m.cluster.state import inspect
from s2m.outcomes import BUSY, FINISHED, outcome_of
from s2m.progress import duration

POLL_SECONDS = 0.5
REFRESH_SECONDS = 2.0
LINE_SECONDS = 30.0
INTERRUPTED_CODE = 130


def _with_parent() -> None:
    """Ask Linux to end a run softly when the launcher dies; elsewhere it just goes on."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Pool:
    """Executes cells, as many at a time as there are workers; a failed one does not stop others."""

    def __init__(self, cells: list[Cell], workers: int, console: Console) -> None:
        """Queue the cells in order."""
        self.cells, self.console = cells, console
        self.workers = workers or os.cpu_count() or 1
        self.waiting = deque(cells)
        self.running: dict[str, subprocess.Popen] = {}
        self.ended: dict[str, str] = {}
        """How each cell's process ended: finished, failed, stopped or busy."""
        self.interrupted = False

    def run(self) -> int:
        """Run all cells; 0 if all are finished, 1 if some failed, 130 after Ctrl-C."""
        watched = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._interrupt) for number in watched}
        live = Live(console=self.console, auto_refresh=False) if self.console.is_terminal else None
        shown = 0.0
        try:
            if live:
                live.start()
            while self.running or (self.waiting and not self.interrupted):
                self._start()
                time.sleep(POLL_SECONDS)
                self._collect()
                pause = REFRESH_SECONDS if live else LINE_SECONDS
                if time.monotonic() - shown >= pause:
                    shown = time.monotonic()
                    self._show(live)
            self._show(live)
        finally:
            if live:
                live.stop()
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._code()

    def _start(self) -> None:
        while self.waiting and len(self.running) < self.workers and not self.interrupted:
            cell = self.waiting.popleft()
            name = cell.folder.path.name
            # Somebody else may have finished it while it waited here.
            if inspect(cell.folder, cell.cfg.budget.iterations).status == FINISHED:
                self._end(name, FINISHED)
                continue
            log = (cell.folder.logs / "train.log").open("ab")
            threads = {name: "1" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")}
            self.running[name] = subprocess.Popen(
                [sys.executable, "-m", "s2m.job", str(cell.folder.path)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **threads},
                start_new_session=True, preexec_fn=_with_parent,
            )  # fmt: skip
            log.close()

    def _collect(self) -> None:
        for name, process in list(self.running.items()):
            code = process.poll()
            if code is not None:
                del self.running[name]
                self._end(name, outcome_of(code))

    def _end(self, name: str, outcome: str) -> None:
        self.ended[name] = outcome
        if not self.console.is_terminal:
            self.console.print(f"{name}: {outcome}", highlight=False)

    def _interrupt(self, *_: object) -> None:
        """Let every run write a checkpoint and leave."""
        if not self.interrupted:
            self.console.print("letting the runs write their checkpoints ...")
        self.interrupted = True
        for process in self.running.values():
            process.terminate()

    def _code(self) -> int:
        if self.interrupted:
            return INTERRUPTED_CODE
        return 0 if all(outcome in (FINISHED, BUSY) for outcome in self.ended.values()) else 1

    def _show(self, live: Live | None) -> None:
        if live:
            live.update(self._table(), refresh=True)
            return
        for cell in self.cells:
            name = cell.folder.path.name
            if name in self.running:
                state = inspect(cell.folder, cell.cfg.budget.iterations)
                self.console.print(
                    f"{name}: {state.iteration}/{state.total} level {state.level or '–'}, "
                    f"end in {duration(state.left)}", highlight=False,
                )  # fmt: skip

    def _table(self) -> Table:
        table = Table("run", "state", "level", "iteration", "s/iteration", "end", "last event")
        for cell in self.cells:
            name = cell.folder.path.name
            state = inspect(cell.folder, cell.cfg.budget.iterations)
            status = "running" if name in self.running else self.ended.get(name, "waiting")
            table.add_row(
                name, status, str(state.level or ""), f"{state.iteration}/{state.total}",
                f"{state.seconds:.2f}" if state.seconds else "",
                duration(state.left) if name in self.running else "", state.last_event,
            )  # fmt: skip
        return table
