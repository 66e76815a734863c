"""Charts as data: curves of rows with bands over their seeds, and points by group.

BokehJS draws them in the browser (page.js); numbers travel as 32-bit floats in base64.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

POINTS = 100
"""Points of a curve: as many as a chart of some hundred pixels can show."""


@dataclass(frozen=True)
class Style:
    """How a row looks in every chart."""

    name: str
    colour: str
    dashed: bool = False


@dataclass(frozen=True)
class Series:
    """The values of one run over iterations."""

    row: str
    name: str
    x: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Point:
    """One value of one run in a group, as the success rate at a number of balls."""

    row: str
    name: str
    group: str
    value: float


@dataclass(frozen=True)
class Chart:
    """A chart with its heading; `data` is what page.js draws."""

    title: str
    data: dict[str, Any]


def curves(
    title: str,
    y_label: str,
    styles: Sequence[Style],
    series: Sequence[Series],
    limits: Sequence[Series] = (),
    log: bool = False,
    step: bool = False,
) -> Chart | None:
    """Return medians, bands from the lowest to the highest seed, and every run; None if empty.

    `limits` are thresholds, of which each row has the median. On a logarithmic axis only positive
    values are shown. Where a run has no value its line is broken.
    """
    known = [_drawable(one, log) for one in series]
    known = [one for one in known if len(one.x)]
    if not known:
        return None
    grid = _grid([one.x for one in known])
    rows = []
    for style in styles:
        runs = [one for one in known if one.row == style.name]
        if not runs:
            continue
        values = np.array([_on(grid, one, step) for one in runs])
        low, middle, high = _summary(values, step)
        row = {"row": style.name, "colour": style.colour, "dashed": style.dashed}
        row |= {"middle": _packed(middle), "n": len(runs)}
        if len(runs) > 1:
            row |= {"low": _packed(low), "high": _packed(high)}
            pairs = zip(runs, values, strict=True)
            row["runs"] = [{"name": run.name, "y": _packed(y)} for run, y in pairs]
        bounds = [_drawable(one, log) for one in limits if one.row == style.name]
        if bounds := [_on(grid, one, step=True) for one in bounds]:
            row["limit"] = _packed(_summary(np.array(bounds), step=True)[1])
        rows.append(row)
    data = {
        "kind": "curves", "x": _packed(grid), "x_label": "iteration", "y_label": y_label,
        "log": log, "step": step, "rows": rows,
    }  # fmt: skip
    return Chart(title, data)


def points(
    title: str,
    x_label: str,
    y_label: str,
    styles: Sequence[Style],
    found: Sequence[Point],
    percent: bool = False,
) -> Chart | None:
    """Return a dot per run, and a bar from the lowest to the highest with the median."""
    groups = list(dict.fromkeys(point.group for point in found))
    rows = []
    for style in styles:
        own = [point for point in found if point.row == style.name]
        if not own:
            continue
        middles = []
        for group in groups:
            if values := [point.value for point in own if point.group == group]:
                low, middle, high = min(values), float(np.median(values)), max(values)
                middles.append([groups.index(group), low, middle, high, len(values)])
        dots = [[groups.index(p.group), _short(p.value), p.name] for p in own]
        rows.append({"row": style.name, "colour": style.colour, "hollow": style.dashed,
                     "middles": middles, "dots": dots})  # fmt: skip
    if not rows:
        return None
    data = {
        "kind": "points", "groups": groups, "x_label": x_label, "y_label": y_label,
        "percent": percent, "rows": rows,
    }  # fmt: skip
    return Chart(title, data)


def _drawable(series: Series, log: bool) -> Series:
    x, y = np.asarray(series.x, dtype=float), np.asarray(series.y, dtype=float)
    kept = np.isfinite(y) & (y > 0) if log else np.isfinite(y)
    return Series(series.row, series.name, x[kept], y[kept])


def _grid(iterations: Sequence[np.ndarray]) -> np.ndarray:
    """Return the iterations that curves share: all of few, else evenly from first to last."""
    every = np.unique(np.concatenate(iterations))
    if len(every) <= POINTS:
        return every
    return np.unique(np.linspace(every[0], every[-1], POINTS).round())


def _on(grid: np.ndarray, series: Series, step: bool) -> np.ndarray:
    """Return the newest value up to each place of the grid; NaN where none came since the last.

    Steps hold until the next one, up to the last iteration of the run.
    """
    if not len(series.x):
        return np.full(len(grid), np.nan)
    at = np.searchsorted(series.x, grid, side="right") - 1
    found = np.where(at >= 0, series.y[at], np.nan)
    if step:
        return np.where(grid <= series.x[-1], found, np.nan)
    before = np.concatenate([[-np.inf], grid[:-1]])
    return np.where(series.x[at] > before, found, np.nan)


def _summary(values: np.ndarray, step: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lowest, median and highest of the runs that have a value, at least half of them.

    Of steps the lower median: a level between two numbers of balls does not exist.
    """
    low, middle, high = np.full((3, values.shape[1]), np.nan)
    enough = np.isfinite(values).sum(axis=0) * 2 >= len(values)
    if enough.any():
        # Sorted at once: numpy's nanpercentile would take every place by itself.
        known = np.sort(values[:, enough], axis=0)  # NaN comes last
        last = np.isfinite(known).sum(axis=0) - 1
        at = np.arange(known.shape[1])
        low[enough], high[enough] = known[0], known[last, at]
        below, above = known[last // 2, at], known[(last + 1) // 2, at]
        middle[enough] = below if step else (below + above) / 2
    return low, middle, high


def _packed(values: np.ndarray) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


def _short(value: float) -> float:
    return float(f"{value:.6g}")
