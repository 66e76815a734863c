"""What mkdocs needs to show the pages of GitHub: three from outside of docs/, and their links."""

import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""Pages that lie beside docs/, and their names on the site."""
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")
LIST = re.compile(r"^(?!- |\d+\. |\s|\||#|<|$)(.+)\n(?=- |1\. )", re.M)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside."""
    for name, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Follow links as on GitHub, and part lists from the text above them."""
    outside = {place: name for name, place in OUTSIDE.items()}
    folder = ROOT if page.file.src_uri in outside else ROOT / "docs"

    def follow(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        path = Path(os.path.normpath(folder / target))
        if "://" in target or not path.is_relative_to(ROOT):
            return found[0]
        name = path.relative_to(ROOT).as_posix()
        if name in OUTSIDE:
            return f"]({OUTSIDE[name]}{anchor})"
        if name.startswith("docs/"):
            return f"]({name.removeprefix('docs/')}{anchor})"
        # A file of the code, which the site does not have: its name stays.
        return "]" if path.exists() else found[0]

    text = LIST.sub(r"\1\n\n", LINK.sub(follow, markdown))
    return re.sub(r"(?<!!)\[(`[^`\]]+`|[^\]\[]+)\](?![\[(:])", r"\1", text)
