"""report.html: what was found, figures and tables, and the runs behind them, in one page."""

import base64
import html
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np

from analysis.answer import answer, warning
from analysis.frames import AnyRun, Run
from analysis.study import Study
from analysis.tables.model import Table
from s2m.console.text import excerpt
from s2m.run.folder import RunFolder
from s2m.run.naming import tell_apart
from s2m.run.status import FAILED, FINISHED, PENDING, RUNNING, STOPPED
from s2m.tracking.contents import films
from s2m.tracking.panels import THRESHOLD, sections, thresholds
from s2m.web.charts import Chart, Point, Series, Style, curves, points
from s2m.web.document import Document
from s2m.web.grid import Field, Record, grid

if TYPE_CHECKING:
    from analysis.figures.draw import Drawing

MAIN = "encoders"
"""The table of the first screen."""
ORDER = (
    "table rates", "table estimates", "figure profiles", "table power", "table ablation",
    "figure ablation", "table effects", "table comparisons", "figure survival", "table seeds",
    "figure seeds", "table learning", "table binding", "table promotion", "table tactset",
    "figure tactset", "figure rounds",
    "figure strip", "table published", "figure framework", "figure architecture", "table costs",
    "table hyperparameters",
    "table thresholds", "table runs", "table left-out",
)  # fmt: skip
"""What follows from top to bottom: every figure beside its table; what is not named comes last."""
CHARTED = ("success", "progression", "criteria", "diagnostic", "symmetry")
"""Figures whose curves the page has as charts: their files are named and not shown again."""


@dataclass(frozen=True)
class Picture:
    """A figure as the page needs it."""

    name: str
    title: str
    caption: str
    mime: str
    data: bytes
    files: Sequence[str]
    """Its files, relative to the page."""
    runs: Sequence[str] = ()


def figure_file(name: str, kind: str) -> str:
    """Return where a figure of some kind is, relative to the page; `half` is half of the width."""
    return f"figures/{name}-half.pdf" if kind == "half" else f"figures/{name}.{kind}"


def picture(drawing: "Drawing", files: Mapping[str, bytes]) -> Picture:
    """Return a painted drawing as a picture."""
    names = [figure_file(drawing.name, kind) for kind in files]
    return Picture(
        drawing.name, drawing.title, drawing.caption, "image/svg+xml", files["svg"], names,
        drawing.runs,
    )  # fmt: skip


def build(
    study: Study,
    tables: Sequence[Table],
    pictures: Sequence[Picture],
    teacher: Sequence[str],
    command: str,
    place: Path,
) -> str:
    """Return the page; `place` is the folder it will stand in, to which links are relative."""
    runs: list[AnyRun] = [*study.runs, *study.students]
    styles = [
        Style(cohort.row.label, cohort.row.colour, not cohort.row.permute)
        for cohort in study.every.values()
        if cohort.runs
    ]
    page = Document("S2M-Trek: results", styles, runs=[_entry(run, place) for run in runs])
    places = {run.id: i for i, run in enumerate(runs)}
    names = _names(runs)
    _first_screen(page, study, tables, places, names)
    kept = [table for table in tables if table.name != MAIN]
    shown = [image for image in pictures if image.runs and image.name not in CHARTED]
    found = {f"table {table.name}": _table(table, study, places) for table in kept}
    found |= {f"figure {image.name}": _figure(image) for image in shown}
    titles = {f"table {table.name}": table.title for table in kept}
    titles |= {f"figure {image.name}": f"{image.title} (figure)" for image in shown}
    order = sorted(found, key=lambda key: ORDER.index(key) if key in ORDER else len(ORDER))
    links = [f'<a href="#{_anchor(key)}">{html.escape(titles[key])}</a>' for key in order]
    page.add(
        f'<section><h2>Details</h2><nav class="contents" aria-label="Contents">'
        f'<a href="#training">Training</a>{"".join(links)}</nav></section>'
    )
    page.add('<section id="training"><h2>Training</h2>')
    page.add('<p class="note">Lines: median of the seeds; bands: from the lowest to the highest; '
             'dotted: threshold. “every run” above shows the seeds one by one.</p>')  # fmt: skip
    page.add_charts(list(_training(study, styles, names)))
    page.add("</section>")
    for key in order:
        page.add(found[key])
    files = [_files(image.files) for image in pictures]
    page.add(f"<section><h2>Files of the figures</h2>{''.join(files)}</section>")
    page.add(_origin(study, teacher, command))
    return page.render()


def _anchor(key: str) -> str:
    return key.replace(" ", "-")


def _names(runs: Sequence[AnyRun]) -> dict[str, str]:
    """Return by their ids what people call the runs."""
    told = tell_apart({run.id: run.config for run in runs})
    return {run.id: excerpt(str(told[run.id])) for run in runs}


def _first_screen(
    page: Document,
    study: Study,
    tables: Sequence[Table],
    places: Mapping[str, int],
    names: Mapping[str, str],
) -> None:
    """Answer the question, then show one figure and the main table."""
    page.add("<section>")
    if told := warning(study):
        page.add(f'<p class="warning" role="alert"><b>{html.escape(told)}</b></p>')
    lines = "".join(f"<li>{html.escape(line)}</li>" for line in answer(study, tables))
    page.add(f'<ul class="answer">{lines}</ul>{_summary(study)}')
    page.add_charts([_success(study, page.styles, names)], wide=True)
    page.add("</section>")
    for table in tables:
        if table.name == MAIN:
            page.add(_table(table, study, places))


def _summary(study: Study) -> str:
    config = study.config or {}
    budget = config.get("budget", {})
    states = Counter(run.state for run in study.runs)
    evaluated = sum(run.evaluation is not None for run in study.runs)
    order = (RUNNING, FINISHED, STOPPED, FAILED, PENDING)
    said = ", ".join(f"{states[state]} {state}" for state in order if states[state])
    out = f"; {len(study.left_out)} notes on runs that were left out" if study.left_out else ""
    return f"""<p class="note">{len(study.runs)} runs of budget
<b>{html.escape(str(budget.get("name")))}</b> ({budget.get("iterations"):,} iterations,
{budget.get("num_envs"):,} environments, simulator
{html.escape(str(config.get("sim", {}).get("name")))}): {said}; {evaluated} evaluated{out}.</p>"""


def _success(study: Study, styles: Sequence[Style], names: Mapping[str, str]) -> Chart | None:
    found = [
        Point(cohort.row.label, names[run.id], str(k), run.rates[k].count("no_drop").rate)
        for k in range(1, study.top + 1)
        for cohort in study.every.values()
        for run in cohort.evaluated
        if k in run.rates
    ]
    title = "No-drop success by number of balls: every seed, their range and median"
    return points(title, "balls", "no-drop success", styles, found, percent=True)


def _training(
    study: Study, styles: Sequence[Style], names: Mapping[str, str]
) -> Iterator[Chart | None]:
    """Yield the curves of the study, as the page of runs and the W&B workspace have them."""
    rows = [(cohort.row.label, run) for cohort in study.every.values() for run in cohort.runs]
    level = [_level(label, names[run.id], run) for label, run in rows if run.iteration]
    yield curves("number of balls", "balls", styles, level, step=True)
    for views in sections().values():
        for view in views:
            name = view.metrics[0]
            series = [Series(label, names[run.id], *run.curves.get(name)) for label, run in rows]
            limits = [
                _limit(label, run, metric)
                for metric in view.metrics[1:]
                if metric.startswith(THRESHOLD)
                for label, run in rows
                if run.iteration
            ]
            label = name.rpartition("/")[2].replace("_", " ")
            yield None if view.bars else curves(view.title, label, styles, series, limits, view.log)


def _level(label: str, name: str, run: Run) -> Series:
    return _steps(label, name, run, lambda level: float(level))


def _limit(label: str, run: Run, metric: str) -> Series:
    curriculum = dict(run.config["curriculum"])
    return _steps(label, "threshold", run, lambda level: thresholds(curriculum, level)[metric])


def _steps(label: str, name: str, run: Run, value: Callable[[int], float]) -> Series:
    """Return what follows from the level of a run, from its start to its last iteration."""
    start = int(run.config["curriculum"]["start"])
    at = [(1, start), *sorted((at, level) for level, at in run.levels.items())]
    at.append((max(1, run.iteration), run.level))
    x, levels = zip(*at, strict=True)
    return Series(label, name, np.array(x), np.array([value(level) for level in levels]))


def _entry(run: AnyRun, place: Path) -> str:
    """Describe a run for who asks what is behind a row: its state, commit, folder and films."""
    link = f'<a href="{_relative(run.link, place)}">{html.escape(run.id)}</a>'
    commit = html.escape((run.commit or "unknown")[:10])
    parts = [
        f'<span class="{run.state}">{run.state}</span>',
        f"commit <code>{commit}</code>{' with changes' if run.dirty else ''}",
    ]
    if Path(run.link).is_dir():
        parts += [
            f'<a class="film" target="_blank" href="{_relative(str(film), place)}">▶ '
            f"{html.escape(excerpt(film.name))}</a>"
            for film in films(RunFolder(run.link))
        ]
    return f"{link}<br>{' · '.join(parts)}"


def _table(table: Table, study: Study, places: Mapping[str, int]) -> str:
    labels = {cohort.row.label for cohort in study.every.values()}
    records = []
    for line in table.lines:
        first = line.cells[0].text.removesuffix(" †")
        records.append(
            Record(
                [Field(cell.text, kind="missing" * cell.missing) for cell in line.cells],
                [places[name] for name in line.runs if name in places],
                first if first in labels else "",
                line.rule,
            )
        )
    element = grid(
        [column.head.text for column in table.columns],
        records,
        [(cell.text, width) for cell, width in table.spans],
        [column.align for column in table.columns],
    )
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in table.notes)
    files = [f"{table.name}.{kind}" for kind in ("tex", "md", "csv")]
    return f"""<section id="table-{table.name}"><h2>{html.escape(table.title)}</h2>
<p>{html.escape(table.caption)}</p>{element}{notes}{_files(files)}</section>"""


def _figure(image: Picture) -> str:
    data = base64.b64encode(image.data).decode()
    alt = html.escape(f"{image.title}. {image.caption}", quote=True)
    return f"""<section id="figure-{image.name}"><h2>{html.escape(image.title)} (figure)</h2>
<figure class="static"><img src="data:{image.mime};base64,{data}" alt="{alt}">
<figcaption>{html.escape(image.caption)}</figcaption></figure></section>"""


def _files(files: Sequence[str]) -> str:
    links = " · ".join(f'<a href="{name}">{name}</a>' for name in files)
    return f'<p class="files">{links}</p>'


def _origin(study: Study, teacher: Sequence[str], command: str) -> str:
    """Say how the page was made, and which run teaches."""
    commits = ", ".join(f"<code>{html.escape(commit[:41])}</code>" for commit in study.commits)
    rest = "".join(f"<br>{html.escape(line.strip())}" for line in teacher[1:])
    return f"""<section><h2>Teacher and origin</h2>
<p class="teacher"><b>{html.escape(teacher[0])}</b>{rest}</p>
<p class="note">Made by <code>{html.escape(command)}</code> from runs of code {commits}
(+: with uncommitted changes). The statistics are explained in <code>docs/statistics.md</code>.</p>
</section>"""


def _relative(link: str, place: Path) -> str:
    """Return an address as it is, a path relative to the page."""
    if link.startswith(("https://", "http://")):
        return html.escape(link, quote=True)
    return html.escape(quote(os.fsencode(os.path.relpath(link, place)), safe="/"), quote=True)
