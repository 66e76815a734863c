"""What people look at while runs train: one list for the W&B workspace and for the HTML page."""

from dataclasses import dataclass, fields
from typing import Any

from s2m.config.curriculum import AT_LEAST, CRITERIA, CurriculumCfg
from s2m.config.task import RewardCfg

MEANINGS = {
    "length_ratio": "episode length / longest",
    "margin": "mean minimum margin",
    "dangerous": "fraction of dangerous steps",
    "edge": "fraction of steps with a ball outside",
    "linear_error": "velocity error, m/s",
    "yaw_error": "yaw rate error, rad/s",
}
"""What the promotion criteria measure."""
THRESHOLD, THROUGHPUT = "threshold/", "throughput/"
"""Starts of the names of metrics that are not in the journal but follow from it."""
SAMPLES = f"{THROUGHPUT}samples_per_s"
_SETTINGS = ("tracking_width", "tail_share", "d_max")
"""Fields of the reward's config that are no weights of a term."""


@dataclass(frozen=True)
class View:
    """One panel: metrics over iterations, or final numbers as bars."""

    title: str
    metrics: tuple[str, ...]
    log: bool = False
    bars: bool = False


def sections() -> dict[str, list[View]]:
    """Return all panels by section."""
    levels = tuple(f"reached/level_{k}" for k in range(2, 6))
    terms = [item.name for item in fields(RewardCfg) if item.name not in _SETTINGS]
    return {
        "Curriculum": [
            View("number of balls", ("curriculum/level",)),
            View("iteration at which a level was reached", levels, bars=True),
        ],
        "Promotion criteria": [
            View(
                f"{MEANINGS[name]} ({'>=' if name in AT_LEAST else '<='} threshold)",
                (f"criteria/{name}", f"{THRESHOLD}{name}"),
            )
            for name in CRITERIA
        ],
        "Success": [
            View(title, tuple(f"evaluate/{metric}_k{k}" for k in range(1, 6)), bars=True)
            for metric, title in (("no_drop", "no drop, k = 1..5"), ("strict", "strict, k = 1..5"))
        ],
        "Symmetry gap": [
            View(f"change of the action under {group}, {kind}", (f"symmetry/{name}",), log=True)
            for name, group, kind in (
                ("diag_mean", "G_diag", "mean"), ("diag_max", "G_diag", "largest"),
                ("frame_mean", "G_frame", "mean"), ("frame_max", "G_frame", "largest"),
            )
        ],
        "Reward": [
            View("mean reward per step", ("reward/mean",)),
            *(View(f"reward term: {name}", (f"reward/{name}",)) for name in terms),
        ],
        "Learning": [
            View("value loss", ("loss/value",), log=True),
            View("surrogate loss", ("loss/surrogate",)),
            View("entropy", ("loss/entropy",)),
            View("standard deviation of actions", ("policy/std",)),
            View("learning rate", ("policy/learning_rate",), log=True),
        ],
        "Throughput": [
            View("samples per second", (SAMPLES,)),
            View("seconds: simulation", ("time/collect",)),
            View("seconds: update", ("time/update",)),
        ],
    }  # fmt: skip


def derived(config: dict[str, Any], row: dict[str, float]) -> dict[str, float]:
    """Return what a row of the journal implies: the level's thresholds, and the throughput.

    A student has neither.
    """
    found = {}
    if "curriculum/level" in row and "curriculum" in config:
        found = thresholds(config["curriculum"], int(row["curriculum/level"]))
    if row.get("time/iteration") and "budget" in config:
        samples = config["budget"]["num_envs"] * config["budget"]["steps"]
        found[SAMPLES] = samples / row["time/iteration"]
    return found


def thresholds(curriculum: dict[str, Any], level: int) -> dict[str, float]:
    """Return the thresholds of a level; the last level shows those before it."""
    found = {}
    for name in CRITERIA:
        # The default is made only where it is needed: a config that is complete asks a lot.
        limit = curriculum[name] if name in curriculum else getattr(CurriculumCfg(), name)
        value = limit[min(level, len(limit)) - 1] if isinstance(limit, list) else limit
        found[f"{THRESHOLD}{name}"] = float(value)
    return found
