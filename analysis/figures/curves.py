"""Figures of training curves: promotion criteria, the slot shortcut, the symmetry gap."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from analysis.cohort import Cohort
from analysis.figures.draw import (
    EACH,
    MOST_LINES,
    Drawing,
    add_legend,
    is_narrow,
    iteration_axis,
    legend_label,
    new_figure,
    say,
)
from analysis.frames import SYMMETRY, Run
from analysis.measure import Metric
from analysis.study import Study
from s2m.config.curriculum import CRITERIA

THRESHOLD = "#D55E00"
EMPTY = "no values"
BROKEN = ", broken where a window had no value"
LEAST = 1e-10
"""Changes of the action below it are drawn as it: a logarithm has no zero."""
TITLES = {
    "length_ratio": "episode length / longest",
    "margin": "support margin",
    "dangerous": "fraction of dangerous steps",
    "edge": "fraction of steps with a ball outside",
    "linear_error": "velocity error, m/s",
    "yaw_error": "yaw rate error, rad/s",
}


def representative(cohort: Cohort) -> Run | None:
    """Return the run in the middle: by Kaplan-Meier to five balls, ties to the lower seed."""
    runs = [run for run in cohort.finished if len(run.curves.iteration)]

    def arrival(run: Run) -> tuple[float, int]:
        at = run.began(5)
        return (float("inf") if at is None else at), run.seed

    return sorted(runs, key=arrival)[len(runs) // 2] if runs else None


def threshold_steps(run: Run, name: str) -> tuple[list[float], list[float]]:
    """Return the threshold in force over iterations; it ends where the top level begins."""
    limit = run.config["curriculum"][name]
    start = int(run.config["curriculum"]["start"])
    begun = {start: 0, **run.levels}
    x, y = [], []
    for level, at in sorted(begun.items()):
        if isinstance(limit, list | tuple) and level > len(limit):
            break
        x.append(float(at))
        y.append(float(limit[level - 1] if isinstance(limit, list | tuple) else limit))
    top = run.levels.get(int(run.config["curriculum"]["stop"]))
    end = float(run.iteration if top is None else top)
    kept = [(a, b) for a, b in zip(x, y, strict=True) if a < end]
    if not kept:
        return [], []
    return [*(a for a, _ in kept), end], [*(b for _, b in kept), kept[-1][1]]


def criteria(study: Study) -> Drawing | None:
    """Return the six promotion criteria of a typical run of the baseline, and its promotions."""
    cohort = study.baseline
    run = representative(cohort)
    if run is None:
        return None

    def paint() -> Figure:
        rows = len(CRITERIA) if is_narrow() else len(CRITERIA) // 2
        figure, grid = new_figure(3.6, rows, len(CRITERIA) // rows, half=5.4, sharex=True)
        for axes, name in zip(grid.flat, CRITERIA, strict=True):
            axes.set_title(TITLES[name])
            if not _plot(axes, run, f"criteria/{name}", color=cohort.row.colour, lw=0.9):
                say(axes, EMPTY)
            axes.step(*threshold_steps(run, name), where="post", color=THRESHOLD, lw=0.9)
            for at in run.levels.values():
                axes.axvline(at, color="0.5", ls=":", lw=0.8)
        for axes in grid[-1]:
            iteration_axis(axes, max(study.budget, 1))
        return figure

    return Drawing(
        "criteria",
        "Promotion criteria",
        f"The six criteria of {run.name}, whose time to five balls is in the middle of the seeds "
        f"of {cohort.row.label}; a line is broken where a window had no value. Red: threshold of "
        "the level; dotted: promotions. All six must hold at once.",
        paint,
        [run.id],
    )


def diagnostic(study: Study) -> Drawing | None:
    """Return margin and episode length of the four cells of the 2 x 2, one column per setting."""
    square, signals = study.square, ("margin", "length_ratio")
    if square is None or not any(representative(cohort) for cohort in square.cohorts):
        return None

    def paint() -> Figure:
        figure, grid = new_figure(3.4, 2, 2, half=4.0, sharex=True, sharey="row")
        for i, column in enumerate(grid.T):
            column[0].set_title(square.second.words[i])
            for axes, signal in zip(column, signals, strict=True):
                drawn = [_trace(axes, pair[i], f"criteria/{signal}") for pair in square.cells]
                if not any(drawn):
                    say(axes, EMPTY)
                for pair in square.cells:
                    _limits(axes, pair[i], signal)
            iteration_axis(column[-1], max(study.budget, 1))
        for axes, signal in zip(grid[:, 0], signals, strict=True):
            axes.set_ylabel(TITLES[signal])
        for word, (cohort, _) in zip(square.first.words, square.cells, strict=True):
            grid[0, 0].plot([], [], color=cohort.row.colour, label=word)
        grid[0, 0].plot([], [], color="0.4", lw=0.9, ls=":", label="threshold in force")
        add_legend(figure, "outside lower center", 3)
        return figure

    return Drawing(
        "diagnostic",
        "Slot shortcut" if square.of_encoders else "Criteria in the 2 × 2",
        f"Two of the promotion criteria of {' and '.join(square.first.words)}; left "
        f"{square.second.words[0]}, right {square.second.words[1]}: {EACH} that is "
        f"finished{BROKEN}. Dotted: the threshold of the level that the run in "
        "the middle had. A run that keeps the episode length high but not the margin is stuck by "
        "the conjunction of criteria, not by dropping balls.",
        paint,
        [run.id for cohort in square.cohorts for run in cohort.finished],
    )


def _plot(axes: Axes, run: Run, metric: str, **style: Any) -> bool:
    """Draw a metric of a run, broken where it has no value; tell whether it has any."""
    values = run.curves.metrics.get(metric, np.empty(0))
    known = np.isfinite(values)
    if known.any():
        alone = known.sum() == 1
        axes.plot(run.curves.iteration, values, marker="." if alone else None, **style)
    return bool(known.any())


def _trace(axes: Axes, cohort: Cohort, metric: str) -> bool:
    """Draw a metric of the finished seeds and tell whether any of them has a value."""
    row, runs = cohort.row, cohort.finished[:MOST_LINES]
    look: dict[str, Any] = {"color": row.colour, "ls": row.dashes, "lw": 0.8, "alpha": 0.8}
    return any([_plot(axes, run, metric, **look) for run in runs])


def _limits(axes: Axes, cohort: Cohort, signal: str) -> None:
    """Draw the threshold that was in force for the run in the middle of a row."""
    run = representative(cohort)
    if run is not None:
        x, y = threshold_steps(run, signal)
        axes.step(x, y, where="post", color=cohort.row.colour, ls=":", lw=0.9)


def training(study: Study, metric: Metric) -> Drawing | None:
    """Return a metric of training over iterations: every row's median, range and runs."""
    cohorts = [cohort for cohort in study.cohorts.values() if cohort.runs]
    has = [run for one in cohorts for run in one.runs if len(run.curves.get(metric.column)[0])]
    if metric.of_episodes or not has:
        return None

    def paint() -> Figure:
        figure, ((axes,),) = new_figure(2.7)
        for cohort in cohorts:
            _median_curve(axes, cohort, metric.column, band=True)
        iteration_axis(axes, max(study.budget, 1))
        axes.set_ylabel(metric.column)
        add_legend(figure, "outside lower center", 3)
        return figure

    return Drawing(
        f"training-{metric.slug}",
        f"{metric.column} in training",
        f"{metric.column} over training. Thick: median of the finished seeds; band: their range; "
        f"thin: {EACH}{BROKEN if _has_windows(metric.column) else ''}.",
        paint,
        [run.id for run in has],
    )


def symmetry(study: Study) -> Drawing | None:
    """Return how much actions change under slot permutations, over training."""
    cohorts = list(study.cohorts.values())
    if not any(len(run.curves.get(SYMMETRY[1])[0]) for one in cohorts for run in one.runs):
        return None
    panels = {"symmetry/diag_mean": "all frames alike (G_diag)",
              "symmetry/frame_mean": "each frame by itself (G_frame)"}  # fmt: skip

    def paint() -> Figure:
        rows = 2 if is_narrow() else 1
        figure, panes = new_figure(2.7, rows, 2 // rows, 4.6, sharex=is_narrow(), sharey=True)
        grid = list(panes.flat)
        for axes, (metric, title) in zip(grid, panels.items(), strict=True):
            for cohort in cohorts:
                _median_curve(axes, cohort, metric, LEAST, axes is grid[0])
            axes.set_title(title)
            axes.set_yscale("log")
            # Plain labels: setting 10^-8 as mathematics takes a third of the time of this figure.
            axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.0e}"))
            axes.yaxis.set_minor_locator(NullLocator())
        for axes in panes[-1]:
            iteration_axis(axes, max(study.budget, 1))
        for axes in panes[:, 0]:
            axes.set_ylabel("mean change of the action")
        add_legend(figure, "outside lower center", 3)
        return figure

    return Drawing(
        "symmetry",
        "Symmetry gap",
        "Mean change of the action (12 numbers of order 1) when the slots are permuted, measured "
        "at checkpoints: how invariant a policy became, by construction or by learning. Thick: "
        f"median of the seeds; thin: {EACH}. 1e-7 is rounding; what is below {LEAST:g} is drawn "
        "there.",
        paint,
        [run.id for cohort in cohorts for run in cohort.runs],
    )


def _median_curve(
    axes: Axes,
    cohort: Cohort,
    metric: str,
    least: float = -np.inf,
    labelled: bool = True,
    band: bool = False,
) -> None:
    """Draw the median of the finished seeds, thinly every run, and perhaps the seeds' range."""
    style: dict[str, Any] = {"color": cohort.row.colour, "ls": cohort.row.dashes}
    curves = [_line(run, metric) for run in cohort.runs]
    curves = [(x, np.maximum(y, least)) for x, y in curves if len(x)]
    for x, y in curves[:MOST_LINES]:
        axes.plot(x, y, lw=0.5, alpha=0.4, **style)
    x, middle = np.empty(0), np.empty(0)
    done = [line for run in cohort.finished if len((line := _line(run, metric))[0])]
    if done:
        x = done[0][0]
        levels = np.array([np.interp(x, a, np.maximum(b, least)) for a, b in done])
        low, middle, high = _summary(levels)
        if band and len(levels) > 1:
            axes.fill_between(x, low, high, color=cohort.row.colour, alpha=0.12, lw=0)
    axes.plot(x, middle, lw=1.6, label=legend_label(cohort) if labelled else None, **style)


def _has_windows(metric: str) -> bool:
    """Tell whether a metric is of the window of a criterion: what it lacks, it really lacks.

    Others are measured now and then, such as the audits of checkpoints: lines join their values.
    """
    return metric.startswith("criteria/")


def _line(run: Run, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Return iterations and values to draw: with NaN where windows had no value, else without."""
    x, y = run.curves.get(metric)
    if len(x) and _has_windows(metric):
        return run.curves.iteration, run.curves.metrics[metric]
    return x, y


def _summary(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lowest, median and highest of (runs, places), where half of the runs have a value."""
    low, middle, high = np.full((3, levels.shape[1]), np.nan)
    enough = np.isfinite(levels).sum(axis=0) * 2 >= len(levels)
    known = levels[:, enough]
    if enough.any():
        low[enough], high[enough] = np.nanmin(known, axis=0), np.nanmax(known, axis=0)
        middle[enough] = np.nanmedian(known, axis=0)
    return low, middle, high
