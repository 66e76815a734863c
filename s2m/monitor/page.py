"""The views of the W&B workspace as one page that needs neither an account nor the network."""

import html
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from string import Template
from typing import Any

from s2m.cluster.state import COLUMNS
from s2m.console.errors import UserError
from s2m.console.text import one_line
from s2m.monitor.charts import Bar, Trace, bar_chart, line_chart
from s2m.monitor.survey import SurveyedRun, survey
from s2m.run.clock import timestamp
from s2m.run.files import write_file
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.metrics import ITERATION
from s2m.tracking.contents import summary
from s2m.tracking.panels import THRESHOLD, View, derived, sections

TEMPLATE = Path(__file__).with_name("page.html")
COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#1b1f24",
)  # fmt: skip
"""One per variant; they stay apart for the colour-blind."""
POINTS = 200
"""Points of a curve: more than the small charts can show."""
DRAWN = 20
"""Runs of a variant whose curves are drawn; a page with thousands would stop a browser."""
REFRESH_SECONDS = 30.0
"""How often a page that is watched is written anew, and a browser loads it."""
NEEDED = ("curriculum/level", "time/iteration")
"""Metrics from which others follow."""


@dataclass(frozen=True)
class Shown:
    """One run as the page shows it."""

    run: SurveyedRun
    rows: Sequence[dict[str, float]] = ()
    """Metrics by name, and those that follow from them, at about `POINTS` iterations."""
    numbers: dict[str, Any] = field(default_factory=dict)
    """Final numbers, as in W&B's table of runs."""


def write_page(root: Path, target: Path, watch: bool = False) -> None:
    """Write the page of the runs below a folder; with `watch` anew until Ctrl-C."""
    refresh = REFRESH_SECONDS if watch else None
    _replace(target, build(read_all(survey(root)), str(root), refresh))
    print(f"wrote {target}", flush=True)
    while watch:
        time.sleep(REFRESH_SECONDS)
        _replace(target, build(read_all(survey(root)), str(root), refresh))


def read_all(runs: Sequence[SurveyedRun]) -> list[Shown]:
    """Read what the views need, of each variant for `DRAWN` runs evenly over the list."""
    variants: dict[str, list[int]] = {}
    for i, run in enumerate(runs):
        variants.setdefault(run.variant, []).append(i)
    drawn = {
        places[int(j * max(1.0, len(places) / DRAWN))]
        for places in variants.values()
        for j in range(min(DRAWN, len(places)))
    }
    return [read(run) if i in drawn else Shown(run) for i, run in enumerate(runs)]


def read(run: SurveyedRun) -> Shown:
    """Read what the views need of a run; one that cannot be read has only its state."""
    try:
        config, numbers = run.folder.config(), summary(run.folder)
        rows = [{**row, **derived(config, row)} for row in _rows(run.folder)]
        return Shown(run, rows, numbers)
    except Exception:  # whatever is wrong with one folder, the others are shown
        return Shown(run)


def _rows(folder: RunFolder) -> list[dict[str, float]]:
    """Return every so many rows, the last one, and all that have an audit."""
    names = {name for views in sections().values() for view in views for name in view.metrics}
    table = Journal(folder).table([*names, *NEEDED])
    step = max(1, len(table) // POINTS)
    audits = table["symmetry/frame_mean"] if "symmetry/frame_mean" in table.column_names else None
    kept = [
        i for i in range(len(table))
        if i % step == 0 or i == len(table) - 1 or (audits is not None and audits[i].is_valid)
    ]  # fmt: skip
    found = table.take(kept).to_pylist() if kept else []
    return [{name: v for name, v in row.items() if v is not None} for row in found]


def build(shown: Sequence[Shown], place: str, refresh: float | None = None) -> str:
    """Return the page; with `refresh` a browser loads it again every so many seconds."""
    runs = [item.run for item in shown]
    variants = sorted({run.variant for run in runs})
    colors = {name: COLORS[i % len(COLORS)] for i, name in enumerate(variants)}
    states = Counter(run.state.status for run in runs)
    said = ", ".join(f"{n} {state}" for state, n in sorted(states.items())) or "none yet"
    legend = "".join(
        f'<span><i style="background:{color}"></i>{html.escape(name)}</span>'
        for name, color in colors.items()
    )
    most = max(Counter(run.variant for run in runs).values(), default=0)
    part = f" Curves and bars: {DRAWN} runs of each variant, evenly chosen." * (most > DRAWN)
    again = f'<meta http-equiv="refresh" content="{refresh:g}">' if refresh else ""
    return Template(TEMPLATE.read_text()).substitute(
        refresh=again,
        head=f"<p>Runs in {html.escape(one_line(place))}: {said}.{part} "
        f"Written at {timestamp()[:19]} UTC.</p>"
        f'<p class="legend">{legend}</p>',
        table=_table(runs),
        body="\n".join(_section(name, views, shown, colors) for name, views in sections().items()),
    )


def _table(runs: Sequence[SurveyedRun]) -> str:
    lines = []
    for run in runs:
        cells = [html.escape(text) for text in (run.name, *run.state.columns().values())]
        cells[1] = f'<span class="{run.state.status}">{cells[1]}</span>'
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("run", *COLUMNS))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _section(
    name: str, views: Sequence[View], shown: Sequence[Shown], colors: dict[str, str]
) -> str:
    panels = "".join(
        f'<div class="panel"><h3>{html.escape(view.title)}</h3>{_chart(view, shown, colors)}</div>'
        for view in views
    )
    return f'<section><h2>{html.escape(name)}</h2><div class="grid">{panels}</div></section>'


def _chart(view: View, shown: Sequence[Shown], colors: dict[str, str]) -> str:
    if view.bars:
        return bar_chart(
            [
                Bar(
                    item.run.name, colors[item.run.variant], metric.rpartition("_")[2],
                    item.numbers[metric],
                )
                for metric in view.metrics
                for item in shown
                if metric in item.numbers
            ]
        )  # fmt: skip
    return line_chart(
        [
            Trace(
                item.run.name, colors[item.run.variant],
                [(row[ITERATION], row[metric]) for row in item.rows if metric in row],
                dashed=metric.startswith(THRESHOLD),
            )
            for metric in view.metrics
            for item in shown
        ],
        view.log,
    )  # fmt: skip


def _replace(path: Path, text: str) -> None:
    """Replace the page, so that a browser never sees half of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode())
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
