"""Runs on the cores of this machine: a pool of processes with one torch thread each."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from s2m.cluster.state import COLUMNS, RunState, glance, inspect
from s2m.console.errors import UserError, in_words
from s2m.console.terminal import in_place
from s2m.console.text import duration
from s2m.run.events import Events
from s2m.run.files import open_own
from s2m.run.folder import RunFolder
from s2m.run.lock import current_attempt
from s2m.run.status import BUSY, FAILED, FINISHED, PENDING, RUNNING, STOPPED, outcome_of
from s2m.run.stopping import SIGNALS, block_stop_signals

POLL_SECONDS = 0.5
REFRESH_SECONDS = 2.0
LINE_SECONDS = 30.0
INTERRUPTED_CODE = 130


def _prepare() -> None:
    """Keep early signals waiting; on Linux, ask for a soft end when the launcher dies."""
    block_stop_signals()
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def usable_cores() -> int:
    """Return how many cores this process may use, which a job or a container may have bounded."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Pool:
    """Executes runs, as many at a time as there are workers; a failed one does not stop others."""

    def __init__(
        self, runs: list[tuple[RunFolder, int]], workers: int, console: Console, threads: int = 1
    ) -> None:
        """Queue runs, each with its number of iterations; `threads` is what each may use."""
        self.console, self.threads = console, threads
        self.runs = {folder.path.name: (folder, total) for folder, total in runs}
        self.workers = workers or usable_cores()
        self.waiting = deque(self.runs)
        self.running: dict[str, subprocess.Popen] = {}
        self.ended: dict[str, str] = {}
        """How each run's process ended: finished, failed, stopped, or busy if another is at it."""
        self.interrupted: signal.Signals | None = None
        """The signal that asked to leave."""

    def run(self) -> int:
        """Execute all; 0 if all are finished, or busy, 1 if some failed, 130 if asked to leave."""
        before = {number: signal.signal(number, self._interrupt) for number in SIGNALS}
        live = Live(console=self.console, auto_refresh=False) if in_place(self.console) else None
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
            while self.waiting:
                self._end(self.waiting.popleft(), STOPPED)
            self._show(live)
        finally:
            if live:
                live.stop()
            for number, handler in before.items():
                signal.signal(number, handler)
        return self._code()

    def _glance(self, name: str) -> RunState:
        return glance(*self.runs[name], None)

    def _start(self) -> None:
        while self.waiting and len(self.running) < self.workers and not self.interrupted:
            name = self.waiting.popleft()
            try:
                self._begin(name)
            except Exception as error:  # whatever is wrong with its folder, the others are executed
                self.console.print(f"{name}: {in_words(error)}", highlight=False)
                self._end(name, FAILED)

    def _begin(self, name: str) -> None:
        folder, total = self.runs[name]
        if folder.stop.exists():  # cancelled while it waited
            self._end(name, STOPPED)
            return
        # Somebody else may have finished it while it waited here.
        if inspect(folder, total).status == FINISHED:
            self._end(name, FINISHED)
            return
        limit = {f"{library}_NUM_THREADS": str(self.threads) for library in ("OMP", "MKL")}
        with os.fdopen(open_own(folder.log, os.O_WRONLY | os.O_APPEND), "ab") as log:
            process = self.running[name] = subprocess.Popen(
                [sys.executable, "-m", "s2m.job", str(folder.path)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **limit},
                start_new_session=True, preexec_fn=_prepare,
            )  # fmt: skip
        if self.interrupted:  # a signal that came while it was not yet among those running
            process.send_signal(self.interrupted)

    def _collect(self) -> None:
        for name, process in list(self.running.items()):
            code = process.poll()
            if code is not None:
                del self.running[name]
                if code < 0:
                    self._note_kill(name, process.pid, -code)
                self._end(name, self._outcome(name, code))

    def _outcome(self, name: str, code: int) -> str:
        """Return how a run's process ended; one that left its run to nobody has failed."""
        outcome = outcome_of(code)
        if outcome != BUSY:
            return outcome
        for _ in range(10):  # whoever has the lock signs for it next, on a disk that may be busy
            if self._glance(name).status in (RUNNING, FINISHED):
                return BUSY
            time.sleep(POLL_SECONDS)
        return FAILED

    def _note_kill(self, name: str, pid: int, number: int) -> None:
        """Write down what a process that was killed could not."""
        folder, _ = self.runs[name]
        with suppress(UserError, OSError):  # of a folder that is damaged or gone
            attempt = current_attempt(folder)
            if attempt is not None and attempt.pid == pid and attempt.ended is None:
                reason = signal.Signals(number).name
                Events(folder, attempt.number).append("killed", reason=reason)

    def _end(self, name: str, outcome: str) -> None:
        self.ended[name] = outcome
        if not in_place(self.console):
            self.console.print(f"{name}: {outcome}", highlight=False)

    def _interrupt(self, number: int, _: object) -> None:
        """Let every run write a checkpoint and leave."""
        if not self.interrupted:
            self.console.print("letting the runs write their checkpoints ...")
        self.interrupted = signal.Signals(number)
        for process in self.running.values():
            process.send_signal(number)

    def _code(self) -> int:
        if self.interrupted:
            return INTERRUPTED_CODE
        return 0 if all(outcome in (FINISHED, BUSY) for outcome in self.ended.values()) else 1

    def _show(self, live: Live | None) -> None:
        if live:
            live.update(self._table(), refresh=True)
            return
        for name in self.running:
            state = self._glance(name)
            self.console.print(
                f"{name}: {state.iteration}/{state.total} level {state.level or '–'}, "
                f"end {'' if state.left is None else 'in '}{duration(state.left)}",
                highlight=False,
            )  # fmt: skip

    def _table(self) -> Table:
        table = Table("run", *COLUMNS)
        for name in self.runs:
            status = RUNNING if name in self.running else self.ended.get(name, PENDING)
            state = replace(self._glance(name), status=status)
            table.add_row(name, *map(Text, state.columns().values()))
        return table
