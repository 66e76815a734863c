"""What a person sees while a pool works: one steady panel on a terminal, plain lines elsewhere."""

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

from rich.console import Group
from rich.table import Table
from rich.text import Text

from s2m.cluster.state import RunState
from s2m.config.compose import from_dict
from s2m.config.curriculum import CRITERIA, CurriculumCfg
from s2m.console.errors import UserError
from s2m.console.text import duration
from s2m.run.criteria import MET, MISSED, NOT_YET, Reading, in_line, read
from s2m.run.folder import RunFolder
from s2m.run.kind import STUDENT
from s2m.run.status import FINISHED, PENDING, RUNNING, UNREADABLE

HEAD = ("run", "level", "iteration", "samples/s", "ETA")
COLOURS = {MET: "green", MISSED: "yellow", NOT_YET: "dim"}
WIDE = 130
"""Columns of a terminal from which on each criterion has one of its own."""


class Board:
    """Shows the runs of a pool by what their folders say."""

    def __init__(self) -> None:
        """Know no run yet."""
        self._known: dict[str, tuple[int, CurriculumCfg | None]] = {}

    def line(self, folder: RunFolder, state: RunState) -> str:
        """Tell where a run stands in one line."""
        if state.status == UNREADABLE:
            return f"{folder.path.name}: {state.failure}"
        if state.iteration == 0 and state.seconds is None:
            return f"{folder.path.name}: starting"
        parts = [f"level {state.level}"] if state.level else []
        parts.append(f"iteration {state.iteration}/{state.total}")
        if rate := self._rate(folder, state):
            parts.append(f"{rate} samples/s")
        parts.append(f"ETA {duration(state.left)}")
        measured = in_line(self._readings(folder, state))
        line = f"{folder.path.name}: {_stage(state)}{', '.join(parts)}"
        return f"{line}; {measured}" if measured else line

    def panel(
        self,
        running: Mapping[str, tuple[RunFolder, RunState]],
        ended: Mapping[str, str],
        waiting: int,
        width: int,
    ) -> Group:
        """Show the runs that are at work, one row each, and count the others."""
        wide = width >= WIDE
        table = Table(*HEAD, *(CRITERIA if wide else ("criteria",)), box=None, pad_edge=False)
        for name, (folder, state) in running.items():
            done = f"{_stage(state)}{state.iteration}/{state.total}"
            row = [name, str(state.level or "–"), done]
            row += [self._rate(folder, state) or "–", duration(state.left)]
            if state.status == UNREADABLE:
                table.add_row(*row, Text(state.failure, "red"))
                continue
            readings = self._readings(folder, state)
            table.add_row(*row, *(_cells(readings) if wide else [_summary(readings)]))
        counts = {RUNNING: len(running), **Counter(ended.values()), PENDING: waiting}
        counted = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        total = len(running) + len(ended) + waiting
        others = [
            Text(f"{name}: {word}", "red") for name, word in ended.items() if word != FINISHED
        ]
        return Group(Text(f"{total} runs: {counted}", "bold"), table, *others[-5:])

    def _rate(self, folder: RunFolder, state: RunState) -> str:
        samples, _ = self._facts(folder)
        return f"{samples / state.seconds:,.0f}" if samples and state.seconds else ""

    def _readings(self, folder: RunFolder, state: RunState) -> list[Reading]:
        _, curriculum = self._facts(folder)
        if curriculum is None or state.level is None:
            return []
        return read(curriculum, state.level, state.criteria)

    def _facts(self, folder: RunFolder) -> tuple[int, CurriculumCfg | None]:
        """Return the samples of an iteration and the curriculum; a student has neither."""
        name = folder.path.name
        if name not in self._known:
            self._known[name] = 0, None
            with suppress(UserError, OSError):  # of a damaged folder, whose state says so
                if folder.kind is not STUDENT:
                    config = folder.config()
                    samples = config["budget"]["num_envs"] * config["budget"]["steps"]
                    self._known[name] = samples, from_dict(CurriculumCfg, config["curriculum"])
        return self._known[name]


def _stage(state: RunState) -> str:
    return "evaluating, " if state.stage == "evaluate" else ""


def _cells(readings: list[Reading]) -> list[Text]:
    if not readings:
        return [Text("–", "dim")] * len(CRITERIA)
    return [
        Text(item.verdict if item.verdict == NOT_YET else f"{item.shown} {item.verdict}",
             COLOURS[item.verdict])
        for item in readings
    ]  # fmt: skip


def _summary(readings: list[Reading]) -> Text:
    """Say how many are met, and of those missed their values."""
    if not readings:
        return Text("–", "dim")
    missed = [f"{item.name} {item.shown}" for item in readings if item.verdict == MISSED]
    met = sum(item.verdict == MET for item in readings)
    said = f"{met} of {len(readings)} met"
    return Text(f"{said}; missed: {', '.join(missed)}" if missed else said)
