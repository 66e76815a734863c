"""Generated parts of the documentation: text between `<!-- name -->` and `<!-- /name -->`."""

from pathlib import Path

from s2m.console.errors import UserError


def _marks(page: Path, name: str) -> tuple[str, str, str]:
    text = page.read_text()
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if text.count(start) != 1 or text.count(end) != 1:
        raise UserError(f"{page} needs the lines {start} and {end}, once each")
    head, rest = text.split(start)
    inside, tail = rest.split(end)
    return head + start, inside, end + tail


def section(page: Path, name: str) -> str:
    """Return a generated part."""
    return _marks(page, name)[1].strip("\n")


def replace_section(page: Path, name: str, content: str) -> None:
    """Write a generated part."""
    head, _, tail = _marks(page, name)
    page.write_text(f"{head}\n{content}\n{tail}")
