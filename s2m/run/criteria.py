"""The six promotion criteria of a run as people read them: met, missed, or not yet known."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from s2m.config.curriculum import AT_LEAST, CRITERIA, CurriculumCfg

MET, MISSED, NOT_YET = "met", "missed", "not yet"
PREFIX = "criteria/"
"""Start of their names in the metrics; a value that is not known is not there."""


@dataclass(frozen=True)
class Reading:
    """The value of one criterion beside the threshold of the level."""

    name: str
    value: float
    threshold: float

    @property
    def verdict(self) -> str:
        """Whether it is met; `not yet` until the window has its first complete episode."""
        if math.isnan(self.value):
            return NOT_YET
        large = self.value >= self.threshold
        small = self.value <= self.threshold
        return MET if (large if self.name in AT_LEAST else small) else MISSED

    @property
    def needed(self) -> str:
        """What the value must be."""
        return f"{'>=' if self.name in AT_LEAST else '<='} {self.threshold:g}"

    @property
    def shown(self) -> str:
        """The value, to three digits behind the point."""
        return "–" if math.isnan(self.value) else f"{self.value:.3f}"


def read(cfg: CurriculumCfg, level: int, row: Mapping[str, float]) -> list[Reading]:
    """Return the criteria of a row of metrics against the thresholds of its level."""
    return [
        Reading(name, row.get(f"{PREFIX}{name}", math.nan), cfg.threshold(name, level))
        for name in CRITERIA
    ]


def in_line(readings: list[Reading]) -> str:
    """Write all criteria in one line, by verdict."""
    parts = []
    for verdict in (MET, MISSED, NOT_YET):
        found = [item for item in readings if item.verdict == verdict]
        texts = {
            MET: [f"{item.name} {item.shown}" for item in found],
            MISSED: [f"{item.name} {item.shown} (needs {item.needed})" for item in found],
            NOT_YET: [item.name for item in found],
        }
        if found:
            parts.append(f"{verdict}: {', '.join(texts[verdict])}")
    return "; ".join(parts)
