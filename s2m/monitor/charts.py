"""Small charts as inline SVG: lines over iterations, and bars."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 340, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 8, 8, 22
"""Margins around the plot, in the same units."""


@dataclass(frozen=True)
class Trace:
    """Points over iterations; a dashed one is a limit and not a measurement."""

    name: str
    color: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


@dataclass(frozen=True)
class Bar:
    """A value with the group it belongs to."""

    name: str
    color: str
    group: str
    value: float


def line_chart(curves: Sequence[Trace], log: bool = False) -> str:
    """Draw curves; on a logarithmic axis only positive values are shown."""
    shown = [(curve, _drawable(curve.points, log)) for curve in curves]
    values = [y for _, points in shown for _, y in points]
    if not values:
        return _empty()
    last = max(x for _, points in shown for x, _ in points)
    low, high = _range(values)
    body = [_frame(_ticks(low, high), low, high, log)]
    for at, anchor in ((0, "middle"), (last // 2, "middle"), (last, "end")):
        body.append(_text(_across(at, last), HEIGHT - 6, _number(at), anchor))
    drawn = set()
    for curve, points in shown:
        path = " ".join(f"{_across(x, last):.1f},{_down(y, low, high):.1f}" for x, y in points)
        # Runs of one config share their limits: once is enough.
        if not points or (curve.dashed and path in drawn):
            continue
        drawn.add(path)
        kind = ' class="limit"' if curve.dashed else f' stroke="{curve.color}"'
        body.append(f"<polyline{kind} points='{path}'>{_title(curve.name)}</polyline>")
    return _svg(body)


def bar_chart(bars: Sequence[Bar]) -> str:
    """Draw bars side by side, group by group."""
    if not bars:
        return _empty()
    groups = list(dict.fromkeys(bar.group for bar in bars))
    high = max(bar.value for bar in bars) or 1.0
    body = [_frame(_ticks(0.0, high), 0.0, high, False)]
    span = (WIDTH - LEFT - RIGHT) / len(groups)
    for i, group in enumerate(groups):
        members = [bar for bar in bars if bar.group == group]
        width = 0.86 * span / len(members)
        for j, bar in enumerate(members):
            x, y = LEFT + i * span + 0.07 * span + j * width, _down(bar.value, 0.0, high)
            size = f'width="{max(width - 1, 0.5):.1f}" height="{HEIGHT - BOTTOM - y:.1f}"'
            name = _title(f"{bar.name}, {group}: {_number(bar.value)}")
            body.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{bar.color}">{name}</rect>')
        body.append(_text(LEFT + (i + 0.5) * span, HEIGHT - 6, group, "middle"))
    return _svg(body)


def _drawable(points: Sequence[tuple[float, float]], log: bool) -> list[tuple[float, float]]:
    found = [(x, y) for x, y in points if math.isfinite(y) and (y > 0 or not log)]
    return [(x, math.log10(y)) for x, y in found] if log else found


def _range(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    if high - low < 1e-12 * max(1.0, abs(high)):
        half = abs(high) / 2 or 0.5
        return low - half, high + half
    return low, high


def _ticks(low: float, high: float) -> list[float]:
    """Return round values inside a range, two to six of them."""
    step = 10.0 ** math.floor(math.log10(high - low))
    step = next(s for s in (step / 5, step / 2, step, 2 * step) if (high - low) / s <= 5)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def _across(x: float, last: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (x / last if last else 0.0)


def _down(y: float, low: float, high: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (y - low) / (high - low))


def _frame(ticks: Sequence[float], low: float, high: float, log: bool) -> str:
    parts = []
    for tick in ticks:
        y = _down(tick, low, high)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        label = f"{10**tick:.1e}" if log else _number(tick)
        parts.append(_text(LEFT - 4, y + 3.5, label, "end"))
    return "".join(parts)


def _number(value: float) -> str:
    size = abs(value)
    if size >= 1e4:
        return f"{value / 1e6:.3g}M" if size >= 1e6 else f"{value / 1e3:.3g}k"
    if size and size < 1e-3:
        return f"{value:.1e}"
    return f"{value:.4g}"


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{html.escape(text)}</text>'


def _title(text: str) -> str:
    return f"<title>{html.escape(text)}</title>"


def _empty() -> str:
    return _svg([_text(WIDTH / 2, HEIGHT / 2, "no data yet", "middle")])


def _svg(body: Sequence[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img">{"".join(body)}</svg>'
