"""The figure of the encoders (the paper's Fig. 2): which balls are pooled, and what is read then.

An encoder that is not listed here, such as one from outside of s2m, is one box with its group.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Circle

from analysis.cohort import Cohort
from analysis.figures.draw import Drawing, is_narrow, leading
from analysis.figures.sheet import PAD, Area, Box, Sheet
from analysis.fixed import BALL_FRAMES, BALL_SIZE, BALL_SLOTS
from analysis.rows import GROUP_TEXT, encoder_row
from analysis.study import Study

FRAMES, SLOTS, ALL = "frames", "slots", "all"
"""What is encoded together: the balls of a frame, the history of a slot, or everything."""
STEPS = {
    "flat_mlp": (ALL, "join: everything; {HNd} | MLP: readout; → {w} → {r} → {e}"),
    "branch_mlp": (
        SLOTS,
        "MLP: each slot; {Hd} → {w} → {w} | join: slots; {N} × {w} | "
        "MLP: readout; {N}{w} → {r} → {e}",
    ),
    "dshc": (
        SLOTS,
        "φ: each slot; {Hd} → {w} → {w} | {pool}: all slots; {w} | ρ: readout; {w} → {r} → {e}",
    ),
    "set_transformer": (
        SLOTS,
        "ISAB: slots, {heads} heads; {Hd} → {w} | PMA: all slots; {w} | "
        "MLP: readout; {w} → {r} → {e}",
    ),
    "set_transformer_pf": (
        FRAMES,
        "ISAB: balls, {heads} heads; {d} → {w} | PMA: each frame; {w} | join: frames; {H} × {w} | "
        "MLP: readout; {Hw} → {r} → {e}",
    ),
    "pfds": (
        FRAMES,
        "φ: each ball; {d} → {w} → {w} | {pool}: each frame; {w} | join: frames; {H} × {w} | "
        "ρ: readout; {Hw} → {r} → {e}",
    ),
}
"""What each encoder of s2m keeps together, and its steps: of what, and the sizes.

Not in its class: that code decides which runs may be compared, and this decides nothing.
"""
OTHER = "{label}: {H} × {N} × {d} → {e}"
POOLS = {"sum": "Σ", "mean": "mean", "max": "max"}
SIZED = "pfds"
"""The encoder that has the widths of the config; the others' are fitted to its parameters."""
COLUMNS, GAP, STEP = 4, 0.12, 0.11
"""Places for steps side by side; inches from box to box, and from ball to ball."""
SAID, LEFT = 1.04, 0.04
"""Inches for what stands beside an encoder, and left of that."""


@dataclass(frozen=True)
class Lane:
    """One encoder: what it is called, what it encodes together, and its steps."""

    label: str
    group: str
    colour: str
    parameters: int | None
    together: str
    steps: Sequence[Box]
    run: str


def architecture(study: Study) -> Drawing | None:
    """Return the steps of every encoder of the study, the baseline's first."""
    first = leading(study)
    if first is None:
        return None
    cohorts = [first, *(cohort for cohort in study.cohorts.values() if cohort.runs)]
    lanes: dict[str, Lane] = {}
    for cohort in cohorts:
        lanes.setdefault(str(cohort.runs[0].config["encoder"]), _lane(cohort))
    fitted = any(cohort.runs[0].config["encoder"].get("name") != SIZED for cohort in cohorts)
    more = " Widths w and r are fitted to the parameters of PFDS." if fitted else ""
    return Drawing(
        "architecture",
        "Architecture of the encoders",
        f"From a history of {BALL_FRAMES} frames (rows) with {BALL_SLOTS} slots (columns) of "
        f"{BALL_SIZE} numbers to the embedding. An outline holds what is encoded together. "
        "Permuting slots cannot change the output, if all frames are permuted alike (G_diag) or "
        f"each in its own way (G_frame); with G₀ it can.{more}",
        lambda: _paint([*lanes.values()]),
        [lane.run for lane in lanes.values()],
    )


def _lane(cohort: Cohort) -> Lane:
    run = cohort.runs[0]
    config = run.config["encoder"]
    known = encoder_row(run)
    counts = [one.encoder_parameters for one in cohort.runs if one.encoder_parameters]
    name = "" if config.get("source") else config.get("name")
    together, text = STEPS.get(name, (ALL, OTHER))
    sizes = _sizes(config) | {"label": known.label}
    return Lane(
        known.label,
        GROUP_TEXT.get(known.group, known.group),
        cohort.row.colour,
        counts[0] if counts else None,
        together,
        [_step(text, sizes) for text in text.split(" | ")],
        run.id,
    )


def _step(text: str, sizes: Mapping[str, Any]) -> Box:
    title, *lines = [part.format(**sizes) for part in re.split("[:;] ", text)]
    return Box(title, lines)


def _sizes(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sizes of an encoder by the letters of its steps."""
    h, n, d = BALL_FRAMES, BALL_SLOTS, BALL_SIZE
    width, embedding, heads = (config.get(name, "?") for name in ("width", "embedding", "heads"))
    known = config.get("name") == SIZED and isinstance(width, int)
    w, r, joined = (width, 2 * width, h * width) if known else ("w", "r", f"{h}w")
    pool = str(config.get("pool"))
    return {
        "H": h, "N": n, "d": d, "Hd": h * d, "HNd": h * n * d, "Hw": joined, "w": w, "r": r,
        "e": embedding, "heads": heads, "pool": POOLS.get(pool, pool),
    }  # fmt: skip


def _paint(lanes: Sequence[Lane]) -> Figure:
    sheet, top = Sheet(), 0.04
    for lane in lanes:
        top = (_narrow if is_narrow() else _wide)(sheet, lane, top) + GAP
    return sheet.figure(top - GAP + 0.04)


def _facts(lane: Lane) -> list[str]:
    count = [f"{lane.parameters:,} parameters"] if lane.parameters else []
    return [lane.group, *count]


def _wide(sheet: Sheet, lane: Lane, top: float) -> float:
    """Draw an encoder from left to right and return where it ends."""
    end = sheet.heading(lane.label, LEFT, top, SAID)
    for text in _facts(lane):
        sheet.words(LEFT, end, text, sheet.small, "left")
        end += sheet.line(sheet.small)
    left = LEFT + SAID + PAD + BALL_SLOTS * STEP + GAP
    each = (sheet.width - LEFT - left - GAP * (COLUMNS - 1)) / COLUMNS
    alone, last = len(lane.steps) == 1, len(lane.steps) - 1
    wide = sheet.width - LEFT - left if alone else each
    height = max(BALL_FRAMES * STEP, *(sheet.height_of(box, wide) for box in lane.steps))
    # The readout stands last, however few steps there are before it.
    columns = [COLUMNS - 1 if 0 < i == last else i for i in range(len(lane.steps))]
    places = [Area(left + i * (each + GAP), top, wide, height) for i in columns]
    middle = places[0].middle[1]
    balls = _balls(sheet, lane, LEFT + SAID + PAD, middle - BALL_FRAMES * STEP / 2)
    for box, place, before in zip(lane.steps, places, [balls, *places], strict=False):
        sheet.box(replace(box, colour=lane.colour), place)
        sheet.arrow((before.right, middle), (place.left, middle))
    return max(end, balls.bottom, places[0].bottom)


def _narrow(sheet: Sheet, lane: Lane, top: float) -> float:
    """Draw an encoder below its name, a line for each step, and return where it ends."""
    width = sheet.width - 2 * LEFT
    top = sheet.heading(lane.label, LEFT, top, width)
    sheet.words(LEFT, top, ", ".join(_facts(lane)), sheet.small, "left")
    top += sheet.line(sheet.small) + 0.03
    balls = _balls(sheet, lane, LEFT, top + 0.02)
    left = balls.right + GAP
    lines = [f"{box.title} {': '.join(box.lines)}" for box in lane.steps]
    (place,) = sheet.row([Box("", lines, lane.colour)], left, top, sheet.width - LEFT - left, 0)
    sheet.arrow((balls.right, balls.middle[1]), (place.left, balls.middle[1]))
    return max(balls.bottom, place.bottom)


def _balls(sheet: Sheet, lane: Lane, left: float, top: float) -> Area:
    """Draw the history, a row of balls for each frame, and outline what is encoded together."""
    rows = BALL_FRAMES if lane.together == FRAMES else 1
    columns = BALL_SLOTS if lane.together == SLOTS else 1
    width, height = BALL_SLOTS * STEP, BALL_FRAMES * STEP
    for i in range(rows):
        for j in range(columns):
            part = Area(
                left + j * width / columns + 0.01, top + i * height / rows + 0.01,
                width / columns - 0.02, height / rows - 0.02,
            )  # fmt: skip
            sheet.frame(part, lane.colour, lw=0.6, gid="together")
    for i in range(BALL_FRAMES):
        for j in range(BALL_SLOTS):
            at = left + (j + 0.5) * STEP, top + (i + 0.5) * STEP
            sheet.axes.add_patch(Circle(at, 0.03, color=lane.colour, lw=0, zorder=2))
    return Area(left, top, width, height)
