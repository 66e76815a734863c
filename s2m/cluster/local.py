"""Runs on the cores and GPUs of this machine: a pool of processes with one torch thread each."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress

from rich.console import Console
from rich.live import Live

from s2m.cluster.board import Board
from s2m.cluster.dealer import Dealer
from s2m.cluster.state import RunState, glance, inspect
from s2m.cluster.verdict import GPU_LOST, judge
from s2m.console.errors import UserError, in_words
from s2m.console.terminal import in_place
from s2m.run.events import Events
from s2m.run.files import open_own
from s2m.run.folder import RunFolder
from s2m.run.lock import current_attempt
from s2m.run.status import BUSY, FAILED, FINISHED, RUNNING, STOPPED, outcome_of
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
        self,
        runs: list[tuple[RunFolder, int]],
        workers: int,
        console: Console,
        threads: int = 1,
        dealer: Dealer | None = None,
    ) -> None:
        """Queue runs, each with its number of iterations; `threads` is what each may use.

        Without a number of workers there is one per core, and as many more as cards can take of the
        runs that a dealer hands one.
        """
        self.console, self.threads = console, threads
        self.runs = {folder.path.name: (folder, total) for folder, total in runs}
        self.dealer = dealer or Dealer([], 1, [])
        self.cores = workers or usable_cores()
        """Runs without a card at a time."""
        self.workers = workers or self.cores + self.dealer.places
        self.waiting = deque(self.runs)
        self.running: dict[str, subprocess.Popen] = {}
        self.ended: dict[str, str] = {}
        """How each run's process ended: finished, failed, stopped, or busy if another is at it."""
        self.board = Board()
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
                self._give_up()
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
        while not self.interrupted and (name := self._next()) is not None:
            self.waiting.remove(name)
            try:
                self._begin(name)
            except Exception as error:  # whatever is wrong with its folder, the others are executed
                self.console.print(f"{name}: {in_words(error)}", highlight=False)
                self._take_back(name)
                self._end(name, FAILED)

    def _next(self) -> str | None:
        """Return the first run in the queue for which there is room."""
        if len(self.running) >= self.workers:
            return None
        on_cores = sum(name not in self.dealer.wanted for name in self.running)
        room = {True: self.dealer.has_room(), False: on_cores < self.cores}
        return next((name for name in self.waiting if room[name in self.dealer.wanted]), None)

    def _give_up(self) -> None:
        """End the runs in the queue that need a card if none is left."""
        stranded = [name for name in self.waiting if name in self.dealer.wanted]
        if stranded and not self.dealer.cards:
            self.console.print("no GPU is left; the same command starts the runs that wait for one")
            for name in stranded:
                self.waiting.remove(name)
                self._end(name, STOPPED)

    def _begin(self, name: str) -> None:
        folder, total = self.runs[name]
        if folder.stop.exists():  # cancelled while it waited
            self._end(name, STOPPED)
            return
        # Somebody else may have finished it while it waited here.
        if inspect(folder, total).status == FINISHED:
            self._end(name, FINISHED)
            return
        given = {f"{library}_NUM_THREADS": str(self.threads) for library in ("OMP", "MKL")}
        if name in self.dealer.wanted:
            given |= self.dealer.deal(name).environment()
        with os.fdopen(open_own(folder.log, os.O_WRONLY | os.O_APPEND), "ab") as log:
            process = self.running[name] = subprocess.Popen(
                [sys.executable, "-m", "s2m.job", str(folder.path)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**os.environ, **given},
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
                outcome = self._outcome(name, code)
                self._take_back(name, outcome == FAILED and self._lost_its_card(name, process.pid))
                self._end(name, outcome)

    def _take_back(self, name: str, lost: bool = False) -> None:
        if self.dealer.holds(name) and (said := self.dealer.take_back(name, lost)):
            self.console.print(said, highlight=False)

    def _lost_its_card(self, name: str, pid: int) -> bool:
        """Tell whether a process has failed because of its card."""
        folder, _ = self.runs[name]
        with suppress(UserError, OSError):  # of a folder that is damaged or gone
            attempt = current_attempt(folder)
            if self.dealer.holds(name) and attempt is not None and attempt.pid == pid:
                state = self._glance(name)
                return judge(folder, state.failure, state.last_event) == GPU_LOST
        return False

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
            self.console.print("stopping: the runs write their checkpoints ...")
        self.interrupted = signal.Signals(number)
        for process in self.running.values():
            process.send_signal(number)

    def _code(self) -> int:
        if self.interrupted:
            return INTERRUPTED_CODE
        return 0 if all(outcome in (FINISHED, BUSY) for outcome in self.ended.values()) else 1

    def _show(self, live: Live | None) -> None:
        running = {name: (self.runs[name][0], self._glance(name)) for name in self.running}
        if live:
            size = self.console.size
            shown = dict(list(running.items())[: max(1, size.height - 8)])
            panel = self.board.panel(shown, self.ended, len(self.waiting), size.width)
            live.update(panel, refresh=True)
            return
        for folder, state in running.values():
            self.console.print(self.board.line(folder, state), highlight=False)
