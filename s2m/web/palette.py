"""Colours of rows: an encoder's own where it is free, else one that no other row has."""

from collections.abc import Mapping

DISTINCT = (
    "#CC79A7", "#56B4E9", "#7A5195", "#8C6D31", "#17BECF", "#B5651D", "#D62728", "#98A614",
    "#0072B2", "#D55E00", "#009E73", "#E69F00", "#4B5FD1", "#F781BF", "#5E8C61", "#999999",
)  # fmt: skip
"""Most of them stay apart for the colour-blind, and all on white and on black."""


def assign(wanted: Mapping[str, str]) -> dict[str, str]:
    """Return a colour for every row; `wanted` has what its encoder says, or nothing.

    The first row that wants a colour gets it. More rows than colours share some.
    """
    found: dict[str, str] = {}
    for row, colour in wanted.items():
        if colour and colour not in found.values():
            found[row] = colour
    for row in wanted:
        if row not in found:
            free = [colour for colour in DISTINCT if colour not in found.values()]
            found[row] = free[0] if free else DISTINCT[len(found) % len(DISTINCT)]
    return {row: found[row] for row in wanted}
