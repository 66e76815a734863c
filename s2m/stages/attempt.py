"""One attempt at a stage that goes on iteration by iteration: what training and distilling share.

It goes on from the newest sound checkpoint, leaves with one when it is asked to, and refuses to go
on with numbers that are none.
"""

import math
from collections.abc import Callable
from typing import Any, NoReturn

from s2m.console.errors import UserError
from s2m.run import checkpoint
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.lock import RunLock
from s2m.run.status import STOPPED
from s2m.run.stopping import StopRequest
from s2m.stages.progress import Progress


class Diverged(UserError):
    """Learning produced something that is not a number."""


class Work:
    """The run folder as one attempt works on it; subclasses learn."""

    advice = ""
    """What to do about divergence."""
    learner: Any
    """What learns, an Imitator or a Learner."""

    def __init__(
        self,
        folder: RunFolder,
        lock: RunLock,
        stop: StopRequest,
        progress: Progress,
        watch: Callable[[], object] = lambda: None,
    ) -> None:
        """Open the folder's files; `watch` is called whenever there is a moment."""
        self.folder, self.lock, self.stop, self.watch = folder, lock, stop, watch
        self.progress = progress
        self.events = Events(folder, lock.attempt.number)
        self.journal = Journal(folder)
        self.iteration = 0
        """Finished iterations."""
        self.saved = 0
        """Those that the newest checkpoint holds."""

    @classmethod
    def perform(cls, *args: Any, **kwargs: Any) -> str:
        """Work, with the arguments of the class, to the end (FINISHED) or a request (STOPPED)."""
        work = cls(*args, **kwargs)
        try:
            return work.run()
        finally:
            work.close()

    def run(self) -> str:
        """Go on from the newest sound checkpoint until the end or a request to stop."""
        raise NotImplementedError

    def close(self) -> None:
        """Release files."""
        self.journal.close()

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint holds."""
        raise NotImplementedError

    def load(self, state: dict[str, Any]) -> None:
        """Take over what a checkpoint holds."""
        raise NotImplementedError

    def is_finite(self) -> bool:
        """Tell whether every parameter is still a number."""
        return self.learner.is_finite()

    def resume(self) -> None:
        """Go on from the newest sound checkpoint, if any, and take back what came after it."""
        found = checkpoint.load_latest(self.folder, self.events)
        if found is not None:
            try:
                self.load(found.state)
            except (RuntimeError, KeyError, ValueError) as error:
                raise UserError(
                    f"{found.path} does not fit this run's config (another network or size?): "
                    f"{str(error).splitlines()[0]}"
                ) from error
            self.iteration = self.saved = found.iteration
        last = self.journal.last()
        if last is not None or found is not None:
            self.lock.make_sure()  # building a simulator takes its time
            self.journal.rewind(self.iteration)
            self.events.rewind(self.iteration, last=last[0] if last else 0)
            self._mend()

    def _mend(self) -> None:
        """Make sure that every finished iteration has its metrics, and drop damaged lines."""
        if self.journal.restore(self.iteration):
            reason = f"it voided rows that {self.folder.metrics.name} has"
            self.events.append("journal_dropped", iteration=self.iteration, reason=reason)
        self._check_metrics()
        self.events.read()
        for name, lines in (
            (self.folder.journal.name, self.journal.unreadable),
            (self.folder.events.name, self.events.unreadable),
        ):
            if lines:
                self.events.append("damaged_lines", file=name, lines=lines)
        if self.journal.unreadable:
            self.journal.compact(self.iteration, mend=True)

    def _check_metrics(self) -> None:
        """Refuse to go on if a finished iteration has lost its metrics."""
        if lost := self.journal.lacks(self.iteration):
            advice = f"put {self.folder.metrics.name} back, or delete the folder to train it again"
            if lost[0] > self.saved:
                advice = "the next attempt does them again"
            raise UserError(
                f"{self.folder.path} has lost the metrics of {len(lost)} iterations from "
                f"{lost[0]} on: {advice}"
            )

    def asked_to_stop(self) -> bool:
        """Look up from the work: has somebody asked to leave?"""
        self.watch()
        return self.stop.asked(self.folder.stop)

    def check_divergence(self, row: dict[str, float]) -> None:
        """Refuse to go on with anything that is not a number."""
        broken = [name for name, value in row.items() if not math.isfinite(value)]
        if broken or not self.is_finite():
            self.diverged(", ".join(broken) or "a network weight")

    def diverged(self, what: str) -> NoReturn:
        """End the run because of something that is not a number."""
        self.lock.make_sure()
        self.events.append("diverged", iteration=self.iteration, what=what)
        raise Diverged(
            f"{self.folder.path} diverged at iteration {self.iteration}: {what} is not finite; "
            f"{self.advice}"
        )

    def save(self, tag: str | None = None) -> None:
        """Write a checkpoint."""
        self.lock.make_sure()  # compacting would void the rows of a later attempt
        # Files may vanish under a run, and an orphan may write late: what rows are left then stay
        # as they are, and the newest checkpoint is one that lacks none.
        self._check_metrics()
        # Metrics first: then no checkpoint is ahead of them, even after a power cut.
        self.journal.compact(self.iteration)
        checkpoint.save(self.folder, self.iteration, self.state(), tag)
        self.saved = self.iteration

    def leave(self) -> str:
        """Write a checkpoint to go on from, and say why."""
        if not self.is_finite():
            self.diverged("a network weight")
        self.save()
        self.folder.stop.unlink(missing_ok=True)
        self.events.append("stopped", iteration=self.iteration, reason=self.stop.reason)
        return STOPPED
