"""The figures of a study on disk: painted once, and again when what they show has changed."""

import gc
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from analysis.report import Picture, figure_file, picture
from analysis.study import Study
from analysis.tables.model import Table
from analysis.tables.write import to_csv, to_markdown

CODE = Path(__file__).parents[1]
STAMP = "drawn.json"
KINDS = ("pdf", "svg", "png", "half")


def draw(study: Study, tables: Sequence[Table], out: Path, watch: Callable) -> list[Picture]:
    """Write all figures as PDF of two widths, SVG and PNG; those of an unchanged study are kept."""
    stamp = out / "figures" / STAMP
    mark = _mark(study, tables)
    if (found := _read_back(stamp, mark, out)) is not None:
        return found
    # Matplotlib is imported only where something is drawn: half of a second call would be that.
    from analysis.figures.draw import render, render_half
    from analysis.figures.every import every_figure

    stamp.unlink(missing_ok=True)
    drawings, pictures = every_figure(study), []
    with _only_figures_collected():
        for drawing in watch(drawings, len(drawings), "drawing"):
            files = render(drawing) | {"half": render_half(drawing)}
            for kind, data in files.items():
                (out / figure_file(drawing.name, kind)).write_bytes(data)
            pictures.append(picture(drawing, files))
    sums = {name: _sum((out / name).read_bytes()) for one in pictures for name in one.files}
    said = [
        {"name": p.name, "title": p.title, "caption": p.caption, "runs": list(p.runs)}
        for p in pictures
    ]
    stamp.write_text(json.dumps({"mark": mark, "files": sums, "figures": said}) + "\n")
    return pictures


@contextmanager
def _only_figures_collected() -> Iterator[None]:
    """Let the garbage collector look at what figures leave behind, and not at all the rest.

    Figures are full of cycles, so it runs often; modules and the study would be searched each time.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _read_back(stamp: Path, mark: str, out: Path) -> list[Picture] | None:
    """Return the pictures on disk if they show the same and nobody has touched them."""
    try:
        kept: dict[str, Any] = json.loads(stamp.read_text())
        if kept["mark"] != mark:
            return None
        if any(_sum((out / name).read_bytes()) != found for name, found in kept["files"].items()):
            return None
        return [
            Picture(
                one["name"], one["title"], one["caption"], "image/svg+xml",
                (out / "figures" / f"{one['name']}.svg").read_bytes(),
                [figure_file(one["name"], kind) for kind in KINDS], one["runs"],
            )
            for one in kept["figures"]
        ]  # fmt: skip
    except (OSError, ValueError, KeyError):
        return None


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _mark(study: Study, tables: Sequence[Table]) -> str:
    """Return a digest of all that figures depend on: runs, settings, code and libraries."""
    found = hashlib.sha256()
    for table in tables:
        found.update(f"{to_csv(table)}\0{to_markdown(table)}\0".encode())
    for cohort in study.every.values():
        found.update(f"{cohort.row}\0{study.against}\0".encode())
    for run in study.runs:
        found.update(
            f"{run.id} {run.state} {run.iteration} {sorted(run.levels.items())}\0".encode()
        )
        found.update(run.curves.iteration.tobytes())
        for name, values in sorted(run.curves.metrics.items()):
            found.update(name.encode() + values.tobytes())
    for student in study.students:
        found.update(f"{student.id} {student.rounds}\0".encode())
    for one in (*study.runs, *study.students):
        found.update(json.dumps(one.config, sort_keys=True, default=str).encode())
    for file in sorted([*CODE.rglob("*.py"), *CODE.rglob("*.mplstyle"), *CODE.rglob("*.yaml")]):
        found.update(file.read_bytes())
    found.update(f"{version('matplotlib')} {version('numpy')} {sys.version}".encode())
    return found.hexdigest()
