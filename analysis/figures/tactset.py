"""Figures of the tactile student: beside its teacher, and round by round."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures.draw import Drawing, add_legend, is_narrow, new_figure, say
from analysis.figures.success import bar_handles, draw_bar
from analysis.frames import StudentRun
from analysis.paper import published
from analysis.study import Study
from analysis.teacher import choose
from s2m.run.rates import Count, wilson

COLOURS = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")
"""Of one to five balls."""


def shown(study: Study) -> StudentRun | None:
    """Return the student to show: of the best teacher if there is one, evaluated if there is."""
    choice = choose(study)
    best = choice.best.run.signature if choice else ""

    def rank(student: StudentRun) -> tuple[bool, bool, int]:
        return student.taught_by == best, student.evaluation is not None, len(student.rounds)

    return max(study.students, key=rank, default=None)


def _runs(study: Study, student: StudentRun | None) -> list[str]:
    return [student.id, study.teacher_of(student).id] if student else []


def _whiskers(axes: Axes, x: Sequence[float], counts: Sequence[Count], **style: Any) -> None:
    """Draw rates with their Wilson intervals."""
    ends = [wilson(count) for count in counts]
    y = [100 * count.rate for count in counts]
    below = [100 * (c.rate - e.low) for c, e in zip(counts, ends, strict=True)]
    above = [100 * (e.high - c.rate) for c, e in zip(counts, ends, strict=True)]
    axes.errorbar(x, y, [below, above], capsize=1.5, elinewidth=0.7, **style)


def tactset(study: Study) -> Drawing | None:
    """Return the bars of student and teacher for one to five balls."""
    student = shown(study)
    if student is None:
        return None

    def paint() -> Figure:
        rows = 2 if is_narrow() else 1
        figure, grid = new_figure(2.3, rows, 2 // rows, half=3.8, sharey=True)
        panels = list(grid.flat)
        teacher = study.teacher_of(student)
        parts = {"teacher": teacher, "student": student}
        for axes, (who, run) in zip(panels, parts.items(), strict=True):
            axes.set_title(f"{who}: {run.name}")
            axes.set(xlabel="balls", xticks=range(1, study.top + 1), ylim=(0, 100))
            axes.grid(visible=False)
            if run.evaluation is None:
                say(axes, f"evaluation {run.missing}")
                continue
            for k, rates in run.rates.items():
                draw_bar(axes, k, rates.count("strict").rate, rates.count("no_drop").rate)
            kept = [rates.count("no_drop") for rates in run.rates.values()]
            _whiskers(axes, list(run.rates), kept, fmt="none", ecolor="black")
        theirs = published()["tactset"]
        panels[1].plot(
            list(theirs), [rates["no_drop"] for rates in theirs.values()], "D", color="black",
            ms=4, mfc="white", clip_on=False, label="paper, no-drop",
        )  # fmt: skip
        for axes in grid[:, 0]:
            axes.set_ylabel("episodes, %")
        handles = [*bar_handles(), *panels[1].get_legend_handles_labels()[0]]
        add_legend(figure, "outside lower center", 4, handles=handles)
        return figure

    return Drawing(
        "tactset",
        "TactSet beside its teacher",
        "Success of the teacher, which sees the balls, and of the student, which feels them, from "
        "the same starts. Blue: never near the edge (strict); orange: nothing dropped, but near "
        "the edge; red: failed. Whiskers: 95% Wilson interval of no-drop over the episodes of this "
        "one policy. Diamonds: no-drop rates that the paper gives for its student.",
        paint,
        _runs(study, student),
    )


def rounds(study: Study) -> Drawing | None:
    """Return no-drop rates after behaviour cloning and after each round of DAgger."""
    student = shown(study)
    if student is None or not student.rounds:
        return None
    n = int(student.config["distill"]["round_episodes"])

    def paint() -> Figure:
        figure, ((axes,),) = new_figure(2.5)
        axes.set(xlabel="round (0: behaviour cloning)", ylabel="no-drop, %", ylim=(-2, 102))
        for k, colour in zip(range(1, study.top + 1), COLOURS, strict=False):
            kept = [Count(round(rates[k] * n), n) for rates in student.rounds if k in rates]
            label = "1 ball" if k == 1 else f"{k} balls"
            # Side by side: whiskers on one place would hide each other.
            at = [i + 0.06 * (k - 3) for i in range(len(kept))]
            _whiskers(axes, at, kept, fmt="o-", color=colour, ms=3, lw=1.1, label=label)
        axes.set_xticks(range(int(student.config["distill"]["rounds"])))
        add_legend(figure, "outside right center")
        return figure

    return Drawing(
        "rounds",
        "Behaviour cloning and DAgger",
        f"No-drop success after each round, on {n} episodes per number of balls (from the same "
        "starts after every round, others than those of the tables), with 95% Wilson intervals. In "
        "round 0 the student has only seen the teacher drive; in each later one it drives and the "
        "teacher says what it would have done.",
        paint,
        _runs(study, student),
    )
