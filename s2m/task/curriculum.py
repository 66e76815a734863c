"""The six-criterion curriculum over the number of balls (paper, appendix D).

An episode counts when it began at its step 0 within the present level. Failed episodes end sooner
than good ones, so "the last 200 finished" would be a biased sample just after a level change. The
window therefore takes episodes by when they began, and only those that began at least one full
episode length ago: all of them have ended, good or bad. Episodes that began together are taken
together: to cut between them would keep those that ended last, which are the long ones.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from s2m.config.curriculum import AT_LEAST, CRITERIA, CurriculumCfg
from s2m.task.scene import Scene


@dataclass(frozen=True)
class Criterion:
    """One promotion criterion: its windowed value against the level's threshold."""

    name: str
    value: float
    threshold: float

    @property
    def at_least(self) -> bool:
        """Whether the value must be large; otherwise it must be small."""
        return self.name in AT_LEAST

    @property
    def passed(self) -> bool:
        """Whether the criterion holds; an empty window (NaN) never passes."""
        if self.at_least:
            return self.value >= self.threshold
        return self.value <= self.threshold


@dataclass(frozen=True)
class LevelChange:
    """A promotion: the new level, the control step at which it began and the window behind it."""

    level: int
    step: int
    episodes: int
    criteria: dict[str, float]


class Curriculum:
    """Counts episodes of the present level and decides when the next one begins."""

    def __init__(self, cfg: CurriculumCfg, n: int, episode_steps: int, device: str) -> None:
        """Begin at level cfg.start with empty windows."""
        self.cfg, self.episode_steps = cfg, episode_steps
        self.level = cfg.start
        self.step = 0
        """Control steps since the run began."""
        self.level_began = 0
        self.successes = 0
        """Passed windows in a row."""
        self.episodes = 0
        """Counted episodes of the present level that are out of the running."""
        self.sums = torch.zeros(n, len(CRITERIA), device=device)
        """(n, 6) sums of the measures over the present episode; the first is its length."""
        self.began = torch.zeros(n, dtype=torch.long, device=device)
        """(n,) control step at which the present episode began."""
        self.counts = torch.ones(n, dtype=torch.bool, device=device)
        """(n,) whether the present episode counts."""
        self.finished = torch.zeros(0, 1 + len(CRITERIA), device=device, dtype=torch.float64)
        """(m, 7) begin step and sums of counted episodes, in the order of their end."""

    def record(self, scene: Scene) -> None:
        """Add one control step of every environment."""
        self.step += 1
        self.sums += torch.stack(
            [
                torch.ones_like(scene.minimum_margin),
                scene.minimum_margin,
                scene.dangerous.to(self.sums.dtype),
                scene.outside.any(-1).to(self.sums.dtype),
                scene.linear_error,
                scene.yaw_error,
            ],
            -1,
        )

    def finish(self, env_ids: Tensor) -> None:
        """Take up the episodes that just ended and begin new ones, which count."""
        if not len(env_ids):
            return
        done = env_ids[self.counts[env_ids]]
        if len(done):
            rows = torch.cat([self.began[done].unsqueeze(-1), self.sums[done]], -1)
            self.finished = torch.cat([self.finished, rows.to(self.finished.dtype)])
        self.restart(env_ids, counts=True)

    def restart(self, env_ids: Tensor, *, counts: bool) -> None:
        """Begin new episodes; those with a shifted clock must not count."""
        self.sums[env_ids] = 0.0
        self.began[env_ids] = self.step
        self.counts[env_ids] = counts

    def window(self) -> Tensor:
        """Return the sums (m, 6) of the latest complete episodes, cfg.window if there are as many.

        There are more of them if several began with the first.
        """
        complete = self.finished[self.finished[:, 0] <= self.step - self.episode_steps]
        return complete[complete[:, 0] >= self._first(complete[:, 0]), 1:]

    def _first(self, began: Tensor) -> Tensor:
        """Return when the first episode of a window began, of those that may be in it."""
        if not len(began):
            return began.new_tensor(0.0)
        return began.topk(min(self.cfg.window, len(began))).values[-1]

    def criteria(self) -> list[Criterion]:
        """Return the six criteria of the present window; NaN while it is empty.

        The length is a mean over episodes, the others are means over time steps.
        """
        window = self.window()
        values = [float("nan")] * len(CRITERIA)
        if len(window):
            total = window.sum(0)
            values = (total / total[0]).tolist()
            values[0] = total[0].item() / len(window) / self.episode_steps
        return [
            Criterion(name, value, self.threshold(name))
            for name, value in zip(CRITERIA, values, strict=True)
        ]

    def threshold(self, name: str) -> float:
        """Return the level's threshold of a criterion; the last level shows the one before it."""
        return self.cfg.threshold(name, self.level)

    def advance(self) -> LevelChange | None:
        """Check the window when it is due; on a pass begin the next level and return the event."""
        if (self.step - self.level_began) % self.cfg.check_steps:
            return None
        horizon = self.step - self.episode_steps
        self._prune(horizon)
        if self.level >= self.cfg.stop:
            return None
        counted = self.episodes + int((self.finished[:, 0] <= horizon).sum())
        ripe = self.step - self.level_began >= self.cfg.min_steps_per_level and counted >= max(
            self.cfg.min_stage_episodes, self.cfg.window
        )
        criteria = self.criteria()
        passed = ripe and all(item.passed for item in criteria)
        self.successes = self.successes + 1 if passed else 0
        if self.successes < self.cfg.required_successes:
            return None
        event = LevelChange(
            self.level + 1, self.step, counted, {item.name: item.value for item in criteria}
        )
        self.begin_level(self.level + 1)
        return event

    def begin_level(self, level: int) -> None:
        """Empty the windows for a new level; the environments must be reset."""
        self.level, self.level_began = level, self.step
        self.successes = self.episodes = 0
        self.finished = self.finished[:0]

    def _prune(self, horizon: int) -> None:
        """Forget what began before the window's reach: it can never be chosen again."""
        began = self.finished[:, 0]
        kept = began >= self._first(began[began <= horizon])
        self.episodes += len(kept) - int(kept.sum())
        self.finished = self.finished[kept]

    def state_dict(self) -> dict[str, Tensor | int]:
        """Return what a resumed run needs."""
        tensors = {name: getattr(self, name).clone() for name in _TENSORS}
        return {**tensors, **{name: getattr(self, name) for name in _NUMBERS}}

    def load_state_dict(self, state: dict[str, Tensor | int]) -> None:
        """Go on from a saved state."""
        for name in _TENSORS + _NUMBERS:
            value = state[name]
            setattr(self, name, value.clone() if isinstance(value, Tensor) else value)


_TENSORS = ("sums", "began", "counts", "finished")
_NUMBERS = ("level", "step", "level_began", "successes", "episodes")
