"""Tables that the reader sorts and filters, with a first column that stays in sight."""

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """What a cell says, and by what it is sorted if not by what it says."""

    text: str
    value: float | None = None
    kind: str = ""
    """Its class: a state, or `missing`."""


@dataclass(frozen=True)
class Record:
    """A row: its fields, and the places of the runs behind it in the page's list of runs."""

    fields: Sequence[Field]
    runs: Sequence[int] = ()
    row: str = ""
    """The row of the charts that it belongs to, with which it is shown and hidden."""
    ruled: bool = False


def grid(
    heads: Sequence[str],
    records: Sequence[Record],
    spans: Sequence[tuple[str, int]] = (),
    aligns: Sequence[str] = (),
) -> str:
    """Return the element; a page puts a field for filtering above what has many rows."""
    over = ""
    if spans:
        cells = (f'<th colspan="{n}">{html.escape(text)}</th>' for text, n in spans)
        over = f'<tr class="over">{"".join(cells)}</tr>'
    aligns = aligns or ["l"] * len(heads)
    names = "".join(
        f'<th class="{align}" aria-sort="none"><button>{html.escape(head)}</button></th>'
        for head, align in zip(heads, aligns, strict=True)
    )
    body = "".join(_record(record, aligns) for record in records)
    return (
        f'<div class="scroll"><table class="grid"><thead>{over}<tr>{names}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _record(record: Record, aligns: Sequence[str]) -> str:
    cells = []
    for i, (field, align) in enumerate(zip(record.fields, aligns, strict=True)):
        text = html.escape(field.text)
        if i == 0 and record.runs:
            text = f'<button class="behind">{text}</button>'
        value = "" if field.value is None else f' data-v="{field.value:g}"'
        kind = f" {field.kind}" if field.kind else ""
        tag = "th" if i == 0 else "td"
        cells.append(f'<{tag} class="{align}{kind}"{value}>{text}</{tag}>')
    marks = f' data-runs="{" ".join(map(str, record.runs))}"' if record.runs else ""
    marks += f' data-row="{html.escape(record.row, quote=True)}"' if record.row else ""
    marks += ' class="ruled"' if record.ruled else ""
    return f"<tr{marks}>{''.join(cells)}</tr>"
