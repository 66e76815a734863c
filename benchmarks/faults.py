"""A campaign of faults on real runs: what was tried, what survived, what was lost or wrong.

python -m benchmarks.faults [PART ...] [--seed 1] [--scale 1.0] [--counts FILE] [--write] disturbs
tiny runs without physics and compares each with one that nothing disturbed: weights, metrics, level
changes, results and episodes, bit for bit. Parts: kills, launches, damage, tables, surroundings,
slurm, storm and launcher, which need SLURM (slurm/install-debian.sh). --scale changes how often
things are tried, --counts adds to what earlier parts have found, --write puts the table into
docs/reliability.md. The exit code is 1 if anything was lost or wrong.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
PAGE = ROOT / "docs" / "reliability.md"
COLUMNS = ("survived", "refused", "lost", "wrong")

Counts = dict[str, Counter[str]]
"""Outcomes by fault."""


class Campaign:
    """What a part needs: a place, a scale, a seed, and where its outcomes go."""

    def __init__(self, place: Path, scale: float, seed: int, console: Console) -> None:
        self.place, self.scale, self.seed, self.console = place, scale, seed, console
        self.counts: Counts = {}
        """What has been found."""

    def times(self, count: int) -> int:
        """Return how often to try something."""
        return max(1, round(count * self.scale))

    def note(self, fault: str, outcome: str, detail: str = "", count: int = 1) -> None:
        """Count an outcome; one that must not be is told at once."""
        self.counts.setdefault(fault, Counter())[outcome] += count
        if outcome in ("lost", "wrong"):
            self.console.print(f"{fault}: {outcome}: {detail}", markup=False, highlight=False)

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False)


def parts() -> dict[str, Callable[[Campaign], None]]:
    """Return the parts in their order; they load torch."""
    from benchmarks import faults_local, faults_slurm

    return {
        "kills": faults_local.kills,
        "launches": faults_local.launches,
        "damage": faults_local.damages,
        "tables": faults_local.tables,
        "surroundings": faults_local.surroundings,
        "slurm": faults_slurm.slurm,
        "storm": faults_slurm.storm,
        "launcher": faults_slurm.launcher,
    }


def as_rows(counts: Counts) -> list[list[str]]:
    """Return the table's rows, and a last one with their sums."""
    total = sum(counts.values(), Counter())
    rows = []
    for fault, found in [*counts.items(), ("all", total)]:
        rows.append([fault, *(str(found[c]) for c in COLUMNS)])
        rows[-1].insert(1, str(sum(found.values())))
    return rows


class Record:
    """What the parts of a campaign have found so far, and the commands that found it."""

    def __init__(self, path: Path | None) -> None:
        self.path, self.commands, self.counts = path, [], {}
        if path is not None and path.exists():
            stored = json.loads(path.read_text())
            self.commands = stored["commands"]
            self.counts = {fault: Counter(found) for fault, found in stored["counts"].items()}

    def add(self, command: str, counts: Counts) -> None:
        """Add what a command has found."""
        self.commands.append(f"`{command}` at {_commit()}")
        for fault, found in counts.items():
            self.counts[fault] = self.counts.get(fault, Counter()) + found
        if self.path is not None:
            content = {"commands": self.commands, "counts": self.counts}
            self.path.write_text(json.dumps(content, indent=1))


def _commit() -> str:
    words = ["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"]
    return subprocess.run(words, capture_output=True, text=True).stdout.strip()


def as_markdown(record: Record) -> str:
    """Return the table for the page, with the commands and the commits that made it."""
    counts, lines = record.counts, [f"{', '.join(record.commands)}:", ""]
    lines += [f"| fault | tried | {' | '.join(COLUMNS)} |", "|---|" + "---:|" * 5]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in as_rows(counts))])


def main(words: list[str]) -> int:
    """Run the chosen parts and print one table."""
    known = parts()
    options = _parse(words, list(known))
    console = Console(width=110)
    from analysis.docs import replace_section
    from tests.faults.runs import quiet

    quiet()
    with tempfile.TemporaryDirectory(prefix="s2m-", dir="/tmp", ignore_cleanup_errors=True) as name:
        campaign = Campaign(Path(name), options.scale, options.seed, console)
        with suppress(KeyboardInterrupt):  # What was found until then is told.
            for part in options.parts or known:
                began = time.monotonic()
                known[part](campaign)
                console.print(f"{part}: {time.monotonic() - began:.0f} s", highlight=False)
    record = Record(options.counts)
    record.add(" ".join(["python -m benchmarks.faults", *options.parts]), campaign.counts)
    table = Table("fault", "tried", *COLUMNS)
    for row in as_rows(record.counts):
        table.add_row(*row)
    console.print(table)
    if options.write:
        replace_section(PAGE, "campaign", as_markdown(record))
    total = sum(record.counts.values(), Counter())
    return int(total["lost"] + total["wrong"] > 0)


def _parse(words: list[str], known: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(known))
    parser.add_argument("--seed", type=int, default=1, help="where and when faults strike")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on how often")
    parser.add_argument("--counts", type=Path, metavar="FILE", help="add to what stands there")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    options = parser.parse_args(words)
    if unknown := [part for part in options.parts if part not in known]:
        parser.error(f"unknown part '{unknown[0]}': allowed are {', '.join(known)}")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
