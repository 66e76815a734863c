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
    iteration_axis,
    legend_label,
    new_figure,
    say,
)
from analysis.frames import Run
from analysis.paper import published
from analysis.study import Study
from s2m.config.curriculum import CRITERIA

THRESHOLD = "#D55E00"
EMPTY = "no values"
LEAST = 1e-10
"""Changes of the action below it are drawn as it: a logarithm has no zero."""
TITLES = {
    "length_ratio": "episode length / longest",
    "margin": "support margin",
    "dangerous": "part of dangerous steps",
    "edge": "part of steps with a ball outside",
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


def criteria(study: Study) -> Drawing:
    """Return the six promotion criteria of a typical run of PFDS with thresholds and promotions."""
    cohort = study.cohorts[published()["seeds"]["variant"]]
    run = representative(cohort)

    def paint() -> Figure:
        figure, grid = new_figure(3.6, 3, 2, sharex=True)
        for axes, name in zip(grid.flat, CRITERIA, strict=True):
            axes.set_title(TITLES[name])
            if run is None:
                say(axes, cohort.missing)
                continue
            if not _plot(axes, run, f"criteria/{name}", color=cohort.row.colour, lw=0.9):
                say(axes, EMPTY)
            axes.step(*threshold_steps(run, name), where="post", color=THRESHOLD, ls="--", lw=1.0)
            for at in run.levels.values():
                axes.axvline(at, color="0.5", ls=":", lw=0.8)
        for axes in grid[-1]:
            iteration_axis(axes, max(study.budget, 1))
        return figure

    who = f"the run {run.name}" if run else "a run (none is finished)"
    return Drawing(
        "criteria",
        "Promotion criteria",
        f"The six criteria of {who} of PFDS, whose time to five balls is the median of its seeds. "
        "Dashed: threshold of the level; dotted: promotions. All six must hold at once.",
        paint,
        [run.id] if run else [],
    )


def diagnostic(study: Study) -> Drawing:
    """Return margin and episode length of DSHC and PFDS, with and without permutation."""
    signals = ("margin", "length_ratio")
    columns = {"permuted": ("dshc", "pfds"), "not permuted": ("dshc_off", "pfds_off")}
    cohorts = [study.cohorts[variant] for pair in columns.values() for variant in pair]

    def paint() -> Figure:
        figure, grid = new_figure(3.4, 2, 2, sharex=True, sharey="row")
        for (title, pair), column in zip(columns.items(), grid.T, strict=True):
            column[0].set_title(f"slots {title}")
            for axes, signal in zip(column, signals, strict=True):
                # Dashes tell the encoder here, as in the paper: each panel has one setting.
                drawn = [
                    _trace(axes, cohort, f"criteria/{signal}", style)
                    for cohort, style in zip(map(study.cohorts.get, pair), ("--", "-"), strict=True)
                    if cohort is not None
                ]
                if not any(drawn):
                    say(axes, EMPTY)
                _limits(axes, study, signal)
            iteration_axis(column[-1], max(study.budget, 1))
        for axes, signal in zip(grid[:, 0], signals, strict=True):
            axes.set_ylabel(TITLES[signal])
        for variant in columns["permuted"]:
            style = "--" if variant == "dshc" else "-"
            row = study.cohorts[variant].row
            grid[0, 0].plot([], [], color=row.colour, ls=style, label=row.label)
        grid[0, 0].plot([], [], color="0.4", lw=0.8, ls=":", label="thresholds k → k+1")
        figure.legend(loc="outside lower center", ncols=3)
        return figure

    return Drawing(
        "diagnostic",
        "Slot shortcut",
        "Two of the promotion criteria of DSHC (dashed) and PFDS (solid), with slots permuted and "
        f"not: {EACH} that is finished. A run that keeps the episode length high but not the "
        "margin is stuck by the conjunction of criteria, not by dropping balls.",
        paint,
        [run.id for cohort in cohorts for run in cohort.finished],
    )


def _plot(axes: Axes, run: Run, metric: str, **style: Any) -> bool:
    """Draw a metric of a run and tell whether it has any value."""
    x, y = run.curves.get(metric)
    axes.plot(x, y, marker="." if len(x) == 1 else None, **style)
    return len(x) > 0


def _trace(axes: Axes, cohort: Cohort, metric: str, style: str) -> bool:
    """Draw a metric of the finished seeds and tell whether any of them has a value."""
    runs = cohort.finished[:MOST_LINES]
    look: dict[str, Any] = {"color": cohort.row.colour, "ls": style, "lw": 0.8, "alpha": 0.8}
    return any([_plot(axes, run, metric, **look) for run in runs])


def _limits(axes: Axes, study: Study, signal: str) -> None:
    """Draw the thresholds of a signal, each with the level it leads from."""
    limit = study.config["curriculum"][signal] if study.config else []
    values = limit if isinstance(limit, list | tuple) else [limit]
    for value in sorted(set(values)):
        axes.axhline(value, color="0.4", lw=0.7, ls=":")
        levels = [k for k, other in enumerate(values, start=1) if other == value]
        if len(levels) == 1 and len(values) > 1:
            name = f"{levels[0]}→{levels[0] + 1}"
            axes.annotate(
                name, (1.0, value), xycoords=("axes fraction", "data"), xytext=(2, 0),
                textcoords="offset points", va="center", fontsize=5.5, color="0.4",
                annotation_clip=False,
            )  # fmt: skip


def symmetry(study: Study) -> Drawing:
    """Return how much actions change under slot permutations, over training."""
    cohorts = list(study.cohorts.values())
    panels = {"symmetry/diag_mean": "all frames alike (G_diag)",
              "symmetry/frame_mean": "each frame by itself (G_frame)"}  # fmt: skip

    def paint() -> Figure:
        figure, (grid,) = new_figure(2.7, columns=2, sharey=True)
        for axes, (metric, title) in zip(grid, panels.items(), strict=True):
            for cohort in cohorts:
                _median_curve(axes, cohort, metric, axes is grid[0])
            axes.set_title(title)
            axes.set_yscale("log")
            # Plain labels: setting 10^-8 as mathematics takes a third of the time of this figure.
            axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:.0e}"))
            axes.yaxis.set_minor_locator(NullLocator())
            iteration_axis(axes, max(study.budget, 1))
        grid[0].set_ylabel("mean change of the action")
        figure.legend(loc="outside lower center", ncols=3)
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


def _median_curve(axes: Axes, cohort: Cohort, metric: str, labelled: bool) -> None:
    style: dict[str, Any] = {"color": cohort.row.colour, "ls": cohort.row.dashes}
    curves = [run.curves.get(metric) for run in cohort.runs]
    curves = [(x, np.maximum(y, LEAST)) for x, y in curves if len(x)]
    for x, y in curves[:MOST_LINES]:
        axes.plot(x, y, lw=0.5, alpha=0.4, **style)
    x, middle = np.empty(0), np.empty(0)
    done = [run.curves.get(metric) for run in cohort.finished if len(run.curves.get(metric)[0])]
    if done:
        x = done[0][0]
        middle = np.median([np.interp(x, a, np.maximum(b, LEAST)) for a, b in done], axis=0)
    axes.plot(x, middle, lw=1.6, label=legend_label(cohort) if labelled else None, **style)
