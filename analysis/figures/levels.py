"""Figures of the curriculum: progression, 2 x 2 ablation, seed band, survival."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from analysis.cohort import Cohort
from analysis.figures.draw import (
    EACH,
    Drawing,
    add_legend,
    draw_runs,
    iteration_axis,
    legend_label,
    level_axis,
    level_grid,
    new_figure,
)
from analysis.stats.survival import kaplan_meier
from analysis.study import Study

SHIFTED = "Curves are shifted slightly, so that equal ones lie side by side."


def _names(cohorts: list[Cohort]) -> list[str]:
    return [run.id for cohort in cohorts for run in cohort.runs]


def _side_by_side(cohorts: list[Cohort], gap: float) -> list[tuple[Cohort, float]]:
    """Return each row with how far up its curve is drawn, so that equal ones lie side by side.

    Rows without a run have a place in the legend only.
    """
    drawn = [cohort for cohort in cohorts if cohort.runs]
    middle = (len(drawn) - 1) / 2
    shifts = {cohort.row: gap * (i - middle) for i, cohort in enumerate(drawn)}
    return [(cohort, shifts.get(cohort.row, 0.0)) for cohort in cohorts]


def _paint_levels(
    study: Study, cohorts: list[Cohort], height: float, middle: Callable[[np.ndarray], np.ndarray]
) -> Figure:
    """Draw the level over iterations: thick the middle of the finished seeds, thin the runs."""
    figure, ((axes,),) = new_figure(height)
    for cohort, shift in _side_by_side(cohorts, 0.04):
        draw_runs(axes, cohort, shift)
        x, y = [], []
        if cohort.finished:
            x, levels = level_grid(cohort.finished, study.budget)
            y = middle(levels) + shift
        axes.step(
            x, y, where="post", color=cohort.row.colour, ls=cohort.row.dashes, lw=1.4,
            label=legend_label(cohort),
        )  # fmt: skip
    iteration_axis(axes, study.budget)
    level_axis(axes, study)
    add_legend(figure, "outside right upper")
    return figure


def progression(study: Study) -> Drawing:
    """Return the level over iterations of all variants: the median of the seeds, thin each seed."""
    cohorts = list(study.cohorts.values())

    def paint() -> Figure:
        return _paint_levels(
            study, cohorts, 2.9, lambda levels: np.percentile(levels, 50, axis=0, method="lower")
        )

    return Drawing(
        "progression",
        "Curriculum progression",
        f"Active balls over training. Thick: median of the finished seeds; thin: {EACH} (arrow: "
        f"still running, cross: failed). {SHIFTED}",
        paint,
        _names(cohorts),
    )


def ablation(study: Study) -> Drawing | None:
    """Return the mean level of the four cells of the 2 x 2."""
    if study.square is None:
        return None
    cohorts = study.square.cohorts
    what = "Encoder and slot permutation (dashed: off)"
    if not study.square.of_encoders:
        what = f"{study.square.first.name} and {study.square.second.name}"

    def paint() -> Figure:
        return _paint_levels(study, cohorts, 2.6, lambda levels: levels.mean(axis=0))

    return Drawing(
        "ablation",
        "2 × 2 ablation",
        f"{what}. Thick: mean level of the finished seeds; thin: {EACH}. {SHIFTED}",
        paint,
        _names(cohorts),
    )


def seed_band(study: Study) -> Drawing | None:
    """Return mean, one standard deviation and range of the level over the baseline's seeds."""
    cohort = study.baseline
    if not cohort.finished:
        return None

    def paint() -> Figure:
        figure, ((axes,),) = new_figure(2.4)
        iteration_axis(axes, max(study.budget, 1))
        level_axis(axes, study)
        x, levels = level_grid(cohort.finished, study.budget)
        mean, colour = levels.mean(axis=0), cohort.row.colour
        axes.fill_between(
            x, levels.min(axis=0), levels.max(axis=0), step="post", color=colour, alpha=0.12, lw=0,
            label="range",
        )  # fmt: skip
        if len(levels) > 1:
            spread = levels.std(axis=0, ddof=1)
            axes.fill_between(
                x, mean - spread, mean + spread, step="post", color=colour, alpha=0.3, lw=0,
                label="mean ± 1σ",
            )  # fmt: skip
        axes.step(x, mean, where="post", color=colour, lw=1.8, label=f"mean, n = {len(levels)}")
        axes.legend(loc="lower right")
        return figure

    return Drawing(
        "seeds",
        f"Seeds of {cohort.row.label}",
        "Mean level over seeds, ± 1 standard deviation and the full range. The deviation may leave "
        "the possible levels; the range cannot.",
        paint,
        _names([cohort]),
    )


def survival(study: Study) -> Drawing:
    """Return Kaplan-Meier curves: which fraction of the runs has reached 3 and 5 balls."""
    cohorts = list(study.cohorts.values())

    def paint() -> Figure:
        figure, (panels,) = new_figure(2.6, columns=2, sharey=True)
        for axes, k in zip(panels, (3, 5), strict=True):
            for cohort, shift in _side_by_side(cohorts, 0.006):
                times, x, y = cohort.times(k), [], []
                if times:
                    curve = kaplan_meier(times)
                    x = [0.0, *curve.iteration, float(study.budget)]
                    y = [0.0, *(1 - share for share in curve.share)]
                    y = [value + shift for value in [*y, y[-1]]]
                axes.step(
                    x, y, where="post", color=cohort.row.colour, ls=cohort.row.dashes, lw=1.5,
                    label=legend_label(cohort) if k == 3 else None,
                )  # fmt: skip
                censored = [t.iteration for t in times if not t.reached]
                if censored:
                    axes.plot(
                        censored[:1], y[-1:], "|", color=cohort.row.colour, ms=7, clip_on=False
                    )
            iteration_axis(axes, study.budget)
            axes.set_title(f"reached {k} balls")
            axes.set_ylim(-0.04, 1.04)
        panels[0].set_ylabel("fraction of the runs")
        add_legend(figure, "outside lower center", 3)
        return figure

    return Drawing(
        "survival",
        "Time to a level",
        "Fraction of the finished runs that have reached 3 and 5 balls (Kaplan-Meier). A tick at "
        f"the end: some runs had not arrived when their budget was spent. {SHIFTED}",
        paint,
        [run.id for cohort in cohorts for run in cohort.finished],
    )
