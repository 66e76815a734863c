"""The rows of the tables: what each variant is called, its symmetry group, how it is drawn."""

from dataclasses import dataclass

GROUPS = {
    "flat_mlp": "G_0",
    "branch_mlp": "G_0",
    "dshc": "G_diag",
    "set_transformer": "G_diag",
    "set_transformer_pf": "G_frame",
    "pfds": "G_frame",
}
"""The group each encoder is invariant under by construction; its classes would import torch."""

GROUP_TEX = {"G_0": "$G_0$", "G_diag": r"$G_{\mathrm{diag}}$", "G_frame": r"$G_{\mathrm{frame}}$"}
GROUP_TEXT = {"G_0": "G₀", "G_diag": "G_diag", "G_frame": "G_frame"}

PAPER = (
    "flat_mlp", "branch_mlp", "dshc_off", "dshc", "set_transformer", "set_transformer_pf",
    "pfds_off", "pfds",
)  # fmt: skip
"""The eight rows of Table 1, in its order."""

CONTROLS = ("zero", "untrained", "lqr")
"""Rows that have learned nothing: see s2m/learning/controls.py."""

_LABELS = {
    "zero": ("Zero action", "Zero action"),
    "untrained": ("Untrained policy", "Untrained policy"),
    "lqr": ("LQR (clean state)", "LQR (clean state)"),
    "flat_mlp": ("Flat-MLP", r"\textsc{Flat-MLP}"),
    "branch_mlp": ("Branch-MLP", r"\textsc{Branch-MLP}"),
    "dshc": ("DSHC", r"\textsc{DSHC}"),
    "set_transformer": ("Set Transformer", "Set Transformer"),
    "set_transformer_pf": ("Set Transformer (PF)", "Set Transformer (PF)"),
    "pfds": ("PFDS", r"\textsc{PFDS}"),
}
# Okabe-Ito, which people with any colour vision can tell apart; the two without symmetry in grey.
_COLOURS = {
    "flat_mlp": "#999999",
    "branch_mlp": "#000000",
    "dshc": "#D55E00",
    "set_transformer": "#E69F00",
    "set_transformer_pf": "#009E73",
    "pfds": "#0072B2",
}
_OTHER = "#CC79A7"


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


def row(variant: str) -> Row:
    """Return the row of a variant; one that is not known keeps its own name."""
    encoder = variant.removesuffix("_off")
    permute = encoder == variant
    label, tex = _LABELS.get(encoder, (encoder, encoder.replace("_", r"\_")))
    if not permute:
        label += "_OFF"
        tex = tex[:-1] + r"\_OFF}" if tex.endswith("}") else tex + r"\_OFF"
    group = "–" if variant in CONTROLS else GROUPS.get(encoder, "?")
    colour = _COLOURS.get(encoder, _OTHER)
    return Row(variant, label, tex, group, permute, colour)


def in_order(variants: set[str]) -> list[str]:
    """Return the paper's eight rows, then whatever else was trained by name."""
    return [*PAPER, *sorted(variants - {*PAPER, *CONTROLS})]
