"""When a run is promoted to one more ball."""

from dataclasses import dataclass

from s2m.config.fields import setting
from s2m.console.errors import UserError

CRITERIA = ("length_ratio", "margin", "dangerous", "edge", "linear_error", "yaw_error")
"""The six promotion criteria, in the paper's order."""

AT_LEAST = CRITERIA[:2]
"""Those that must be large; the others must be small."""


@dataclass
class CurriculumCfg:
    """Promotion from k to k + 1 balls (paper, appendix D)."""

    start: int = setting(1, "number of balls at the start", low=1, high=5)
    stop: int = setting(5, "number of balls at which promotion ends", low=1, high=5)
    length_ratio: float = setting(
        0.85, "smallest mean episode length, as a fraction of the longest", low=0, high=1
    )
    margin: list[float] = setting(
        [0.30, 0.25, 0.20, 0.15], "smallest mean minimum margin at levels 1..4", length=4
    )
    dangerous: list[float] = setting(
        [0.20, 0.25, 0.30, 0.35],
        "largest fraction of dangerous steps at levels 1..4",
        low=0,
        length=4,
    )
    edge: list[float] = setting(
        [0.02, 0.03, 0.04, 0.05], "largest fraction of steps with a ball outside", low=0, length=4
    )
    linear_error: list[float] = setting(
        [0.30, 0.35, 0.40, 0.45], "largest mean velocity error, m/s", low=0, length=4
    )
    yaw_error: list[float] = setting(
        [0.40, 0.45, 0.50, 0.55], "largest mean yaw rate error, rad/s", low=0, length=4
    )
    window: int = setting(
        2048, "episodes in the rolling window, once there are that many (unpublished)", low=1
    )
    check_steps: int = setting(24, "control steps between two evaluation windows", low=1)
    required_successes: int = setting(1, "windows in a row that must pass", low=1)
    min_stage_episodes: int = setting(2048, "counted episodes before a promotion", low=0)
    min_steps_per_level: int = setting(3200, "control steps before a promotion", low=0)
    stagger: bool = setting(
        True, "start each level at random episode times (those episodes do not count)"
    )

    def threshold(self, name: str, level: int) -> float:
        """Return a level's threshold of a criterion; the last level has that of the one before."""
        limit = getattr(self, name)
        return limit if isinstance(limit, float) else limit[min(level, len(limit)) - 1]

    def check(self) -> None:
        """Refuse a curriculum that begins beyond its end."""
        if self.start > self.stop:
            raise UserError(
                f"curriculum.start = {self.start}: allowed are at most as many balls as "
                f"curriculum.stop = {self.stop}"
            )
