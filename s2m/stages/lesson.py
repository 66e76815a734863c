"""What a person sees while a student is taught: a bar on a terminal, plain lines elsewhere."""

import time

from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from s2m.console.text import duration
from s2m.stages.progress import LINE_SECONDS, Progress


class Lesson:
    """Follows one distillation through its rounds; made from the progress display of a run."""

    def __init__(self, progress: Progress, name: str, total: int) -> None:
        """Write where `progress` does; `total` is the number of epochs."""
        self.progress, self.console = progress, progress.console
        self.name, self.total = name, total
        self.began = self.said = time.monotonic()
        self.first = self.epoch = 0
        self.bar: Bar | None = None
        if progress.live and self.console:
            what = TextColumn("{task.description}", markup=False)
            columns = (what, BarColumn(), TimeElapsedColumn())
            self.bar = Bar(*columns, console=self.console, transient=True)
            self.task = self.bar.add_task(name, total=total)
            self.bar.start()

    def begin(self, epoch: int, note: str) -> None:
        """Announce the student and where it goes on."""
        self.first = self.epoch = epoch
        where = f", resumed at epoch {epoch}" if epoch else ""
        self.say(f"{self.total} epochs{where} ({note})")

    def say(self, text: str) -> None:
        """Tell what happened, in a line that stays."""
        self.progress.say(f"{self.name}: {text}")

    def show(self, text: str, part: float = 0.0) -> None:
        """Tell what is going on, with the fraction `part` of the epoch done."""
        done = self.epoch + part
        if self.bar:
            left = self._left(done)
            self.bar.update(self.task, completed=done, description=f"{self.name} {text}{left}")
        elif time.monotonic() - self.said >= LINE_SECONDS:
            self.said = time.monotonic()
            self.say(f"epoch {self.epoch}/{self.total} {text}{self._left(done)}")

    def _left(self, done: float) -> str:
        if done - self.first < 1:
            return ""
        rate = (time.monotonic() - self.began) / (done - self.first)
        return f", ETA {duration((self.total - done) * rate)}"

    def end(self) -> None:
        """Take the bar away."""
        if self.bar:
            self.bar.stop()
