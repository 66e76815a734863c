"""A figure of boxes and words: laid out from the top in inches, as high as its words need.

Words are measured by their outlines, broken to the width they have, and never drawn smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

PAD = 0.05
"""Inches between words and their box."""
LEADING = 1.25
"""Distance of lines, in letters."""
TIE = "\u00a0"
"""A space at which no line is broken."""
EDGE = "0.35"
"""Grey of lines."""


@dataclass(frozen=True)
class Box:
    """A title and what is said below it."""

    title: str
    lines: Sequence[str] = ()
    colour: str = EDGE


@dataclass(frozen=True)
class Area:
    """Where something stands, in inches from the upper left corner."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """Its right edge."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Its lower edge."""
        return self.top + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return self.left + self.width / 2, self.top + self.height / 2


@cache
def width_of(text: str, size: float, weight: str = "normal") -> float:
    """Return how many inches a line of text takes."""
    font = FontProperties(size=size, weight=weight)
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def tied(text: str) -> str:
    """Return a text that is not broken."""
    return text.replace(" ", TIE)


def broken(text: str, width: float, size: float, weight: str = "normal") -> list[str]:
    """Break a text into lines no wider than a width; a word that is wider is cut."""
    lines, rest = [], text.split(" ")
    while rest:
        line, *rest = rest
        while rest and width_of(f"{line} {rest[0]}", size, weight) <= width:
            line = f"{line} {rest.pop(0)}"
        fits = len(line)
        while fits > 1 and width_of(line[:fits], size, weight) > width:
            fits -= 1
        lines.append(line[:fits])
        if fits < len(line):
            rest.insert(0, line[fits:])
    return lines


class Sheet:
    """Collects what is drawn; `figure` then makes a figure of the height it came to."""

    def __init__(self) -> None:
        """Begin at the top, with the width and the letters of the style in force."""
        given = matplotlib.rcParams
        self.width = float(given["figure.figsize"][0])
        self.large, self.small = float(given["font.size"]), float(given["legend.fontsize"])
        self._figure = Figure(figsize=(self.width, 1.0))
        self._figure.set_layout_engine("none")
        self.axes = self._figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self.axes.set_axis_off()

    def figure(self, height: float) -> Figure:
        """Return the figure, cut below a height."""
        self._figure.set_size_inches(self.width, height)
        self.axes.set(xlim=(0, self.width), ylim=(height, 0))
        return self._figure

    def line(self, size: float) -> float:
        """Return the height of a line of letters."""
        return size * LEADING / 72

    def words(
        self, x: float, top: float, text: str, size: float, align: str = "center", **style
    ) -> None:
        """Write a line that begins `top` inches below the upper edge."""
        text = text.replace(TIE, " ")
        self.axes.text(x, top + size / 72, text, size=size, ha=align, va="baseline", **style)

    def frame(self, place: Area, colour: str = EDGE, fill: str = "white", **style) -> None:
        """Draw a rounded rectangle."""
        style = {"lw": 0.8, "gid": "box", "zorder": 1.0} | style
        self.axes.add_patch(
            FancyBboxPatch(
                (place.left, place.top), place.width, place.height,
                boxstyle="round,pad=0,rounding_size=0.04", ec=colour, fc=fill, **style,
            )
        )  # fmt: skip

    def height_of(self, box: Box, width: float) -> float:
        """Return how high a box must be for its words."""
        title, lines = self._broken(box, width)
        return 2 * PAD + len(title) * self.line(self.large) + len(lines) * self.line(self.small)

    def box(self, box: Box, place: Area) -> None:
        """Draw a box with its words."""
        self.frame(place, box.colour)
        title, lines = self._broken(box, place.width)
        x, top = place.middle[0], place.top + PAD
        for text in title:
            self.words(x, top, text, self.large, weight="bold")
            top += self.line(self.large)
        for text in lines:
            self.words(x, top, text, self.small)
            top += self.line(self.small)

    def heading(self, text: str, left: float, top: float, width: float) -> float:
        """Write a text in bold letters from the left and return where it ends."""
        for part in broken(text, width, self.large, "bold"):
            self.words(left, top, part, self.large, "left", weight="bold")
            top += self.line(self.large)
        return top

    def _broken(self, box: Box, width: float) -> tuple[list[str], list[str]]:
        inner = width - 2 * PAD
        title = broken(box.title, inner, self.large, "bold") if box.title else []
        lines = [part for line in box.lines for part in broken(line, inner, self.small)]
        return title, lines

    def row(
        self,
        boxes: Sequence[Box],
        left: float,
        top: float,
        width: float,
        gap: float,
        shares: Sequence[int] = (),
    ) -> list[Area]:
        """Draw boxes of one height side by side and return their places.

        `shares` are the columns that each of them spans, by default one.
        """
        shares = shares or [1] * len(boxes)
        each = (width - gap * (sum(shares) - 1)) / sum(shares)
        widths = [share * each + (share - 1) * gap for share in shares]
        height = max(self.height_of(box, w) for box, w in zip(boxes, widths, strict=True))
        places = []
        for box, wide in zip(boxes, widths, strict=True):
            places.append(Area(left, top, wide, height))
            self.box(box, places[-1])
            left += wide + gap
        return places

    def arrow(self, *points: tuple[float, float], colour: str = EDGE) -> None:
        """Draw a line over some points that ends in an arrow head."""
        path = [*points]
        x, y = zip(*path[:-1], strict=True)
        self.axes.plot(x, y, color=colour, lw=0.9, solid_capstyle="butt")
        style = {"arrowstyle": "-|>", "color": colour, "lw": 0.9, "shrinkA": 0, "shrinkB": 0}
        self.axes.annotate("", path[-1], path[-2], arrowprops=style | {"mutation_scale": 6})
