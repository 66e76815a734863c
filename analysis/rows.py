"""The rows of the tables: what each variant is called, its symmetry group, how it is drawn.

A run says so itself; of older ones, and for rows without a run, the encoder's class does.
"""

from dataclasses import dataclass
from zlib import crc32

from analysis.frames import Run
from analysis.tables.model import escape
from s2m.config.encoder import Card, cards

GROUP_TEX = {"G_0": "$G_0$", "G_diag": r"$G_{\mathrm{diag}}$", "G_frame": r"$G_{\mathrm{frame}}$"}
GROUP_TEXT = {"G_0": "G₀", "G_diag": "G_diag", "G_frame": "G_frame"}

PAPER = (
    "flat_mlp", "branch_mlp", "dshc_off", "dshc", "set_transformer", "set_transformer_pf",
    "pfds_off", "pfds",
)  # fmt: skip
"""The eight rows of Table 1, in its order."""

CONTROLS = ("zero", "untrained", "lqr")
"""Rows that have learned nothing: see s2m/learning/controls.py."""

_CONTROLS = {
    "zero": "Zero action", "untrained": "Untrained policy", "lqr": "LQR (clean state)",
}  # fmt: skip
_PALETTE = ("#CC79A7", "#56B4E9", "#7A5195", "#8C6D31", "#17BECF", "#B5651D")
"""For encoders without a colour of their own; apart from each other and from those of s2m."""


@dataclass(frozen=True)
class Row:
    """One variant: an encoder with or without slot permutation."""

    variant: str
    label: str
    tex: str
    group: str
    """G_0, G_diag, G_frame, – for a control, or ? for an encoder this page does not know."""
    permute: bool
    colour: str

    @property
    def is_control(self) -> bool:
        """Whether it has learned nothing."""
        return self.variant in CONTROLS

    @property
    def dashes(self) -> str:
        """The line style: dashed without permutation."""
        return "-" if self.permute else "--"


def row(variant: str, run: Run | None = None) -> Row:
    """Return the row of a variant as its runs, or the encoder's class, describe it."""
    encoder = variant.removesuffix("_off")
    permute = encoder == variant
    known = cards().get(encoder, Card(encoder, "?", encoder))
    label = (run.label if run else "") or _CONTROLS.get(variant, known.label)
    tex = known.tex if known.tex and label == known.label else escape(label)
    if not permute:
        label += "_OFF"
        tex = tex[:-1] + r"\_OFF}" if tex.endswith("}") else tex + r"\_OFF"
    group = "–" if variant in CONTROLS else (run.group if run else "") or known.group
    colour = (run.colour if run else "") or known.colour or _free_colour(encoder)
    return Row(variant, label, tex, group, permute, colour)


def _free_colour(encoder: str) -> str:
    """Return one of the palette, the same for a name in every figure."""
    return _PALETTE[crc32(encoder.encode()) % len(_PALETTE)]


def in_order(variants: set[str]) -> list[str]:
    """Return the paper's eight rows, then whatever else was trained by name."""
    return [*PAPER, *sorted(variants - {*PAPER, *CONTROLS})]
