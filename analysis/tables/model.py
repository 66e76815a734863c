"""A table as data: cells that know how they read as text and as LaTeX, and the runs behind them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from s2m.console.text import one_line

_TEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
        "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "—": "---",
        "∞": r"$\infty$",
        "≤": r"$\le$", "≥": r"$\ge$", "→": r"$\to$", "±": r"$\pm$", "–": "--", "−": "$-$",
        "×": r"$\times$", "†": r"$\dagger$", "η": r"$\eta$", "γ": r"$\gamma$", "λ": r"$\lambda$",
        "ε": r"$\epsilon$", "τ": r"$\tau$", "“": "``", "”": "''", "‡": r"$\ddagger$",
        "σ": r"$\sigma$", "₀": r"$_0$", "<": r"$<$", ">": r"$>$",
    }
)  # fmt: skip


def escape(text: str) -> str:
    """Return text that LaTeX prints as it is."""
    return text.translate(_TEX)


_SYMBOL = re.compile(r"(?<![\w\\$^_-])([kp])(?: (\$\\le\$|[=+]) ([0-9.]*[0-9]))?(?![\w\\^_-])")
"""k balls and p-values that stand alone, with what they are compared with."""


def prose(text: str) -> str:
    """Return a sentence as LaTeX, with its symbols set as in the headings."""
    tex = escape(one_line(text))
    tex = tex.replace(r"K\_max", r"$K_{\max}$").replace(r"K\_$\eta$", r"$K_\eta$")
    return _SYMBOL.sub(_formula, tex.replace("Adv. to", r"Adv.\ to"))


def _formula(found: re.Match[str]) -> str:
    symbol, relation, number = found.groups()
    return f"${symbol} {relation.strip('$')} {number}$" if relation else f"${symbol}$"


@dataclass(frozen=True)
class Cell:
    """What a cell says, as text and as LaTeX."""

    text: str
    tex: str
    under: str = ""
    """LaTeX of a second, smaller line: range or interval, which is part of `text`."""
    missing: bool = False
    """Whether it only says why there is no value."""
    best: bool = False
    """Whether it is the best of its column, which is bold in LaTeX."""


def plain(value: object) -> Cell:
    """Return a cell of plain text, in one line."""
    text = one_line(str(value))
    return Cell(text, escape(text))


def missing(word: str) -> Cell:
    """Return a cell without a value: pending, running, failed."""
    return Cell(word, rf"\emph{{{escape(word)}}}", missing=True)


def stacked(value: Cell, detail: str) -> Cell:
    """Return a cell whose detail follows in text and stands below in LaTeX, to save width."""
    return Cell(f"{value.text} {detail}", value.tex, escape(detail))


@dataclass(frozen=True)
class Column:
    """A column's heading and alignment: l, c, r, or p for text that may take several lines."""

    head: Cell
    align: str = "c"
    bar: bool = False
    """Whether a line stands right of it."""


def column(text: str, tex: str | None = None, align: str = "c") -> Column:
    """Return a column; the LaTeX heading is the escaped text unless given."""
    return Column(Cell(text, escape(text) if tex is None else tex), align)


@dataclass(frozen=True)
class Line:
    """One row: its cells and the names of the runs behind them."""

    cells: Sequence[Cell]
    runs: Sequence[str] = ()
    rule: bool = False
    """Whether a rule stands above it."""


@dataclass(frozen=True)
class Table:
    """A table with everything that is needed to write it."""

    name: str
    """Of its files."""
    title: str
    """A few words, for headings."""
    caption: str
    columns: Sequence[Column]
    lines: Sequence[Line]
    spans: Sequence[tuple[Cell, int]] = ()
    """Headings over several columns, from the left, with their numbers of columns."""
    notes: Sequence[str] = ()
    """Sentences under the table."""
    records: Sequence[dict[str, Any]] = field(default_factory=list)
    """The same as plain numbers, one dict per row of the CSV file."""
    label: str = ""
    """In LaTeX: that of the paper's own table; else `tab:<name>`."""
