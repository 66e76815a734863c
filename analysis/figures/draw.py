"""What all figures share: two widths, empty panels, level curves, and writing them to files.

A figure is painted at the width of the style in force: that of the text, or half of it.
"""

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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
from analysis.figures.fonts import lean_fonts
from analysis.frames import POINTS, Run
from analysis.study import Study
from analysis.tables.formats import THOUSANDS

STYLE = Path(__file__).parent / "s2m.mplstyle"
HALF = Path(__file__).parent / "s2m-half.mplstyle"
"""What differs at half of the text width."""
NARROW = 4.0
"""Inches below which panels stand below each other and legends below the panels."""
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
    """Paint a figure at full width and return its files by format."""
    with matplotlib.rc_context(fname=STYLE):
        figure = _laid_out(drawing)
        svg, png = io.BytesIO(), io.BytesIO()
        pdf = _pdf(figure)
        said = {"Title": drawing.title, "Description": drawing.caption}
        FigureCanvasSVG(figure).print_svg(svg, metadata=_METADATA["svg"] | said)
        figure.set_dpi(PNG_DPI)
        FigureCanvasAgg(figure).print_png(png, metadata=_METADATA["png"])
    return {"pdf": pdf, "svg": svg.getvalue(), "png": png.getvalue()}


def render_half(drawing: Drawing) -> bytes:
    """Paint a figure at half of the text width and return it as PDF, as a paper takes it."""
    with half_width():
        return _pdf(_laid_out(drawing))


def _pdf(figure: Figure) -> bytes:
    pdf = io.BytesIO()
    with lean_fonts():
        FigureCanvasPdf(figure).print_pdf(pdf, metadata=_METADATA["pdf"])
    return pdf.getvalue()


@contextmanager
def half_width() -> Iterator[None]:
    """Put the style of half of the text width in force."""
    changed = matplotlib.rc_params_from_file(HALF, use_default_template=False)
    with matplotlib.rc_context(changed, STYLE):
        yield


def _laid_out(drawing: Drawing) -> Figure:
    """Paint a figure and solve its layout.

    savefig would solve the layout and draw twice for each format: nearly all of the time.
    """
    figure = drawing.paint()
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    figure.set_layout_engine("none")
    return figure


def is_narrow() -> bool:
    """Tell whether the style in force has half of the text width."""
    return matplotlib.rcParams["figure.figsize"][0] < NARROW


def new_figure(
    height: float, rows: int = 1, columns: int = 1, half: float | None = None, **shared: Any
) -> tuple[Figure, np.ndarray]:
    """Return a figure of the style's width and its axes as an array (rows, columns).

    Its height at half width is `half`, or the same.
    """
    if half is not None and is_narrow():
        height = half
    figure = Figure(figsize=(matplotlib.rcParams["figure.figsize"][0], height))
    axes = figure.subplots(rows, columns, squeeze=False, **shared)
    return figure, axes


def add_legend(figure: Figure, place: str, columns: int = 1, **options: Any) -> None:
    """Put a legend outside of the panels; at half width below them, in two columns if they fit."""
    options |= {"loc": place, "ncols": columns}
    if not is_narrow():
        figure.legend(**options)
        return
    options |= {"loc": "outside lower center", "ncols": 2}
    legend = figure.legend(**options)
    if legend.get_window_extent().width > 0.98 * figure.bbox.width:
        legend.remove()
        figure.legend(**options | {"ncols": 1})


def leading(study: Study) -> Cohort | None:
    """Return the row whose settings a figure names: the baseline, or the first that has runs."""
    return next((c for c in (study.baseline, *study.cohorts.values()) if c.runs), None)


def say(axes: Axes, text: str) -> None:
    """Write into a panel why it is empty."""
    place: dict[str, Any] = {"transform": axes.transAxes, "ha": "center", "va": "center"}
    axes.text(0.5, 0.5, text, color="0.45", style="italic", **place)


def iteration_axis(axes: Axes, budget: int) -> None:
    """Label an axis of iterations from 0 to the budget, in thousands where they are many."""
    axes.set_xlim(0, budget)
    axes.xaxis.set_major_locator(MaxNLocator(3 if is_narrow() else 5, integer=True))
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
    return f"{cohort.row.label} ({count_of(cohort.finished)})"


def count_of(items: Sequence[Any]) -> str:
    """Return a number of runs for a legend, in as little space as there is."""
    return f"n={len(items)}" if is_narrow() else f"n = {len(items)}"
