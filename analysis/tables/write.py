"""Tables as LaTeX (booktabs, the paper's shape), Markdown and CSV: text from text."""

import csv
import io
import math
import re
from collections.abc import Callable
from typing import Any

from analysis.tables.model import Cell, Table, prose
from s2m.console.text import one_line

_ALIGNS = {"l": "l", "c": "c", "r": "r", "p": r"p{0.5\linewidth}"}


LONG = 30
"""Lines from which a table breaks over pages."""


def to_latex(table: Table) -> str:
    """Return a table environment; needs booktabs and graphicx, a long one also longtable.

    A table that is too wide for the text is scaled down; a long one breaks over pages instead. The
    runs behind a row stand in a comment.
    """
    label = table.label or f"tab:{table.name}"
    caption = rf"  \caption{{{prose(table.caption)}}} \label{{{label}}}"
    aligns = "".join(_ALIGNS[column.align] + "|" * column.bar for column in table.columns)
    notes = " ".join(prose(note) for note in table.notes)
    if len(table.lines) > LONG:
        return _long(table, caption, aligns, notes)
    lines = [
        r"\begin{table}[t] \centering \small \setlength{\tabcolsep}{3pt}",
        caption,
        r"  \par\smallskip",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{aligns}}} \toprule",
        *_head(table),
        *_body(table, _tex),
        r"    \bottomrule",
        r"  \end{tabular}}",
    ]
    if notes:
        lines += [
            r"  \par\smallskip\begin{minipage}{\linewidth}\footnotesize",
            f"  {notes}",
            r"  \end{minipage}",
        ]
    return "\n".join([*lines, r"\end{table}", ""])


def _long(table: Table, caption: str, aligns: str, notes: str) -> str:
    """Return a longtable: its head stands on every page."""
    lines = [
        r"{\scriptsize \setlength{\tabcolsep}{2pt} \setlength{\LTcapwidth}{\linewidth}",
        rf"\begin{{longtable}}{{{aligns}}}",
        caption + r" \\ \toprule",
        *_head(table),
        r"  \endfirsthead \toprule",
        *_head(table),
        r"  \endhead \bottomrule \endfoot",
        *_body(table, _tex_in_line),
        r"\end{longtable}",
    ]
    return "\n".join([*lines, *([rf"\noindent {notes}"] if notes else []), "}", ""])


def _head(table: Table) -> list[str]:
    lines = ["    " + _tex_spans(table) + r" \\"] if table.spans else []
    heads = (rf"\textbf{{{c.head.tex}}}" if c.head.tex else "" for c in table.columns)
    return [*lines, "    " + " & ".join(heads) + r" \\ \midrule"]


def _body(table: Table, form: Callable[[Cell], str]) -> list[str]:
    lines = []
    for line in table.lines:
        if line.rule:
            lines.append(r"    \midrule")
        lines.append("    " + " & ".join(form(cell) for cell in line.cells) + r" \\")
        if line.runs:
            lines.append(f"    % {', '.join(line.runs)}")
    return lines


def _value(cell: Cell) -> str:
    # A bold text leaves mathematics as it is.
    return rf"{{\boldmath\bfseries {cell.tex}}}" if cell.best else cell.tex


def _tex_in_line(cell: Cell) -> str:
    return f"{_value(cell)} {{\\tiny {cell.under}}}" if cell.under else _value(cell)


def _tex(cell: Cell) -> str:
    if not cell.under:
        return _value(cell)
    # The invisible rule keeps the next row away: an inner tabular ends without depth.
    small = rf"{{\scriptsize {cell.under}}}\rule[-4pt]{{0pt}}{{0pt}}"
    return rf"\begin{{tabular}}[t]{{@{{}}c@{{}}}}{_value(cell)}\\[-2pt]{small}\end{{tabular}}"


def _tex_spans(table: Table) -> str:
    parts, at = [], 0
    for cell, width in table.spans:
        at += width
        bold = rf"\textbf{{{cell.tex}}}" if cell.tex else ""
        bar = "|" * table.columns[at - 1].bar
        parts.append(rf"\multicolumn{{{width}}}{{c{bar}}}{{{bold}}}")
    return " & ".join(parts)


def to_markdown(table: Table) -> str:
    """Return a heading, the caption, a pipe table and the notes."""
    spans = [cell.text for cell, width in table.spans for _ in range(width)]
    heads = [column.head.text for column in table.columns]
    if spans:
        heads = [f"{over} {head}".strip() for over, head in zip(spans, heads, strict=True)]
    rules = {"l": "---", "p": "---", "c": ":-:", "r": "---:"}
    rows = [heads, [rules[column.align] for column in table.columns]]
    rows += [[_markdown(cell) for cell in line.cells] for line in table.lines]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    notes = ["", *(f"- {_no_tags(note)}" for note in table.notes)] if table.notes else []
    head = [f"## {table.title}", "", _no_tags(table.caption), ""]
    return "\n".join([*head, *lines, *notes]) + "\n"


def _no_tags(text: str) -> str:
    """Return text in which Markdown sees no HTML."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)


def _markdown(cell: Cell) -> str:
    text = _no_tags(cell.text).replace("|", "\\|")
    return f"*{text}*" if cell.missing else text


def to_csv(table: Table) -> str:
    """Return the plain numbers, an unknown one as an empty field."""
    if not table.records:
        return ""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(table.records[0]), lineterminator="\n")
    writer.writeheader()
    for record in table.records:
        writer.writerow({name: _number(value) for name, value in record.items()})
    return text.getvalue()


def _number(value: Any) -> Any:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.6g}"
    if isinstance(value, str):
        text = one_line(value)
        # A spreadsheet would compute text that begins like a formula.
        return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text
    return "" if value is None else value
