"""What a person sees while a run trains: a live panel on a terminal, plain lines elsewhere."""

import math
import os
import time
from collections import deque
from contextlib import suppress
from statistics import linear_regression

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from s2m.config.curriculum import AT_LEAST
from s2m.config.run import RunCfg
from s2m.console.terminal import in_place
from s2m.console.text import duration, harmless
from s2m.run.criteria import MET, MISSED, NOT_YET, Reading, in_line, read
from s2m.run.files import open_own
from s2m.run.folder import RunFolder

LINE_SECONDS = 15.0
"""Least time between two plain lines."""
TREND = 40
"""Iterations over which the trend of a criterion is taken."""
COLOURS = {MET: "green", MISSED: "yellow", NOT_YET: "dim"}


def to_threshold(values: list[float], threshold: float, rising: bool) -> float | None:
    """Return in how many iterations the trend of a criterion meets its threshold; None: never.

    The trend is the least-squares slope of the given values, one per iteration.
    """
    present = values[-1]
    if (present >= threshold) if rising else (present <= threshold):
        return 0.0
    if len(values) < 5:
        return None
    slope, _ = linear_regression(range(len(values)), values)
    gap = threshold - present
    return gap / slope if slope and gap / slope > 0 else None


class Progress:
    """Follows one run; made by `automatic` or `silent`."""

    def __init__(self, console: Console | None, live: bool, kept: RunFolder | None = None) -> None:
        """Write to a console, in place if `live`, and the plain lines into the log of `kept`."""
        self.console = console
        self.live = Live(console=console, refresh_per_second=4) if console and live else None
        self.kept = kept
        self.started = False

    @classmethod
    def automatic(cls, kept: RunFolder | None = None) -> "Progress":
        """Choose the live panel on a terminal and plain lines elsewhere."""
        # What it shows may come from anywhere, as the last words of a server.
        console = Console(markup=False, highlight=False)
        return cls(console, live=in_place(console), kept=kept)

    @classmethod
    def silent(cls) -> "Progress":
        """Show nothing."""
        return cls(None, live=False)

    def begin(self, folder: RunFolder, cfg: RunCfg, iteration: int, note: str = "") -> None:
        """Announce the run and where it resumes."""
        self.cfg, self.first = cfg, iteration
        self.began = self.line_time = time.monotonic()
        self.history: deque[dict[str, float]] = deque(maxlen=TREND)
        self.level = 0
        self.name = folder.path.name
        self.notes: deque[str] = deque(maxlen=4)
        self.started = True
        where = f", resumed at iteration {iteration}" if iteration else ""
        self.say(f"{self.name}: {cfg.budget.iterations} iterations{where} ({note})")
        if self.live:
            self.live.start()

    def event(self, text: str) -> None:
        """Show something that happened."""
        if self.started:
            self.say(f"{self.name}: {text}")

    def iteration(self, iteration: int, row: dict[str, float]) -> None:
        """Show the state after an iteration."""
        if self.console is None:
            return
        level = int(row["curriculum/level"])
        if level != self.level:
            self.level = level
            self.history.clear()
        readings = read(self.cfg.curriculum, level, row)
        if not math.isnan(readings[0].value):
            self.history.append({item.name: item.value for item in readings})
        now = time.monotonic()
        per_iteration = (now - self.began) / max(1, iteration - self.first)
        if self.live:
            self.live.update(self._panel(iteration, row, readings, per_iteration))
        if now - self.line_time >= LINE_SECONDS or iteration == self.cfg.budget.iterations:
            self.line_time = now
            line = self._line(iteration, row, readings, per_iteration)
            self.keep(line)
            if not self.live:
                self.console.print(line, soft_wrap=True)

    def end(self) -> None:
        """Leave the last panel standing."""
        if self.live and self.started:
            self.live.stop()

    def say(self, text: str) -> None:
        """Print a line, or show it below the panel while that stands."""
        self.keep(text)
        if self.live and self.live.is_started:
            self.notes.append(text)
        elif self.console:
            self.console.print(text, soft_wrap=True, highlight=False)

    def keep(self, text: str) -> None:
        """Add a line to the run's log, if this display keeps one."""
        if self.kept is None:
            return
        with suppress(OSError):  # of a full disk, which the run itself tells
            descriptor = open_own(self.kept.log, os.O_WRONLY | os.O_APPEND)
            with os.fdopen(descriptor, "a", errors="backslashreplace") as log:
                log.write(f"{harmless(text)}\n")

    def _next_level(self, readings: list[Reading], per_iteration: float) -> str:
        """Say when the slowest criterion will be met by its trend; nothing if none can tell."""
        if self.level >= self.cfg.curriculum.stop:
            return "last level"
        spans = []
        for item in readings:
            values = [row[item.name] for row in self.history]
            rising = item.name in AT_LEAST
            spans.append(to_threshold(values, item.threshold, rising) if values else None)
        known = [span for span in spans if span is not None]
        if len(known) < len(spans):
            return ""
        return f"level {self.level + 1} in about {duration(max(known) * per_iteration)}"

    def _state(self, iteration: int, readings: list[Reading], per_iteration: float) -> str:
        total = self.cfg.budget.iterations
        samples = self.cfg.budget.num_envs * self.cfg.budget.steps
        parts = [
            f"level {self.level}",
            f"iteration {iteration}/{total}",
            f"{samples / per_iteration:,.0f} samples/s",
            f"ETA {duration((total - iteration) * per_iteration)}",
            self._next_level(readings, per_iteration),
        ]
        return ", ".join(filter(None, parts))

    def _line(
        self, iteration: int, row: dict, readings: list[Reading], per_iteration: float
    ) -> str:
        state = self._state(iteration, readings, per_iteration)
        return f"{self.name}: {state}; reward {row['reward/mean']:+.4f}; {in_line(readings)}"

    def _panel(
        self, iteration: int, row: dict, readings: list[Reading], per_iteration: float
    ) -> Group:
        state = self._state(iteration, readings, per_iteration)
        limits = Table("criterion", "now", "needed", "", box=None, pad_edge=False)
        for item in readings:
            mark = Text(item.verdict, COLOURS[item.verdict])
            limits.add_row(item.name, item.shown, item.needed, mark)
        terms = Table("reward term", "mean", box=None, pad_edge=False)
        for name, value in row.items():
            if name.startswith("reward/"):
                terms.add_row(name.removeprefix("reward/"), f"{value:+.4f}")
        both = Table.grid(padding=(0, 4))
        both.add_row(limits, terms)
        total = self.cfg.budget.iterations
        bar = ProgressBar(total=total, completed=iteration, width=60)
        notes = [Text(note, "dim") for note in self.notes]
        return Group(Text(self.name, "bold"), Text(state), bar, both, *notes)
