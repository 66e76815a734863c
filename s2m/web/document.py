"""The page itself: one file with its style, its scripts, BokehJS and all data."""

import base64
import html
import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from string import Template

from s2m.console.errors import UserError
from s2m.web.charts import Chart, Style

HERE = Path(__file__).parent
BOKEH = ("bokeh.min.js", "bokeh-api.min.js")
"""What of BokehJS a page needs: its core, and the interface by which page.js calls it."""


@dataclass
class Document:
    """A page that is filled section by section."""

    title: str
    styles: Sequence[Style] = ()
    """The rows of its charts, each with a button that shows and hides it."""
    refresh: float | None = None
    """Seconds after which the browser loads it again."""
    runs: Sequence[str] = ()
    """HTML of what a table's rows point to: one entry per run."""
    _body: list[str] = field(default_factory=list)
    _data: list[str] = field(default_factory=list)

    def add(self, markup: str) -> None:
        """Append markup, in which all words from outside are escaped already."""
        self._body.append(markup)

    def add_charts(self, charts: Sequence[Chart | None], wide: bool = False) -> None:
        """Append charts side by side; what has no data has no axes either."""
        figures = []
        for chart in charts:
            if chart is None:
                continue
            name = f"data-{len(self._data)}"
            # A closing tag inside would end the script.
            text = json.dumps(chart.data, separators=(",", ":")).replace("<", "\\u003c")
            self._data.append(f'<script type="application/json" id="{name}">{text}</script>')
            title = html.escape(chart.title)
            figures.append(
                f'<figure><h3>{title}</h3><div class="chart" data-from="{name}" role="img" '
                f'aria-label="{html.escape(chart.title, quote=True)}"></div></figure>'
            )
        if figures:
            kind = "charts wide" if wide else "charts"
            self._body.append(f'<div class="{kind}">{"".join(figures)}</div>')

    def render(self) -> str:
        """Return the whole page; only the scripts that it was made with may run."""
        scripts = [*(_library() if self._data else ()), (HERE / "page.js").read_text()]
        hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
        policy = (
            f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; "
            f"script-src {hashes}"
        )
        return Template((HERE / "page.html").read_text()).substitute(
            title=html.escape(self.title),
            policy=policy,
            style=(HERE / "page.css").read_text(),
            refresh=f' data-refresh="{self.refresh:g}"' if self.refresh else "",
            chips=self._chips(),
            body="\n".join(self._body),
            runs="\n".join(f"<li>{entry}</li>" for entry in self.runs),
            scripts="\n".join([*self._data, *(f"<script>{script}</script>" for script in scripts)]),
        )

    def _chips(self) -> str:
        if not self._data or not self.styles:
            return ""
        chips = [
            f'<button data-row="{html.escape(style.name, quote=True)}" '
            f'data-colour="{style.colour}" aria-pressed="true">'
            f"<i{' class=dashed' * style.dashed}></i>{html.escape(style.name)}</button>"
            for style in self.styles
        ]
        return "".join([*chips, '<button class="runs" aria-pressed="false">every run</button>'])


@cache
def _library() -> list[str]:
    # Only the place of its files is needed: importing the package would take half a second.
    found = importlib.util.find_spec("bokeh")
    if found is None or not found.submodule_search_locations:
        raise UserError("the charts of a page need the package bokeh: pip install bokeh")
    folder = Path(found.submodule_search_locations[0]) / "server" / "static" / "js"
    return [(folder / name).read_text().replace("</script", "<\\/script") for name in BOKEH]


def _digest(script: str) -> str:
    return base64.b64encode(sha256(script.encode()).digest()).decode()
