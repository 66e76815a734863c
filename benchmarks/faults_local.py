"""The parts of the campaign that need nothing but this machine."""

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from s2m.console.errors import UserError
from s2m.run.folder import RunFolder, find_runs
from s2m.run.status import FINISHED, STOPPED
from tests.faults import damage as spoil
from tests.faults.kills import (
    STOPS,
    ended_by,
    in_child,
    kill_at_random,
    kill_in_a_write,
    killed_at,
    storm,
)
from tests.faults.launches import attempts, kill_launcher, kill_siblings, launch
from tests.faults.numbers import SOURCES, diverge
from tests.faults.runs import differences, fingerprint, finish, kinds, student, teacher
from tests.faults.surroundings import until_full, with_jumping_clock, without_rights

if TYPE_CHECKING:
    from benchmarks.faults import Campaign

ROOT = Path(__file__).resolve().parents[1]
Fault = Callable[[RunFolder], bool]


class Calm:
    """Undisturbed runs, made once, to compare with."""

    def __init__(self, place: Path) -> None:
        """Train a teacher and distil a student."""
        self.teacher = finish(teacher(place / "calm"))
        self.student = finish(student(place / "calm-student", self.teacher))
        began = time.monotonic()
        finish(teacher(place / "timed"))
        self.seconds = time.monotonic() - began
        """What a run takes on this machine at present."""
        self.expected = {"teacher": fingerprint(self.teacher), "student": fingerprint(self.student)}

    def create(self, root: Path, kind: str) -> RunFolder:
        """Create the folder of a run like the undisturbed one."""
        return teacher(root) if kind == "teacher" else student(root, self.teacher)


def calm(campaign: "Campaign") -> Calm:
    """Return the undisturbed runs of a campaign."""
    if not hasattr(campaign, "calm"):
        campaign.calm = Calm(campaign.place)  # pyright: ignore[reportAttributeAccessIssue]
    return campaign.calm  # pyright: ignore[reportAttributeAccessIssue]


def _verdict(folder: RunFolder, expected: dict[str, str]) -> tuple[str, str]:
    """Let a run finish and compare it."""
    wrong = differences(finish(folder), expected)
    return ("wrong", ", ".join(wrong)) if wrong else ("survived", "")


def _untold(folder: RunFolder) -> int:
    """Return how many interrupted attempts left no event that says so."""
    seen = kinds(folder)
    return seen.count("attempt") - 1 - seen.count("died") - seen.count("stopped")


def kills(campaign: "Campaign") -> None:
    """Kill training and distilling at random moments and inside changes of files; storm them."""
    sound, chance = calm(campaign), random.Random(campaign.seed)
    for kind, name in (("teacher", "training"), ("student", "distilling")):
        share = 1.0 if kind == "teacher" else 0.5
        faults: dict[str, tuple[Fault, int]] = {
            f"kill -9 of {name}, at a random moment": (
                lambda f: kill_at_random(f, chance, sound.seconds / 2), 70
            ),
            f"kill -9 of {name}, inside a change of a file": (
                lambda f: kill_in_a_write(f, chance, 60), 60
            ),
            f"storm of 60 TERM, USR2 and INT on {name}": (
                lambda f: storm(f, chance, 60) in {75, *(-number for number in STOPS)}, 10
            ),
        }  # fmt: skip
        for fault, (strike, count) in faults.items():
            _repeat(campaign, fault, strike, campaign.times(round(share * count)), kind)


def _repeat(campaign: "Campaign", fault: str, strike: Fault, count: int, kind: str) -> None:
    """Strike runs until the fault has struck so often, several times each."""
    sound, struck, number = calm(campaign), 0, 0
    while struck < count:
        number += 1
        root = campaign.place / "struck" / f"{number}"
        folder = sound.create(root, kind)
        hits, before = 0, 0
        while struck + hits < count and strike(folder):
            # A process that had not yet begun an attempt was not disturbed in anything.
            now = kinds(folder).count("attempt")
            hits, before = hits + (now > before), now
        outcome, detail = _verdict(folder, sound.expected[kind])
        if _untold(folder) > 0:
            outcome, detail = "lost", "an attempt ended without an event"
        campaign.note(fault, outcome, detail, count=hits)
        struck += hits
        shutil.rmtree(root)


def launches(campaign: "Campaign") -> None:
    """Kill the local launcher, and processes that run side by side in it."""
    chance, root = random.Random(campaign.seed), campaign.place / "launched"
    words = ("seed=40,41", "budget.iterations=24", "sim.pause=0.05")
    names = "kill -9 of the local launcher", "kill -9 of a process beside others"
    struck = {
        names[0]: sum(kill_launcher(root, chance, *words) for _ in range(campaign.times(6))),
        names[1]: 0,
    }
    while struck[names[1]] < campaign.times(10):
        left = campaign.times(10) - struck[names[1]]
        found = kill_siblings(root, chance, min(left, 5), *words)
        struck[names[1]] += found
        if not found:
            break
    launch(root, *words).wait()
    campaign.say(f"{attempts(root)} attempts at {len(list(find_runs(root)))} runs")
    wrong = []
    for run, seed in zip(find_runs(root), (40, 41), strict=True):
        twin = finish(teacher(campaign.place / "twin", f"seed={seed}", *words[1:2]))
        wrong += differences(run, fingerprint(twin))
    for name, count in struck.items():
        campaign.note(name, "wrong" if wrong else "survived", ", ".join(wrong), count)


def damages(campaign: "Campaign") -> None:
    """Spoil every file of finished and of interrupted runs, in every way."""
    sound, chance = calm(campaign), random.Random(campaign.seed)
    roots = {
        "a finished run": (sound.teacher.path.parents[1], "teacher"),
        "an interrupted run": (campaign.place / "half", "teacher"),
        "a finished student": (sound.student.path.parents[1], "student"),
        "an interrupted student": (campaign.place / "half-student", "student"),
    }
    killed_at(teacher(campaign.place / "half"), 14)
    killed_at(student(campaign.place / "half-student", sound.teacher), 5)
    for name, (root, kind) in roots.items():
        (run,) = find_runs(root)
        before, _ = spoil.read(root)
        for path in spoil.files(run):
            for how in spoil.KINDS:
                for _ in range(campaign.times(1) if how in ("cut", "flip") else 1):
                    copy = campaign.place / "damaged"
                    shutil.copytree(root, copy)
                    spoil.damage(copy / path.relative_to(root), how, chance)
                    found = spoil.misread(copy, before) or spoil.outcome(
                        RunFolder(copy / run.path.relative_to(root)), sound.expected[kind]
                    )
                    what = f"a file {how}" if how == "gone" else f"a file {PAST[how]}"
                    detail = f"{path.name}: {found.detail}"
                    campaign.note(f"{what}, of {name}", found.outcome, detail)
                    shutil.rmtree(copy)


PAST = {"cut": "cut off", "flip": "with a flipped bit", "empty": "emptied"}


def tables(campaign: "Campaign") -> None:
    """Make the tables of runs of which one is damaged: they are those without it, or all."""
    chance, root = random.Random(campaign.seed), campaign.place / "study"
    for seed in (40, 41, 42):
        finish(teacher(root, f"seed={seed}"))
    victim = list(find_runs(root))[-1]
    whole = _tables(root, campaign.place / "whole")
    rest = campaign.place / "rest"
    shutil.copytree(root, rest)
    shutil.rmtree(rest / victim.path.relative_to(root))
    without = _tables(rest, campaign.place / "without")
    names = [path for path in spoil.files(victim) if path.suffix != ".pt"]
    for _ in range(campaign.times(6)):
        path, how = chance.choice(names), chance.choice(spoil.KINDS)
        copy = campaign.place / "debris"
        shutil.copytree(root, copy)
        spoil.damage(copy / path.relative_to(root), how, chance)
        found = _tables(copy, campaign.place / "out")
        detail = f"{path.name} {how}"
        told = found and all(_is_told(line, [*whole, *without]) for line in found)
        outcome = "survived" if found == whole else "refused" if told else "wrong"
        campaign.note("tables of runs of which one is damaged", outcome, detail)
        shutil.rmtree(copy)


def _is_told(line: str, sound: list[str]) -> bool:
    """Tell whether a line of a table is a sound one, or one with fewer numbers: rates got lost.

    A run whose result got lost is told as stopped: it can go on and make it again.
    """
    cells = line.split(",")
    return any(
        all(
            mine in ("", theirs) or (mine, theirs) == (STOPPED, FINISHED)
            for mine, theirs in zip(cells, other.split(","), strict=True)
        )
        for other in sound
        if other.count(",") == line.count(",")
    )


def _tables(root: Path, out: Path) -> list[str]:
    """Return the numbers of the seeds' table, one line per row; empty if there was a traceback."""
    script = [sys.executable, str(ROOT / "analysis" / "make_tables.py"), "--runs", str(root)]
    done = subprocess.run([*script, "--out", str(out)], capture_output=True, text=True)
    if "Traceback" in done.stderr or done.returncode not in (0, 2):
        return []
    found = [line for name in ("rates.csv", "seeds.csv") for line in _lines(out / name)]
    shutil.rmtree(out, ignore_errors=True)
    return found


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def surroundings(campaign: "Campaign") -> None:
    """Full disks, missing rights, jumping clocks, two writers, things that are no number."""
    sound, chance = calm(campaign), random.Random(campaign.seed)

    def clock(folder: RunFolder) -> None:
        with_jumping_clock(lambda: finish(folder))

    def writers(folder: RunFolder) -> None:
        for child in [in_child(_try, folder) for _ in range(3)]:
            ended_by(child)

    faults: dict[str, tuple[Callable[[RunFolder], object], int]] = {
        "a disk that is full": (lambda f: until_full(f, chance.randrange(500, 60_000)), 10),
        "a folder without rights": (without_rights, 3),
        "a clock that jumps": (clock, 3),
        "three writers on a folder": (writers, 5),
    }
    for fault, (strike, count) in faults.items():
        for i in range(campaign.times(count)):
            folder = sound.create(campaign.place / f"{fault} {i}", "teacher")
            strike(folder)
            campaign.note(fault, *_verdict(folder, sound.expected["teacher"]))
    for source in SOURCES:
        kind = "student" if source.startswith("student") else "teacher"
        for i in range(campaign.times(3)):
            folder = sound.create(campaign.place / f"{source} {i}", kind)
            said = diverge(folder, source, chance.randint(2, 8))
            outcome, detail = _verdict(folder, sound.expected[kind])
            if not spoil.one_line(said):
                outcome, detail = "lost", "nobody noticed"
            campaign.note(f"NaN from the {source}, then none", outcome, detail)


def _try(folder: RunFolder) -> None:
    try:
        finish(folder)
    except UserError:
        pass
