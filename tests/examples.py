"""Shared: the complete examples of docs/extending.md, and trained runs of older schemas."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "extending.md"
OLDER = {
    1: ROOT / "results" / "desktop" / "encoders" / "pfds-s40-01e39876",
    2: ROOT / "tests" / "run" / "data" / "trained-2",
}
"""A run with a policy and its evaluation, by the schema version of its folder."""


def examples() -> dict[str, str]:
    """Return the code of every block by what stands behind the # of its first line."""
    blocks = re.findall(
        r"^```(?:python|yaml)\n# ([^\n]+)\n(.*?)^```$", PAGE.read_text(), re.M | re.S
    )
    return dict(blocks)


def write_encoder(folder: Path) -> Path:
    """Write the encoder of one's own into an empty folder, and return that."""
    for name in ("gated_sets.py", "gated_sets.yaml"):
        path = folder / "encoder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(examples()[f"mine/encoder/{name}"])
    return folder
