"""What a person sees while a run trains: a live panel on a terminal, plain lines elsewhere."""

import math
import time
from collections import deque
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from s2m.config.run import RunCfg
from s2m.console.terminal import in_place
from s2m.console.text import duration
from s2m.run.folder import RunFolder

LINE_SECONDS = 15.0
"""Least time between two plain lines."""
TREND = 40
"""Iterations over which the trend of a criterion is taken."""


def to_threshold(values: list[float], threshold: float, rising: bool) -> float | None:
    """Return in how many iterations the trend of a criterion meets its threshold; None: never.

    The trend is the least-squares slope of the given values, one per iteration.
    """
    present = values[-1]
    if (present >= threshold) if rising else (present <= threshold):
        return 0.0
    n = len(values)
    if n < 5:
        return None
    centre = (n - 1) / 2
    slope = sum((i - centre) * value for i, value in enumerate(values))
    slope /= sum((i - centre) ** 2 for i in range(n))
    gap = threshold - present
    return gap / slope if slope and gap / slope > 0 else None


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


class Progress:
    """Follows one run; made by `automatic` or `silent`."""

    def __init__(self, console: Console | None, live: bool) -> None:
        """Write to a console, in place if `live`."""
        self.console = console
        self.live = Live(console=console, refresh_per_second=4) if console and live else None
        self.started = False

    @classmethod
    def automatic(cls) -> "Progress":
        """Choose the live panel on a terminal and plain lines elsewhere."""
        # What it shows may come from anywhere, as the last words of a server.
        console = Console(markup=False, highlight=False)
        return cls(console, live=in_place(console))

    @classmethod
    def silent(cls) -> "Progress":
        """Show nothing."""
        return cls(None, live=False)

    def begin(self, folder: RunFolder, cfg: RunCfg, iteration: int, note: str = "") -> None:
        """Announce the run and where it goes on."""
        self.cfg, self.first = cfg, iteration
        self.began = self.line_time = time.monotonic()
        self.history: deque[dict[str, float]] = deque(maxlen=TREND)
        self.level = 0.0
        self.name = folder.path.name
        self.notes: deque[str] = deque(maxlen=4)
        self.started = True
        where = f", going on after iteration {iteration}" if iteration else ""
        self.say(f"{self.name}: {cfg.budget.iterations} iterations{where} ({note})")
        if self.live:
            self.live.start()

    def event(self, text: str) -> None:
        """Show something that happened."""
        if self.started:
            self.say(f"{self.name}: {text}")

    def iteration(self, iteration: int, row: dict[str, float], criteria: list) -> None:
        """Show the state after an iteration."""
        if self.console is None:
            return
        if row["curriculum/level"] != self.level:
            self.level = row["curriculum/level"]
            self.history.clear()
        if not math.isnan(criteria[0].value):
            self.history.append({item.name: item.value for item in criteria})
        now = time.monotonic()
        per_iteration = (now - self.began) / max(1, iteration - self.first)
        if self.live:
            self.live.update(self._panel(iteration, row, criteria, per_iteration))
        elif now - self.line_time >= LINE_SECONDS or iteration == self.cfg.budget.iterations:
            self.line_time = now
            self.console.print(self._line(iteration, row, criteria, per_iteration), soft_wrap=True)

    def end(self) -> None:
        """Leave the last panel standing."""
        if self.live and self.started:
            self.live.stop()

    def say(self, text: str) -> None:
        """Print a line, or show it below the panel while that stands."""
        if self.live and self.live.is_started:
            self.notes.append(text)
        elif self.console:
            self.console.print(text, soft_wrap=True, highlight=False)

    def _next_level(self, criteria: list, per_iteration: float) -> str:
        if self.level >= self.cfg.curriculum.stop:
            return "last level"
        spans = []
        for item in criteria:
            values = [row[item.name] for row in self.history]
            spans.append(to_threshold(values, item.threshold, item.at_least) if values else None)
        if any(span is None for span in spans):
            return duration(None)
        return duration(max(spans) * per_iteration)

    def _line(self, iteration: int, row: dict, criteria: list, per_iteration: float) -> str:
        left = (self.cfg.budget.iterations - iteration) * per_iteration
        measures = " ".join(
            f"{item.name} {_number(item.value)}{'' if item.passed else '!'}" for item in criteria
        )
        return (
            f"{self.name}: {iteration}/{self.cfg.budget.iterations} level {self.level:.0f} "
            f"reward {row['reward/mean']:+.4f} {measures} "
            f"{self._rate(per_iteration):,.0f} samples/s, "
            f"next level {self._next_level(criteria, per_iteration)}, end {duration(left)}"
        )

    def _rate(self, per_iteration: float) -> float:
        return self.cfg.budget.num_envs * self.cfg.budget.steps / per_iteration

    def _panel(self, iteration: int, row: dict, criteria: list, per_iteration: float) -> Any:
        total = self.cfg.budget.iterations
        left = (total - iteration) * per_iteration
        head = Text.assemble(
            (self.name, "bold"),
            f"  level {self.level:.0f}  iteration {iteration}/{total}  "
            f"{self._rate(per_iteration):,.0f} samples/s  "
            f"next level {self._next_level(criteria, per_iteration)}  end {duration(left)}",
        )
        limits = Table("criterion", "now", "needed", "", box=None, pad_edge=False)
        for item in criteria:
            sign = ">=" if item.at_least else "<="
            mark = Text("ok", "green") if item.passed else Text("–", "yellow")
            limits.add_row(item.name, _number(item.value), f"{sign} {item.threshold:g}", mark)
        terms = Table("reward term", "mean", box=None, pad_edge=False)
        for name, value in row.items():
            if name.startswith("reward/"):
                terms.add_row(name.removeprefix("reward/"), f"{value:+.4f}")
        both = Table.grid(padding=(0, 4))
        both.add_row(limits, terms)
        bar = ProgressBar(total=total, completed=iteration, width=60)
        return Group(head, bar, both, *(Text(note, "dim") for note in self.notes))
