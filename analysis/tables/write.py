"""Tables as LaTeX (booktabs, the paper's shape), Markdown, HTML and CSV: text from text."""

import csv
import html
import io
import math
import re
from typing import Any

from analysis.tables.model import Cell, Table, prose
from s2m.console.text import one_line

_ALIGNS = {"l": "l", "c": "c", "r": "r", "p": r"p{0.5\linewidth}"}


def to_latex(table: Table) -> str:
    """Return a table environment; needs booktabs and graphicx.

    A table that is too wide for the text is scaled down. The runs behind a row stand in a comment.
    """
    aligns = "".join(_ALIGNS[column.align] for column in table.columns)
    lines = [
        r"\begin{table}[t] \centering \small \setlength{\tabcolsep}{3pt}",
        rf"  \caption{{{prose(table.caption)}}} \label{{tab:{table.name}}}",
        r"  \par\smallskip",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{aligns}}} \toprule",
    ]
    if table.spans:
        lines.append("    " + _tex_spans(table) + r" \\")
    heads = (rf"\textbf{{{c.head.tex}}}" if c.head.tex else "" for c in table.columns)
    lines.append("    " + " & ".join(heads) + r" \\ \midrule")
    for line in table.lines:
        if line.rule:
            lines.append(r"    \midrule")
        lines.append("    " + " & ".join(_tex(cell) for cell in line.cells) + r" \\")
        if line.runs:
            lines.append(f"    % {', '.join(line.runs)}")
    lines += [r"    \bottomrule", r"  \end{tabular}}"]
    if table.notes:
        notes = " ".join(prose(note) for note in table.notes)
        lines += [
            r"  \par\smallskip\begin{minipage}{\linewidth}\footnotesize",
            f"  {notes}",
            r"  \end{minipage}",
        ]
    return "\n".join([*lines, r"\end{table}", ""])


def _tex(cell: Cell) -> str:
    if not cell.under:
        return cell.tex
    # The invisible rule keeps the next row away: an inner tabular ends without depth.
    small = rf"{{\scriptsize {cell.under}}}\rule[-4pt]{{0pt}}{{0pt}}"
    return rf"\begin{{tabular}}[t]{{@{{}}c@{{}}}}{cell.tex}\\[-2pt]{small}\end{{tabular}}"


def _tex_spans(table: Table) -> str:
    parts = []
    for cell, width in table.spans:
        bold = rf"\textbf{{{cell.tex}}}" if cell.tex else ""
        parts.append(rf"\multicolumn{{{width}}}{{c}}{{{bold}}}")
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


def to_html(table: Table) -> str:
    """Return a table element; a row's runs show when the pointer rests on it."""
    head = ""
    if table.spans:
        over = "".join(
            f'<th colspan="{width}">{html.escape(cell.text)}</th>' for cell, width in table.spans
        )
        head = f"<tr>{over}</tr>"
    names = "".join(
        f'<th class="{column.align}">{html.escape(column.head.text)}</th>'
        for column in table.columns
    )
    body = []
    for line in table.lines:
        cells = "".join(
            f'<td class="{column.align}{" missing" if cell.missing else ""}">'
            f"{html.escape(cell.text)}</td>"
            for cell, column in zip(line.cells, table.columns, strict=True)
        )
        runs = f' title="{html.escape(", ".join(line.runs))}"' if line.runs else ""
        rule = ' class="rule"' if line.rule else ""
        body.append(f"<tr{rule}{runs}>{cells}</tr>")
    return f"<table><thead>{head}<tr>{names}</tr></thead><tbody>{''.join(body)}</tbody></table>"


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
