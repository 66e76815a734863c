"""The command that turns runs into tables, figures and a report.

python analysis/make_tables.py [--runs runs] [--out tables] [--experiment NAME] [--budget NAME]
                               [--teacher RUN] [--distill [SETTING ...]]

writes every table as .tex, .md and .csv, every figure as .pdf, .svg and .png, report.html with all
of them, and teacher.json with the best teacher. Runs that may not be compared are left out and
named. It reads run folders only: no torch, no simulator, no network. With --source wandb and
--project entity/name the runs come from Weights & Biases and give the same tables. With --distill
the best teacher, or that of --teacher, then teaches a tactile student, and the report shows both.
"""

import argparse
import json
import math
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import track
from rich.table import Table as Display
from rich.text import Text

from analysis.distill import distil, request
from analysis.figures.draw import render
from analysis.figures.every import every_figure
from analysis.frames import Frames, LeftOut
from analysis.report import Picture, build, picture
from analysis.sources import local
from analysis.study import Study, make_study, require_runs
from analysis.tables.every import every_table
from analysis.tables.model import Table
from analysis.tables.write import to_csv, to_latex, to_markdown
from analysis.teacher import Choice, choose, override, reasons
from s2m.console.errors import UserError
from s2m.console.text import harmless, one_line

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
    add("--runs", type=Path, default=Path("runs"), help="folder of all runs (default: runs)")
    add("--source", choices=["local", "wandb"], default="local", help="where runs are (local)")
    add("--project", metavar="ENTITY/NAME", help="W&B project, with --source wandb")
    add("--cache", type=Path, help="folder for what W&B sent (default: ~/.cache/s2m/wandb)")
    add("--out", type=Path, default=Path("tables"), help="folder to write to (default: tables)")
    add("--experiment", help="only the runs of this experiment (default: all)")
    add("--budget", help="only runs of this budget (default: the one with most finished runs)")
    add("--mix-code", action="store_true", help="compare runs of different code, too")
    add("--strip", action="store_true", help="also film the best teacher (needs torch and GL)")
    add("--teacher", metavar="RUN", help="let this run teach instead of the best one")
    add(
        "--distill", nargs="*", metavar="SETTING",
        help="distil a student from the teacher; settings of s2m.distill, e.g. cluster=slurm",
    )  # fmt: skip
    add(
        "--config-dir", metavar="DIR", type=Path, action="append", default=[],
        help="folder with the encoder of one's own that the teacher has",
    )  # fmt: skip
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """Make everything and say what was made, what is missing and what was left out."""
    chosen = options(words)
    console = Console(width=None if sys.stdout.isatty() else 140)

    def watch(items: Iterable[T], total: int, what: str = "reading runs") -> Iterator[T]:
        hidden = not console.is_terminal
        return iter(track(items, what, total, console=console, transient=True, disable=hidden))

    frames, place = _read(chosen, watch)
    study = make_study(frames, chosen.budget, chosen.mix_code)
    require_runs(study, place)
    choice = choose(study)
    if chosen.teacher is not None:
        choice = override(choice, study, chosen.teacher)
    wanted = chosen.distill is not None
    student = request(choice, chosen) if wanted and choice else None
    made = write(study, choice, chosen.out, command(words), strip=chosen.strip, watch=watch)
    console.print(display(made[0]))
    for line in map(harmless, reasons(choice)):
        console.print(line, highlight=False, markup=False)
    for line in map(one_line, describe_left_out(study.left_out)):
        console.print(line, highlight=False, markup=False, style="yellow", soft_wrap=True)
    console.print(f"Wrote {len(made)} tables and {chosen.out / 'report.html'}", highlight=False)
    return distil(student, choice, chosen) if wanted else 0


def _read(chosen: argparse.Namespace, watch: Callable) -> tuple[Frames, str]:
    """Return the runs of the chosen source, and the name of the place they come from."""
    if chosen.source == "local":
        if chosen.project:
            raise UserError(f"--project {chosen.project} needs --source wandb")
        return local.load(chosen.runs, chosen.experiment, watch), str(chosen.runs)
    if not chosen.project:
        raise UserError("--source wandb needs --project entity/name")
    if chosen.strip or chosen.distill is not None:
        option = "--strip" if chosen.strip else "--distill"
        raise UserError(f"{option} needs the checkpoints of run folders: leave out --source wandb")
    from analysis.sources import wandb

    frames = wandb.load(chosen.project, chosen.experiment, chosen.cache or wandb.CACHE, watch)
    return frames, chosen.project


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
) -> list[Table]:
    """Write all files of a study and return its tables."""
    try:
        (out / "figures").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot write to {out}: {error.strerror}; choose another --out") from None
    # The film first: if it cannot be made, nobody should wait for the rest.
    pictures = [film(choice, out)] if strip and choice is not None else []
    tables = every_table(study)
    for table in tables:
        (out / f"{table.name}.tex").write_text(to_latex(table))
        (out / f"{table.name}.md").write_text(to_markdown(table))
        (out / f"{table.name}.csv").write_text(to_csv(table))
    drawings = every_figure(study)
    for drawing in watch(drawings, len(drawings), "drawing"):
        files = render(drawing)
        for kind, data in files.items():
            (out / "figures" / f"{drawing.name}.{kind}").write_bytes(data)
        pictures.append(picture(drawing, files))
    (out / "teacher.json").write_text(json.dumps(_teacher(choice), indent=1) + "\n")
    page = build(study, tables, pictures, reasons(choice), typed, out)
    (out / "report.html").write_text(page)
    return tables


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


def _teacher(choice: Choice | None) -> dict[str, object]:
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
