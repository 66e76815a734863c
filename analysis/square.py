"""The 2 x 2 of two settings: the paper's encoder x permutation, or any that --factorial names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.cohort import Cohort
from analysis.conditions import parse
from analysis.dotted import describe, settings, value
from analysis.rows import row
from s2m.console.errors import UserError
from s2m.run.settings import same, show

DEFAULT = ("encoder=dshc,pfds", "permute=true,false")
"""The paper's: Table 2."""


@dataclass(frozen=True)
class Factor:
    """One of the two settings with its two values, as text."""

    name: str
    words: tuple[str, str]
    """In sentences: permuted, not permuted."""
    heads: tuple[str, str]
    """Above columns: permute=True, permute=False."""


@dataclass(frozen=True)
class Square:
    """Two factors and the runs of their four cells."""

    first: Factor
    second: Factor
    cells: tuple[tuple[Cohort, Cohort], tuple[Cohort, Cohort]]
    """By the value of the first factor, then of the second."""

    @property
    def cohorts(self) -> list[Cohort]:
        """The four cells, row by row."""
        return [cell for pair in self.cells for cell in pair]

    @property
    def of_encoders(self) -> bool:
        """Whether it is that of encoder and slot permutation."""
        return (self.first.name, self.second.name) == ("encoder", "permute")


def paper_square(cohorts: Mapping[str, Cohort], complete: bool) -> Square | None:
    """Return Table 2 if some of either encoder and of either setting were launched, or shall be."""
    wanted = ("dshc", "dshc_off", "pfds", "pfds_off")
    there = [name for name in wanted if name in cohorts]
    encoders, settings = (
        {n.removesuffix("_off") for n in there},
        {n.endswith("_off") for n in there},
    )
    if not complete and (len(encoders) < 2 or len(settings) < 2):
        return None
    a, b, c, d = (cohorts.get(name) or Cohort(row(name), []) for name in wanted)
    return Square(_factor("encoder", ["dshc", "pfds"]), _factor("permute", [True, False]),
                  ((a, b), (c, d)))  # fmt: skip


def factorial(cohorts: Sequence[Cohort], words: Sequence[str]) -> Square:
    """Return the 2 x 2 of two settings, each NAME or NAME=ONE,OTHER, among some rows."""
    known = [(cohort, settings(cohort.runs[0])) for cohort in cohorts if cohort.runs]
    one, other = (_levels(word, [found for _, found in known]) for word in words)

    def cell(a: Any, b: Any) -> Cohort:
        wanted = {one[0]: a, other[0]: b}
        for cohort, found in known:
            if all(_alike(value(found, name), v) for name, v in wanted.items()):
                return cohort
        said = " and ".join(f"{name}={show(v)}" for name, v in wanted.items())
        raise UserError(f"--factorial {' '.join(words)}: there is no run with {said}")

    a, b = ([cell(first, second) for second in other[1]] for first in one[1])
    return Square(_factor(*one), _factor(*other), ((a[0], a[1]), (b[0], b[1])))


def names_of(words: Sequence[str]) -> list[str]:
    """Return the settings that --factorial names."""
    return [word.partition("=")[0].strip() for word in words]


def _alike(mine: Any, wanted: Any) -> bool:
    return same(mine) == same(wanted)


def _levels(word: str, found: Sequence[Mapping[str, Any]]) -> tuple[str, list[Any]]:
    name, given, _ = word.partition("=")
    have = {same(value(one, name)): value(one, name) for one in found}
    values = list(parse(word).values) if given else list(have.values())
    if len(values) != 2:
        there = ", ".join(sorted(map(show, have.values())))
        raise UserError(
            f"--factorial {word}: {name} needs two values and has {there}; "
            f"name them: {name}=ONE,OTHER"
        )
    # As in the paper: what was done stands before what was not.
    order = sorted(values, key=lambda v: (not v,) if isinstance(v, bool) else (0, v))
    return name, order if not given else values


def _factor(name: str, values: Sequence[Any]) -> Factor:
    if name == "encoder":
        words = tuple(row(str(v)).label for v in values)
    elif name == "permute":
        words = tuple("permuted" if v else "not permuted" for v in values)
        return Factor(name, (words[0], words[1]), (f"permute={values[0]}", f"permute={values[1]}"))
    else:
        words = tuple(describe({name: v}, [name]) for v in values)
    return Factor(name, (words[0], words[1]), (words[0], words[1]))
