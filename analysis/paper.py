"""The numbers of the paper, from paper.yaml."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).parent / "paper.yaml"


@cache
def published() -> dict[str, Any]:
    """Return everything the paper states, by section of the file."""
    return yaml.safe_load(FILE.read_text())
