"""Put tables and figures of a study into the documentation.

python analysis/publish.py TABLES [PAGE ...] fills the places marked `<!-- table NAME -->` and
`<!-- figure NAME -->` in README.md and docs/results.md, or in other pages, from what make_tables.py
wrote to TABLES. A name such as frozen/effects is that of a table in TABLES/frozen.
"""

import argparse
import html
import os
import re
from collections.abc import Sequence
from pathlib import Path

from analysis.docs import replace_section
from s2m.console.errors import UserError, run_command

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "results.md")
FIGURES = ROOT / "docs" / "figures" / "study"
_CAPTION = re.compile(r"<dc:description>(.*?)</dc:description>", re.DOTALL)
_PLACE = re.compile(r"<!-- (table|figure) ((?:[a-z0-9-]+/)?[a-z0-9-]+) -->")


def places(page: Path) -> list[tuple[str, str]]:
    """Return the kind and name of everything a page shows of a study."""
    return _PLACE.findall(page.read_text())


def read(tables: Path, kind: str, name: str) -> str | bytes:
    """Return a table as Markdown without its heading, or a figure as SVG."""
    inner, _, name = name.rpartition("/")
    tables = tables / inner
    if not (tables / "teacher.json").exists():
        raise UserError(f"{tables} is not what make_tables.py has written: it has no teacher.json")
    path = tables / (f"{name}.md" if kind == "table" else f"figures/{name}.svg")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; is {name} a {kind}?") from None
    return data.decode().split("\n", 2)[2].strip("\n") if kind == "table" else data


def caption(figure: bytes) -> str:
    """Return what an SVG says of itself, as the text of an image in Markdown."""
    found = _CAPTION.search(figure.decode())
    return re.sub(r"[][\\]", r"\\\g<0>", html.unescape(found[1])) if found else ""


def publish(tables: Path, pages: Sequence[Path] = PAGES, figures: Path = FIGURES) -> int:
    """Fill all places and return how many there were."""
    wanted = [(page, kind, name) for page in pages for kind, name in places(page)]
    # All is read before anything is written: a wrong folder leaves the pages as they are.
    contents = [read(tables, kind, name) for _, kind, name in wanted]
    for (page, kind, name), content in zip(wanted, contents, strict=True):
        if isinstance(content, bytes):
            picture = figures / f"{name}.svg"
            picture.parent.mkdir(parents=True, exist_ok=True)
            picture.write_bytes(content)
            link = Path(os.path.relpath(picture, page.parent)).as_posix()
            content = f"![{caption(content) or name}]({link})"
        replace_section(page, f"{kind} {name}", content)
    return len(wanted)


def main(words: list[str]) -> None:
    """Publish and say how much."""
    parser = argparse.ArgumentParser(
        prog="analysis/publish.py", description="Put tables and figures into the documentation."
    )
    parser.add_argument("tables", type=Path, help="folder that make_tables.py has written")
    parser.add_argument("pages", type=Path, nargs="*", help="other pages than README and results")
    options = parser.parse_args(words)
    pages = options.pages or PAGES
    figures = FIGURES.parent / pages[0].stem if options.pages else FIGURES
    count = publish(options.tables, pages, figures)
    print(f"{count} tables and figures written into the documentation")


if __name__ == "__main__":
    run_command(main)
