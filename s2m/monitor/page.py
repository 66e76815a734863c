"""The views of the W&B workspace as one page that needs neither an account nor the network."""

import html
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from s2m.cluster.state import COLUMNS
from s2m.config.encoder import cards
from s2m.console.errors import UserError
from s2m.console.text import excerpt, one_line
from s2m.monitor.survey import WHERE, SurveyedRun, by_state, count_states, shows_where, survey
from s2m.run.clock import timestamp
from s2m.run.files import write_file
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.metrics import ITERATION
from s2m.tracking.contents import films, summary
from s2m.tracking.panels import THRESHOLD, View, derived, sections
from s2m.web.charts import Chart, Point, Series, Style, curves, points
from s2m.web.document import Document
from s2m.web.grid import Field, Record, grid
from s2m.web.palette import assign

POINTS = 300
"""Rows of the metrics that are read of a run: more than a chart shows."""
DRAWN = 20
"""Runs of a row whose curves are drawn; a page with thousands would stop a browser."""
REFRESH_SECONDS = 30.0
"""How often a watched page is rewritten, and a browser reloads it."""
NEEDED = ("curriculum/level", "time/iteration")
"""Metrics from which others follow."""
LEVEL = "curriculum/level"

Address = Callable[[Path], str]
"""Where the browser finds a file or folder."""


@dataclass(frozen=True)
class Shown:
    """One run as the page shows it."""

    run: SurveyedRun
    row: str
    rows: Sequence[dict[str, float]] = ()
    """Metrics by name, and those that follow from them, at about `POINTS` iterations."""
    numbers: dict[str, Any] = field(default_factory=dict)
    """Final numbers, as in W&B's table of runs."""


def write_page(root: Path, target: Path, watch: bool = False) -> None:
    """Write the page of the runs below a folder; with `watch` repeatedly until Ctrl-C."""
    refresh = REFRESH_SECONDS if watch else None

    def address(path: Path) -> str:
        return quote(os.fsencode(os.path.relpath(path, target.parent)), safe="/")

    _replace(target, build(read_all(survey(root)), str(root), address, refresh))
    print(f"wrote {target}", flush=True)
    while watch:
        time.sleep(REFRESH_SECONDS)
        _replace(target, build(read_all(survey(root)), str(root), address, refresh))


def read_all(runs: Sequence[SurveyedRun]) -> list[Shown]:
    """Read what the views need, of each row for `DRAWN` runs evenly over the list."""
    names = _rows_of(runs)
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        places.setdefault(name, []).append(i)
    drawn = {
        some[int(j * max(1.0, len(some) / DRAWN))]
        for some in places.values()
        for j in range(min(DRAWN, len(some)))
    }
    return [
        read(run, name) if i in drawn else Shown(run, name)
        for i, (run, name) in enumerate(zip(runs, names, strict=True))
    ]


def _rows_of(runs: Sequence[SurveyedRun]) -> list[str]:
    """Return the row of each run; of several experiments each has its own."""
    experiments = [run.name.partition("/")[0] for run in runs]
    if len(set(experiments)) <= 1:
        return [run.row for run in runs]
    return [f"{name}/{run.row}" for name, run in zip(experiments, runs, strict=True)]


def read(run: SurveyedRun, row: str) -> Shown:
    """Read what the views need of a run; one that cannot be read has only its state."""
    try:
        config, numbers = run.folder.config(), summary(run.folder)
        rows = [{**values, **derived(config, values)} for values in _metrics(run.folder)]
        return Shown(run, row, rows, numbers)
    except Exception:  # whatever is wrong with one folder, the others are shown
        return Shown(run, row)


def _metrics(folder: RunFolder) -> list[dict[str, float]]:
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


def build(
    shown: Sequence[Shown], place: str, address: Address, refresh: float | None = None
) -> str:
    """Return the page; with `refresh` a browser loads it again every so many seconds."""
    runs = [item.run for item in shown]
    styles = _styles(shown)
    ordered = by_state(runs)
    page = Document("S2M-Trek: runs", styles, refresh, [_entry(run, address) for run in ordered])
    many = sum(not item.rows and item.run.state.iteration > 0 for item in shown)
    part = f" Charts show {DRAWN} runs of each row, evenly chosen." if many else ""
    page.add(
        f"<section><p><b>{html.escape(count_states(runs) or 'none yet')}</b> in "
        f'<code>{html.escape(one_line(place))}</code>.<span class="soft">{part} '
        f"{timestamp()[:19].replace('T', ' ')} UTC</span></p>"
    )
    if runs:
        page.add(_table(ordered, {id(item.run): item.row for item in shown}))
    page.add("</section>")
    for name, views in sections().items():
        if charts := [chart for view in views if (chart := _chart(view, shown, styles))]:
            page.add(f"<section><h2>{html.escape(name)}</h2>")
            page.add_charts(charts)
            page.add("</section>")
    return page.render()


def _styles(shown: Sequence[Shown]) -> list[Style]:
    """Return the rows by name: in the colour of the encoder, dashed without slot permutation."""
    wanted: dict[str, str] = {}
    off = {item.row: item.run.told for item in shown if item.run.told and item.run.told.is_off}
    for item in sorted(shown, key=lambda item: (item.row in off, item.row)):
        wanted.setdefault(_colour_key(item), _own_colour(item.run))
    colours = assign(wanted)
    found = {item.row: colours[_colour_key(item)] for item in shown}
    return [Style(row, found[row], row in off) for row in sorted(found)]


def _colour_key(item: Shown) -> str:
    """Return what rows of one colour share: an encoder with its settings, permuted or not."""
    told = item.run.told
    if told is None:
        return item.row
    return item.row.replace(told.variant, told.encoder, 1)


def _own_colour(run: SurveyedRun) -> str:
    """Return what the run, or the class of its encoder, says."""
    if run.told is None:
        return ""
    known = cards().get(run.told.encoder)
    return run.folder.identity.colour or (known.colour if known else "")


def _entry(run: SurveyedRun, address: Address) -> str:
    """Describe a run for who asks what is behind a row of the table."""
    state = run.state
    said = [f'<span class="{state.status}">{state.status}</span>', html.escape(run.verdict)]

    def said_of(path: Path | str) -> str:
        return html.escape(excerpt(str(path)))

    links = [f'<a href="{address(run.folder.path)}">{said_of(run.folder.path)}</a>']
    links += [
        f'<a class="film" target="_blank" href="{address(film)}">▶ {said_of(film.name)}</a>'
        for film in films(run.folder)
    ]
    told = " · ".join(part for part in [*said, *links, html.escape(state.failure)] if part)
    return f"<b>{html.escape(run.name)}</b><br>{told}"


def _table(runs: Sequence[SurveyedRun], rows: dict[int, str]) -> str:
    heads = ["run", *COLUMNS]
    if shows_where(runs):
        heads.insert(-1, WHERE)
    records = []
    for i, run in enumerate(runs):
        shown = {"run": run.name, WHERE: run.state.where, **run.state.columns()}
        values = {
            "iteration": float(run.state.iteration), "s/iteration": run.state.seconds,
            "end": run.state.left, "level": float(run.state.level or 0),
        }  # fmt: skip
        fields = [
            Field(shown[name], values.get(name), run.state.status if name == "state" else "")
            for name in heads
        ]
        records.append(Record(fields, [i], rows[id(run)]))
    return grid(heads, records)


def _chart(view: View, shown: Sequence[Shown], styles: Sequence[Style]) -> Chart | None:
    if view.bars:
        found = [
            Point(item.row, item.run.name, metric.rpartition("_")[2], item.numbers[metric])
            for metric in view.metrics
            for item in shown
            if metric in item.numbers
        ]
        rate = all(metric.startswith("evaluate/") for metric in view.metrics)
        labels = ("balls", "success") if rate else ("level", "iteration")
        return points(view.title, *labels, styles, found, percent=rate)
    metric, *rest = view.metrics
    return curves(
        view.title, metric.rpartition("/")[2].replace("_", " "), styles,
        list(_series(shown, metric)),
        [one for name in rest if name.startswith(THRESHOLD) for one in _series(shown, name)],
        view.log, step=metric == LEVEL,
    )  # fmt: skip


def _series(shown: Sequence[Shown], metric: str) -> Iterator[Series]:
    for item in shown:
        if found := [(row[ITERATION], row[metric]) for row in item.rows if metric in row]:
            x, y = np.array(found, dtype=float).T
            name = "threshold" if metric.startswith(THRESHOLD) else item.run.name
            yield Series(item.row, excerpt(name), x, y)


def _replace(path: Path, text: str) -> None:
    """Replace the page, so that a browser never sees half of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, text.encode())
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from None
