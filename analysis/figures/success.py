"""The figure of success rates: every variant, one to five balls, strict / no-drop / fail."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.figures.draw import Drawing, new_figure, say
from analysis.study import Study

COLUMNS = 4
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


def success(study: Study) -> Drawing:
    """Return stacked bars over the pooled episodes, with the no-drop rate of each seed as a dot."""
    cohorts = list(study.cohorts.values())
    balls = range(1, study.top + 1)

    def paint() -> Figure:
        rows = -(-len(cohorts) // COLUMNS)
        figure, grid = new_figure(0.3 + 1.35 * rows, rows, COLUMNS, sharex=True, sharey=True)
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
        for axes in grid.flat[: len(cohorts)][-COLUMNS:]:  # the lowest of each column
            axes.set_xlabel("balls")
            axes.tick_params(labelbottom=True)
        grid[0, 0].set(ylim=(0, 100), xticks=list(balls))
        for axes in grid[:, 0]:
            axes.set_ylabel("episodes, %")
        figure.legend(handles=bar_handles(), loc="outside lower center", ncols=3)
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
