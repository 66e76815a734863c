"""The best teacher: chosen on other episodes than those reported, by a rule stated in advance.

Highest no-drop rate at the top level, then the highest strict rate, then the earliest to get there;
a tie beyond that goes to the lower seed. The winner of a comparison looks better than it is on the
episodes that made it win; that is why the tables report others.
"""

import math
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.frames import Run
from analysis.study import Study
from s2m.console.errors import UserError, unknown
from s2m.run.rates import Count
from s2m.run.status import FAILED, FINISHED

RULE = ("no-drop rate", "strict rate", "earliest", "lower seed")


@dataclass(frozen=True)
class Candidate:
    """A run that could teach, with what the rule looks at."""

    run: Run
    no_drop: Count
    strict: Count
    arrived: float
    """Iteration at which it reached the top level; infinite if it never did."""
    reported: Count
    """No-drop on the episodes of the tables, which the rule does not see."""

    @property
    def key(self) -> tuple[float, float, float, int, str]:
        """What the rule compares, the best first."""
        return -self.no_drop.rate, -self.strict.rate, self.arrived, self.run.seed, self.run.id


@dataclass(frozen=True)
class Choice:
    """The candidates by rank, and what decided between the first two."""

    ranking: list[Candidate]
    decided_by: str
    k: int
    instead: Run | None = None
    """The run that somebody wants to teach in place of the best one."""
    partial: tuple[str, ...] = ()
    """Runs that have not ended, one of which may turn out to be better."""

    @property
    def best(self) -> Candidate:
        """The best teacher."""
        return self.ranking[0]

    @property
    def teacher(self) -> Run:
        """Who teaches."""
        return self.instead or self.best.run


def choose(study: Study, variant: str = "") -> Choice | None:
    """Rank all evaluated runs, or those of one variant; None if there is none."""
    k = study.top
    found = []
    for run in (run for cohort in study.cohorts.values() for run in cohort.evaluated):
        if variant not in ("", run.variant):
            continue
        evaluation = run.evaluation
        if evaluation is None or k not in evaluation.selection or k not in evaluation.reported:
            continue
        chosen, at = evaluation.selection[k], run.began(k)
        found.append(
            Candidate(
                run,
                chosen.count("no_drop"),
                chosen.count("strict"),
                math.inf if at is None else at,
                evaluation.reported[k].count("no_drop"),
            )
        )
    if not found:
        return None
    ranking = sorted(found, key=lambda candidate: candidate.key)
    waiting = [run for run in study.runs if run.state not in (FINISHED, FAILED)]
    partial = tuple(run.name for run in waiting if variant in ("", run.variant))
    if len(ranking) == 1:
        return Choice(ranking, "the only candidate", k, partial=partial)
    pairs = zip(RULE, ranking[0].key, ranking[1].key, strict=False)
    decided = next((name for name, a, b in pairs if a != b), "order of the folders")
    return Choice(ranking, decided, k, partial=partial)


def override(choice: Choice | None, study: Study, name: str) -> Choice:
    """Let a run teach, named by its folder, id or path, or the best run of a variant."""
    if choice is not None and (best := choose(study, name)):
        return _instead(choice, best.teacher, best.partial)
    runs = [run for run in study.runs if run.state == FINISHED]
    found = [run for run in runs if name in (run.id, run.name) or _is_at(run, name)]
    if not found:
        unfinished = [run for run in study.runs if name in (run.id, run.name) or _is_at(run, name)]
        if unfinished:
            raise UserError(
                f"--teacher {name}: its training is {unfinished[0].state}, not finished"
            )
        raise unknown(
            "teacher", name, [*{run.variant: 0 for run in runs}, *(run.name for run in runs)]
        )
    if choice is None:
        raise UserError(f"--teacher {name}: no run was evaluated yet, there is nothing to override")
    return _instead(choice, found[0], ())


def _instead(choice: Choice, run: Run, partial: tuple[str, ...]) -> Choice:
    return replace(choice, instead=None if run is choice.best.run else run, partial=partial)


def _is_at(run: Run, name: str) -> bool:
    return Path(run.link).resolve() == Path(name).resolve()


def reasons(choice: Choice | None, shown: int = 3) -> list[str]:
    """Say in a few lines who was chosen and why."""
    if choice is None:
        return ["Best teacher: none yet, no run has been evaluated at the top level."]
    best = choice.best
    lines = [
        f"Best teacher: {best.run.id}, of {len(choice.ranking)} evaluated; decided by: "
        f"{choice.decided_by}."
    ]
    for rank, one in enumerate(choice.ranking[:shown], start=1):
        when = "never reached" if math.isinf(one.arrived) else f"from iteration {one.arrived:,.0f}"
        lines.append(
            f"  {rank}. {one.run.name}: no-drop {one.no_drop.rate:.0%}, strict "
            f"{one.strict.rate:.0%} on {one.no_drop.n} selection episodes with {choice.k} balls "
            f"({when}); on the reported episodes: no-drop {one.reported.rate:.0%}"
        )
    if choice.instead is not None:
        lines.append(f"  Overridden by --teacher: {choice.instead.id} teaches, not the best one.")
    return lines
