"""The figure of success rates: every variant, one to five balls, strict / no-drop / fail."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.figures.draw import Drawing, add_legend, count_of, is_narrow, new_figure, say
from analysis.stats.resampling import profile
from analysis.study import Study

COLUMNS = 4
LIMITS = np.linspace(0, 1, 101)
STRICT, NO_DROP, FAIL = "#0072B2", "#E69F00", "#D55E00"
# Hatches for whoever sees no colours, or prints without.
PARTS = (("strict", STRICT, ""), ("no-drop, not strict", NO_DROP, "///"), ("fail", FAIL, "xxx"))


def draw_bar(axes: Axes, k: int, strict: float, kept: float) -> None:
    """Draw one bar of three parts: the shares of strict, of no-drop and of failed episodes."""
    base = 0.0
    for height, (_, colour, hatch) in zip((strict, kept - strict, 1 - kept), PARTS, strict=True):
        axes.bar(
            k, 100 * height, 0.78, 100 * base, color=colour, hatch=hatch, edgecolor="white", lw=0.4
        )
        base += height


def bar_handles() -> list[Patch]:
    """Return what a legend shows of the parts of a bar."""
    return [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=label)
        for label, colour, hatch in PARTS
    ]


def success(study: Study) -> Drawing | None:
    """Return stacked bars over the pooled episodes, with the no-drop rate of each seed as a dot."""
    cohorts = list(study.cohorts.values())
    if not any(cohort.evaluated for cohort in cohorts):
        return None
    balls = range(1, study.top + 1)

    def paint() -> Figure:
        columns = COLUMNS // 2 if is_narrow() else COLUMNS
        rows = -(-len(cohorts) // columns)
        high = 0.3 + 1.35 * rows
        figure, grid = new_figure(high, rows, columns, 0.5 + rows, sharex=True, sharey=True)
        for axes, cohort in zip(grid.flat, cohorts, strict=False):
            axes.set_title(cohort.row.label)
            axes.grid(visible=False)
            for k in balls:
                strict = cohort.pooled(k, "strict")
                if not strict.n:
                    continue
                draw_bar(axes, k, strict.rate, cohort.pooled(k, "no_drop").rate)
                seeds = cohort.counts(k, "no_drop")
                if len(seeds) > 1:
                    axes.plot(
                        [k] * len(seeds), [100 * c.rate for c in seeds], "o", color="black", ms=1.8,
                        clip_on=False,
                    )  # fmt: skip
            if not cohort.evaluated:
                say(axes, f"evaluation {cohort.unjudged}" if cohort.finished else cohort.missing)
        for axes in grid.flat[len(cohorts) :]:
            axes.set_visible(False)
        for axes in grid.flat[: len(cohorts)][-columns:]:  # the lowest of each column
            axes.set_xlabel("balls")
            axes.tick_params(labelbottom=True)
        grid[0, 0].set(ylim=(0, 100), xticks=list(balls))
        for axes in grid[:, 0]:
            axes.set_ylabel("episodes, %")
        add_legend(figure, "outside lower center", 3, handles=bar_handles())
        return figure

    return Drawing(
        "success",
        "Success rates",
        "Success for one to five balls, over the pooled episodes of all evaluated seeds. Blue: "
        "never near the edge (strict); orange: nothing dropped, but near the edge; red: failed. "
        "Dots: no-drop rate of each seed.",
        paint,
        [run.id for cohort in cohorts for run in cohort.evaluated],
    )


def profiles(study: Study) -> Drawing | None:
    """Return performance profiles: the fraction of seeds and levels above each no-drop rate."""
    balls = range(1, study.top + 1)
    found = {}
    for cohort in study.cohorts.values():
        runs = [run for run in cohort.evaluated if run.rates.keys() >= set(balls)]
        rates = [[run.rates[k].count("no_drop").rate for k in balls] for run in runs]
        if len(rates) > 1:
            found[cohort.row] = profile(np.array(rates), LIMITS), [run.id for run in runs]
    if not found:
        return None

    def paint() -> Figure:
        figure, ((axes,),) = new_figure(2.7, half=3.0)
        for row, ((middle, low, high), names) in found.items():
            label = f"{row.label} ({count_of(names)})"
            axes.fill_between(100 * LIMITS, low, high, color=row.colour, alpha=0.12, lw=0)
            axes.step(100 * LIMITS, middle, color=row.colour, ls=row.dashes, label=label)
        axes.set(xlabel="no-drop rate τ, %", ylabel="fraction with a rate above τ")
        axes.set(xlim=(50, 100), ylim=(-0.02, 1.02))
        add_legend(figure, "outside right upper")
        return figure

    return Drawing(
        "profiles",
        "Performance profiles",
        f"Fraction of seeds and numbers of balls (1 to {study.top}) with a no-drop rate above τ: a "
        "higher curve is better at every standard. Bands: 95% bootstrap, runs drawn with "
        "replacement for each number of balls.",
        paint,
        [name for _, names in found.values() for name in names],
    )
