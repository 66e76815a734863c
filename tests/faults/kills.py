"""Processes that die: at a random moment, inside a change of a file, or by a storm of signals.

The work is done in a forked process: the libraries are loaded once, and a kill costs no start.
"""

import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any

from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.metrics import MetricsRow
from s2m.run.status import CODES
from s2m.stages.attempt import Work
from s2m.stages.execute import execute
from tests.run.trainer import die_at

STOPS = (signal.SIGTERM, signal.SIGUSR2, signal.SIGINT)


def in_child(work: Callable[..., Any], *given: Any, **named: Any) -> int:
    """Work in a forked process and return its id; the exit code is that of the outcome."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            # It shall end this process as any other; the handler of the tests would raise.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            code = CODES.get(work(*given, **named), 0)
        finally:
            os._exit(code)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return child


def ended_by(child: int) -> int:
    """Wait for a child and return its exit code, or the number of a signal as a negative one."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def striking_at(
    folder: RunFolder, iteration: int, strike: Callable[[], object], **options: Any
) -> int:
    """Begin a run that strikes itself when it has logged an iteration or, 0, begun.

    From outside one may come too late for a run that is quick.
    """

    def work() -> str:
        append, resume, due = Journal.append, Work.resume, True

        def reached(at: int) -> None:
            nonlocal due
            if due and at >= iteration:
                due = False
                strike()

        def appending(self: Journal, iteration: int, row: MetricsRow) -> None:
            append(self, iteration, row)
            reached(iteration)

        def resuming(self: Work) -> None:
            resume(self)
            reached(0)

        Journal.append, Work.resume = appending, resuming
        return execute(folder, **options)

    return in_child(work)


def struck_at(
    folder: RunFolder, iteration: int, strike: Callable[[], object], **options: Any
) -> int:
    """Let a run strike itself and return how it ended."""
    return ended_by(striking_at(folder, iteration, strike, **options))


def killed_at(folder: RunFolder, iteration: int, later: float = 0.0, **options: Any) -> RunFolder:
    """Let a run work up to an iteration, or so many seconds of computing more, and die there."""

    def die() -> None:
        if later:
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, later)
        else:
            os.kill(os.getpid(), signal.SIGKILL)

    deadly = signal.SIGPROF if later else signal.SIGKILL
    assert struck_at(folder, iteration, die, **options) == -deadly, "it ended before"
    return folder


def kill_at_random(folder: RunFolder, chance: random.Random, longest: float) -> bool:
    """Let a run work and kill it at some moment; False if it was done before."""
    child = in_child(execute, folder)
    time.sleep(chance.uniform(0.0, longest))
    os.kill(child, signal.SIGKILL)
    return ended_by(child) == -signal.SIGKILL


def kill_in_a_write(folder: RunFolder, chance: random.Random, calls: int) -> bool:
    """Let a run work and die at one of its next calls that change a file; False if it was done.

    A call that writes is done by half: checkpoints, compaction, lines, results, attempts.
    """
    child = in_child(die_at, chance.randint(1, calls), execute, folder)
    return ended_by(child) == -signal.SIGKILL


def storm(
    folder: RunFolder, chance: random.Random, signals: int, numbers: Sequence[int] = STOPS
) -> int:
    """Send a working run many signals to stop in a row; return how it ended."""
    child = in_child(execute, folder)
    time.sleep(chance.uniform(0.0, 0.2))
    for _ in range(signals):
        os.kill(child, chance.choice(list(numbers)))
        time.sleep(chance.uniform(0.0, 0.002))
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            break
    return ended_by(child)
