"""report.html: tables, figures and where each comes from, in one page that needs no network."""

import base64
import html
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from urllib.parse import quote

from analysis.figures.draw import Drawing
from analysis.frames import AnyRun
from analysis.study import Study
from analysis.tables.model import Table
from analysis.tables.write import to_html
from s2m.run.status import FAILED, FINISHED, PENDING, RUNNING, STOPPED

TEMPLATE = Path(__file__).parent / "report.html"
ORDER = (
    "table encoders", "figure success", "figure progression", "table rates", "table ablation",
    "figure ablation", "table effects", "figure diagnostic", "table seeds", "figure seeds",
    "table learning", "figure criteria", "table promotion", "figure survival",
    "table comparisons", "figure symmetry", "table tactset", "figure tactset", "figure rounds",
    "figure strip",
    "table published", "table costs", "table hyperparameters", "table thresholds", "table runs",
    "table left-out",
)  # fmt: skip
"""The page from top to bottom: every figure beside its table; what is not named comes last."""


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


def picture(drawing: Drawing, files: Mapping[str, bytes]) -> Picture:
    """Return a painted drawing as a picture."""
    names = [f"figures/{drawing.name}.{kind}" for kind in files]
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
    runs = {run.id: run for run in (*study.runs, *study.students)}
    sections = {f"table {table.name}": _table(table, runs, place) for table in tables}
    sections |= {f"figure {image.name}": _figure(image, runs, place) for image in pictures}
    titles = {f"table {table.name}": table.title for table in tables}
    titles |= {f"figure {image.name}": f"{image.title} (figure)" for image in pictures}
    order = sorted(sections, key=lambda key: ORDER.index(key) if key in ORDER else len(ORDER))
    contents = "\n".join(
        f'<a href="#{_anchor(key)}">{html.escape(titles[key])}</a>' for key in order
    )
    return Template(TEMPLATE.read_text()).substitute(
        title="S2M-Trek: results",
        head=_head(study, teacher, command),
        contents=contents,
        body="\n".join(sections[key] for key in order),
    )


def _anchor(key: str) -> str:
    return key.replace(" ", "-")


def _head(study: Study, teacher: Sequence[str], command: str) -> str:
    config = study.config or {}
    budget = config.get("budget", {})
    states = Counter(run.state for run in study.runs)
    evaluated = sum(run.evaluation is not None for run in study.runs)
    order = (FINISHED, RUNNING, STOPPED, FAILED, PENDING)
    said = ", ".join(f"{states[state]} {state}" for state in order if states[state])
    commits = ", ".join(f"<code>{html.escape(commit[:41])}</code>" for commit in study.commits)
    out = f"; {len(study.left_out)} notes on runs that were left out" if study.left_out else ""
    rest = "".join(f"<br>{html.escape(line.strip())}" for line in teacher[1:])
    return f"""<p>{len(study.runs)} runs of budget <b>{html.escape(str(budget.get("name")))}</b>
({budget.get("iterations"):,} iterations, {budget.get("num_envs"):,} environments, simulator
{html.escape(str(config.get("sim", {}).get("name")))}): {said}; {evaluated} evaluated{out}.</p>
<p class="note">Made by <code>{html.escape(command)}</code> from runs of code {commits}
(+: with uncommitted changes). The statistics are explained in <code>docs/statistics.md</code>.</p>
<p class="teacher"><b>{html.escape(teacher[0])}</b>{rest}</p>"""


def _table(table: Table, runs: Mapping[str, AnyRun], place: Path) -> str:
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in table.notes)
    behind = sorted({name for line in table.lines for name in line.runs})
    files = [f"{table.name}.{kind}" for kind in ("tex", "md", "csv")]
    return f"""<section id="table-{table.name}"><h2>{html.escape(table.title)}</h2>
<p>{html.escape(table.caption)}</p>
<div class="scroll">{to_html(table)}</div>
{notes}{_sources(files, behind, runs, place)}</section>"""


def _figure(image: Picture, runs: Mapping[str, AnyRun], place: Path) -> str:
    data = base64.b64encode(image.data).decode()
    alt = html.escape(f"{image.title}. {image.caption}", quote=True)
    return f"""<section id="figure-{image.name}"><h2>{html.escape(image.title)}</h2>
<figure><img src="data:{image.mime};base64,{data}" alt="{alt}">
<figcaption>{html.escape(image.caption)}</figcaption></figure>
{_sources(image.files, image.runs, runs, place)}</section>"""


def _sources(
    files: Sequence[str], names: Sequence[str], runs: Mapping[str, AnyRun], place: Path
) -> str:
    """Link the files and, folded away, the runs behind them with their commits."""
    links = " · ".join(f'<a href="{name}">{name}</a>' for name in files)
    known = [runs[name] for name in names if name in runs]
    items = "".join(
        f'<li><a href="{html.escape(_relative(run.link, place), quote=True)}">'
        f"{html.escape(run.id)}</a>, {run.state}, commit "
        f"<code>{html.escape((run.commit or 'unknown')[:10])}</code>"
        f"{' with changes' if run.dirty else ''}</li>"
        for run in known
    )
    behind = ""
    if known:
        said = f"{len(known)} run{'s' * (len(known) > 1)} behind it"
        behind = f"<details><summary>{said}</summary><ul>{items}</ul></details>"
    return f'<p class="files">{links}</p>{behind}'


def _relative(link: str, place: Path) -> str:
    """Return an address as it is, a path relative to the page."""
    if link.startswith(("https://", "http://")):
        return link
    return quote(os.fsencode(os.path.relpath(link, place)), safe="/")
