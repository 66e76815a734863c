"""Settings of a set encoder, and what encoders say of themselves, read without importing torch."""

import ast
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from s2m.config.fields import setting
from s2m.console.errors import UserError, unknown

FOLDER = Path(__file__).resolve().parents[1] / "encoders"
POOLS = ("sum", "mean", "max")
GROUPS = ("G_0", "G_diag", "G_frame")
"""The symmetry groups an encoder may declare, from none to the largest."""


@dataclass
class EncoderCfg:
    """A set encoder; `width` sizes PFDS, every other encoder gets as many parameters."""

    name: str = setting("pfds", "which encoder")
    width: int = setting(
        32, "hidden width of PFDS; every other encoder gets as many parameters as PFDS then has",
        low=4,
    )  # fmt: skip
    embedding: int = setting(32, "size of the output", low=1)
    pool: str = setting("sum", "pooling of Deep Sets over active balls", choices=POOLS)
    heads: int = setting(4, "attention heads of Set Transformers", low=1)
    inducing: int = setting(4, "inducing points of Set Transformers", low=1)
    source: str = setting(
        "", "SHA-256 of an encoder's file outside of s2m; filled in by the launch", since="0.2"
    )

    def check(self) -> None:
        """Refuse a name that nobody bears; code of one's own is known by its sum."""
        if not self.source and self.name not in cards():
            raise unknown("encoder.name", self.name, cards())


@dataclass(frozen=True)
class Card:
    """What the class of an encoder says of itself: plain text and numbers in its body."""

    name: str
    group: str
    """The largest group of slot permutations that cannot change its output."""
    label: str
    """Its name in tables and legends."""
    tex: str = ""
    """The same in LaTeX, where that is not the label itself."""
    colour: str = ""
    """As #RRGGBB; empty: a free one of the palette."""
    kept: int = 0
    """Bytes that actor and critic keep of a sample for its gradients at size=paper; 0: unknown."""


_SAID = {item.name: item.type for item in fields(Card)}


@cache
def cards() -> dict[str, Card]:
    """Return the encoders of s2m by name, from the smallest to the largest group."""
    found = [card for path in FOLDER.glob("*.py") if (card := _card(path))]
    return {
        card.name: card for card in sorted(found, key=lambda c: (GROUPS.index(c.group), c.name))
    }


def read_card(path: Path) -> Card:
    """Return the card of an encoder's file, which is parsed and not executed."""
    card = _card(path)
    if card is None:
        raise UserError(
            f'{path} has no encoder: a class with name = "{path.stem}", a group '
            f"({', '.join(GROUPS)}) and a label, as s2m/encoders/pfds.py has them"
        )
    return card


def _card(path: Path) -> Card | None:
    try:
        return parse_card(path.read_bytes(), path.stem)
    except (SyntaxError, ValueError) as error:
        raise UserError(f"{path} is not valid Python: {error}") from None


def parse_card(text: bytes, name: str) -> Card | None:
    """Look in an encoder's code for the class that bears a name, and return what it says."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            said = {
                key: value for key, value in _constants(node).items() if type(value) is _SAID[key]
            }
            if said.get("name") == name and said.get("group") in GROUPS and "label" in said:
                return Card(**said)
    return None


def _constants(node: ast.ClassDef) -> dict[str, Any]:
    return {
        statement.targets[0].id: statement.value.value
        for statement in node.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and isinstance(statement.value, ast.Constant)
        and statement.targets[0].id in _SAID
    }
