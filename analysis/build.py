"""The command that turns runs into tables, figures and a report.

python analysis/make_tables.py [RUNS] [--out tables] [--by SETTING ...] [--only CONDITION ...]
                               [--metric NAME ...] [--teacher RUN] [--distill [SETTING ...]]

writes every table as .tex, .md and .csv, every figure as .pdf (of two widths), .svg and .png,
report.html with all of them, runs, curves and episodes as Parquet, teacher.json with the best
teacher, and teacher-pfds.json etc. with the best of each encoder. Rows are the paper's encoders
with and without permutation, or with --by any settings. Runs that may not be compared are left out
and named. It reads run folders only: no torch, no simulator, no network.
With --source wandb and --project entity/name the runs come from Weights & Biases and give the same
tables. With --distill the best teacher, or that of --teacher, then teaches a tactile student, and
the report shows both.
"""

import argparse
import json
import math
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table as Display
from rich.text import Text

from analysis.conditions import GRAMMAR
from analysis.distill import distil, request
from analysis.document import compile_pdf, require_latex
from analysis.figures.gallery import draw
from analysis.frames import Frames, LeftOut
from analysis.measure import parse, require
from analysis.report import Picture, build
from analysis.sources import local
from analysis.study import Asked, Study, make_study, require_runs
from analysis.tables.every import every_table
from analysis.tables.model import Table
from analysis.tables.write import to_csv, to_latex, to_markdown
from analysis.teacher import Choice, choose, override, reasons
from analysis.tidy import write_tidy
from s2m.config.overrides import with_folder
from s2m.console.errors import UserError
from s2m.console.text import harmless, one_line
from s2m.run.finding import locate

FORMS = {"tex": to_latex, "md": to_markdown, "csv": to_csv}
MADE = "made.json"
"""Names of the files that a call has written."""
SHOWN = 10
"""Runs left out that are printed; the report has all."""

T = TypeVar("T")


def options(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python analysis/make_tables.py",
        description="Turn runs into tables, figures and a report.",
    )
    add = parser.add_argument
    add(
        "place",
        nargs="?",
        metavar="RUNS",
        help="folder of all runs (default: runs), or how its name begins",
    )
    add("--runs", "--root", metavar="RUNS", help="the same")
    add("--source", choices=["local", "wandb"], default="local", help="where runs are (local)")
    add("--project", metavar="ENTITY/NAME", help="W&B project, with --source wandb")
    add("--cache", type=Path, help="cache of runs fetched from W&B (default: ~/.cache/s2m/wandb)")
    add("--out", type=Path, default=Path("tables"), help="folder to write to (default: tables)")
    add("--experiment", help="only the runs of this experiment (default: all)")
    add("--budget", help="only runs of this budget (default: the one with most finished runs)")
    add("--mix-code", action="store_true", help="also compare runs of different code")
    add("--pdf", action="store_true", help="also study.pdf: two pages, then all of it (LaTeX)")
    rows = parser.add_argument_group("rows", f"CONDITION is {GRAMMAR}".replace("%", "%%"))
    some: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    rows.add_argument(
        "--by", metavar="SETTING", **some,
        help="make a row of each value, e.g. ppo.gamma; of several settings, of each combination",
    )  # fmt: skip
    rows.add_argument("--only", metavar="CONDITION", **some, help="only runs that meet all of them")
    rows.add_argument("--exclude", metavar="CONDITION", **some, help="drop runs that meet any")
    rows.add_argument("--baseline", metavar="ROW", default="", help="row to compare others with")
    rows.add_argument("--paper", action="store_true", help="all eight rows of the paper")
    rows.add_argument(
        "--factorial", nargs=2, metavar="SETTING", default=[],
        help="the 2 x 2 of two settings, each NAME or NAME=ONE,OTHER",
    )  # fmt: skip
    rows.add_argument(
        "--metric", metavar="NAME", **some,
        help="also compare rows by this: reward/mean, reward/mean:best (least, area), steps@3",
    )  # fmt: skip
    add("--strip", action="store_true", help="also film the best teacher (needs torch and GL)")
    add("--teacher", metavar="RUN", help="teacher: this run, or the best of a row such as pfds")
    add("--partial", action="store_true", help="distil even if some runs have not ended")
    add(
        "--distill", nargs="*", metavar="SETTING",
        help="distil a student from the teacher; settings of s2m.distill, e.g. cluster=slurm",
    )  # fmt: skip
    add(
        "--config-dir", metavar="DIR", type=Path, action="append", default=[],
        help="folder with the teacher's own encoder",
    )  # fmt: skip
    chosen = parser.parse_args(words)
    given = (chosen.runs or chosen.place or "").removeprefix("root=")
    chosen.runs = locate(given) if given and chosen.source == "local" else Path(given or "runs")
    return chosen


def main(words: list[str]) -> int:
    """Make everything and say what was made, what is missing and what was left out."""
    chosen = options(_as_runs(words))
    console = Console(width=None if sys.stdout.isatty() else 140)

    def watch(items: Iterable[T], total: int, what: str = "reading runs") -> Iterator[T]:
        hidden = not console.is_terminal
        return iter(track(items, what, total, console=console, transient=True, disable=hidden))

    if chosen.pdf:
        require_latex()
    metrics = [parse(text) for text in chosen.metric]
    frames, place = _read(chosen, watch, [m.column for m in metrics if not m.of_episodes])
    require(metrics, frames.runs)
    asked = Asked(
        chosen.by, chosen.only, chosen.exclude, chosen.baseline, chosen.factorial, chosen.paper,
        metrics,
    )  # fmt: skip
    study = make_study(frames, chosen.budget, chosen.mix_code, asked)
    require_runs(study, place)
    choice = choose(study)
    if chosen.teacher is not None:
        choice = override(choice, study, chosen.teacher)
    wanted = chosen.distill is not None
    student = request(choice, chosen) if wanted and choice else None
    made = write(study, choice, chosen.out, command(words), chosen.strip, watch, chosen.pdf)
    console.print(display(made[0]))
    for line in map(harmless, reasons(choice)):
        console.print(line, highlight=False, markup=False)
    for line in map(one_line, describe_left_out(study.left_out)):
        console.print(line, highlight=False, markup=False, style="yellow", soft_wrap=True)
    if study.hint:
        console.print(study.hint, highlight=False, markup=False, soft_wrap=True)
    page = chosen.out / "report.html"
    size = f"{page.stat().st_size / 1e6:.1f} MB"
    console.print(f"Wrote {len(made)} tables and {page} ({size})", highlight=False)
    return distil(student, choice, chosen) if wanted else 0


def _as_runs(words: list[str]) -> list[str]:
    """Return words in which the folder of runs stands behind --runs, however it was given."""
    if words and "=" not in words[0] and not words[0].startswith("-"):
        words = ["--runs", *words]
    return with_folder(words, ["--runs"])


def _read(
    chosen: argparse.Namespace, watch: Callable, metrics: Sequence[str]
) -> tuple[Frames, str]:
    """Return the runs of the chosen source, and the name of the place they come from."""
    if chosen.source == "local":
        if chosen.project:
            raise UserError(f"--project {chosen.project} needs --source wandb")
        return local.load(chosen.runs, chosen.experiment, watch, metrics), str(chosen.runs)
    if not chosen.project:
        raise UserError("--source wandb needs --project entity/name")
    if chosen.strip or chosen.distill is not None:
        option = "--strip" if chosen.strip else "--distill"
        raise UserError(f"{option} needs the checkpoints of run folders: leave out --source wandb")
    from analysis.sources import wandb

    cache = chosen.cache or wandb.CACHE
    return wandb.load(chosen.project, chosen.experiment, cache, watch, metrics), chosen.project


def command(words: list[str]) -> str:
    """Return the command as it can be typed again."""
    return shlex.join(["python", "analysis/make_tables.py", *words])


def write(
    study: Study,
    choice: Choice | None,
    out: Path,
    typed: str,
    strip: bool = False,
    watch=lambda items, total, what: items,
    pdf: bool = False,
) -> list[Table]:
    """Write all files of a study and return its tables."""
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}; choose another --out") from None
    # The film first: if it cannot be made, nobody should wait for the rest.
    pictures = [film(choice, out)] if strip and choice is not None else []
    tables = every_table(study)
    written = set()
    for table in tables:
        for kind, form in FORMS.items():
            (out / f"{table.name}.{kind}").write_text(form(table))
            written.add(f"{table.name}.{kind}")
    drawn = draw(study, tables, out, watch)
    pictures += drawn
    write_tidy(study, out)
    if pdf:
        written.add(compile_pdf(tables, drawn, out).name)
    for variant in sorted({one.run.variant for one in choice.ranking} if choice else ()):
        name = f"teacher-{variant}.json"
        (out / name).write_text(_teacher(choose(study, variant)))
        written.add(name)
    _forget(out, {*written, *(name for one in pictures for name in one.files)})
    (out / "teacher.json").write_text(_teacher(choice))
    page = build(study, tables, pictures, reasons(choice), typed, out)
    (out / "report.html").write_text(page)
    return tables


def _forget(out: Path, written: set[str]) -> None:
    """Delete what an earlier call has written and this one has not: it is of other rows."""
    note = out / MADE
    try:
        before = set(json.loads(note.read_text()))
    except (OSError, ValueError):
        before = set()
    for name in before - written:
        if Path(name).name == name or Path(name).parent == Path("figures"):
            (out / name).unlink(missing_ok=True)
    note.write_text(json.dumps(sorted(written), indent=0) + "\n")


def film(choice: Choice, out: Path) -> Picture:
    """Let the best teacher carry one to five balls and take pictures, in a process of its own."""
    best = choice.best.run
    target = out / "figures" / "strip.png"
    words = ["-m", "s2m.replay", f"run={best.link}", "k=all", f"out={target}"]
    words += ["width=320", "height=240"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    if done.returncode or not target.exists():
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise UserError(f"--strip could not film {best.id}: {said[-1].removeprefix('error: ')}")
    return Picture(
        "strip",
        "The best teacher",
        f"Episodes of {best.name} with one (top) to five balls; time runs to the right.",
        "image/png",
        target.read_bytes(),
        ["figures/strip.png"],
        [best.id],
    )


def _whole(link: str) -> str:
    """Return where a run is so that it can be found from everywhere: a folder, or its page."""
    return str(Path(link).resolve()) if Path(link).is_dir() else link


def _teacher(choice: Choice | None) -> str:
    """Return a choice as JSON, as s2m.distill reads it."""
    return json.dumps(_told(choice), indent=1) + "\n"


def _told(choice: Choice | None) -> dict[str, object]:
    if choice is None:
        return {"run": None, "reasons": reasons(None)}
    best, teacher = choice.best, choice.teacher
    return {
        "run": teacher.id,
        "path": _whole(teacher.link),
        "signature": teacher.signature,
        "overridden": choice.instead is not None,
        "best": best.run.id,
        "k": choice.k,
        "selection_no_drop": best.no_drop.rate,
        "selection_strict": best.strict.rate,
        "reached_at": None if math.isinf(best.arrived) else best.arrived,
        "decided_by": choice.decided_by,
        "partial": list(choice.partial),
        "reasons": reasons(choice),
    }


def display(table: Table) -> Display:
    """Return a table for the terminal."""
    shown = Display(*(column.head.text for column in table.columns), box=None, title=table.title)
    for line in table.lines:
        shown.add_row(*(Text(one_line(cell.text)) for cell in line.cells))
    return shown


def describe_left_out(left_out: list[LeftOut]) -> list[str]:
    """Say which runs stay out and why, the first ones by name."""
    lines = [f"left out: {item.id}: {item.reason}" for item in left_out[:SHOWN]]
    if len(left_out) > SHOWN:
        lines.append(f"... and {len(left_out) - SHOWN} more: see left-out.md")
    return lines
