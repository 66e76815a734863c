"""What all figures share: the style, empty panels, level curves, and writing them to files."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analysis.cohort import Cohort
from analysis.frames import POINTS, Run
from analysis.study import Study
from analysis.tables.formats import THOUSANDS

STYLE = Path(__file__).parent / "s2m.mplstyle"
WIDTH = 5.5
"""Text width of the paper, inches."""
MOST_LINES = 20
"""Runs of a row that are drawn one by one: more would hide everything else."""
EACH = f"each run (at most {MOST_LINES} of a row)"
PNG_DPI = 200
# Without dates and program versions the same input gives the same file.
_METADATA = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}


@dataclass(frozen=True)
class Drawing:
    """A figure with its name, its caption and the runs it shows."""

    name: str
    title: str
    caption: str
    paint: Callable[[], Figure]
    runs: Sequence[str] = ()


def render(drawing: Drawing) -> dict[str, bytes]:
    """Paint a figure and return its files by format."""
    with matplotlib.rc_context(fname=STYLE):
        figure = drawing.paint()
        # savefig would solve the layout and draw twice for each format: nearly all of the time.
        engine = figure.get_layout_engine()
        if engine is not None:
            engine.execute(figure)
        figure.set_layout_engine("none")
        pdf, svg, png = (io.BytesIO() for _ in range(3))
        FigureCanvasPdf(figure).print_pdf(pdf, metadata=_METADATA["pdf"])
        said = {"Title": drawing.title, "Description": drawing.caption}
        FigureCanvasSVG(figure).print_svg(svg, metadata=_METADATA["svg"] | said)
        figure.set_dpi(PNG_DPI)
        FigureCanvasAgg(figure).print_png(png, metadata=_METADATA["png"])
    return {"pdf": pdf.getvalue(), "svg": svg.getvalue(), "png": png.getvalue()}


def new_figure(
    height: float, rows: int = 1, columns: int = 1, **shared: Any
) -> tuple[Figure, np.ndarray]:
    """Return a figure of the text width and its axes as an array (rows, columns)."""
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    return figure, axes


def say(axes: Axes, text: str) -> None:
    """Write into a panel why it is empty."""
    place: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    axes.text(0.5, 0.5, text, color="0.45", style="italic", **place)


def iteration_axis(axes: Axes, budget: int) -> None:
    """Label an axis of iterations from 0 to the budget, in thousands where they are many."""
    axes.set_xlim(0, budget)
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.set_xlabel("iteration")
    if budget >= THOUSANDS:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}k" if x else "0"))


def level_axis(axes: Axes, study: Study) -> None:
    """Label an axis of ball counts."""
    axes.set_ylim(0.7, study.top + 0.3)
    axes.set_yticks(range(1, study.top + 1))
    axes.set_ylabel("balls")


def level_curve(run: Run) -> tuple[list[float], list[float]]:
    """Return the steps of a run's level from its start to its last iteration."""
    start = int(run.config["curriculum"]["start"])
    x, y = [0.0], [float(start)]
    for level, at in sorted(run.levels.items()):
        x.append(float(at))
        y.append(float(level))
    return [*x, float(run.iteration)], [*y, y[-1]]


def level_grid(runs: Sequence[Run], budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the iterations at which some run changes, and the levels (runs, iterations).

    Of very many changes as many are taken as a figure can show, evenly and with both ends.
    """
    at = np.unique([0.0, budget, *(i for run in runs for i in run.levels.values())])
    if len(at) > POINTS:
        at = at[np.linspace(0, len(at) - 1, POINTS).astype(int)]
    levels = []
    for x, y in map(level_curve, runs):
        levels.append(np.array(y)[np.searchsorted(x[:-1], at, side="right") - 1])
    return at, np.array(levels)


def draw_runs(axes: Axes, cohort: Cohort, shift: float = 0.0) -> None:
    """Draw every run thinly; an arrow ends a running one, a cross a failed one."""
    colour, style = cohort.row.colour, cohort.row.dashes
    for run in cohort.runs[:MOST_LINES]:
        x, y = level_curve(run)
        lifted = [level + shift for level in y]
        axes.step(x, lifted, where="post", color=colour, ls=style, lw=0.6, alpha=0.5)
        mark = {"running": ">", "failed": "x"}.get(run.state)
        if mark:
            axes.plot(x[-1], lifted[-1], mark, color=colour, ms=4, mew=1)


def legend_label(cohort: Cohort) -> str:
    """Return the name of a variant and how many of its runs are finished."""
    if not cohort.finished:
        return f"{cohort.row.label}: {cohort.missing}"
    return f"{cohort.row.label} (n = {len(cohort.finished)})"
