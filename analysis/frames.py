"""What a source gives: a `Run` per run with its levels, curves and episodes, and its students.

Tables, figures and statistics read nothing else, so runs may come from run folders or from any
other place that can fill these fields.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from s2m.run.rates import Rates
from s2m.run.status import FINISHED, PENDING

LEFT_OUT, NOT_EVALUATED = "left out", "not evaluated"
"""Why an evaluated policy has no rate: its evaluation is not compared, or has other levels."""

SYMMETRY = ("symmetry/diag_mean", "symmetry/frame_mean")
ELAPSED = "elapsed"
"""Name of the curve of seconds since the start, the sum of all iterations so far."""
POINTS = 1000
"""Points of a curve that are kept: more than a figure can show."""

Levels = dict[int, int]
"""The iteration at which each level began; the one a run starts with is absent."""


@dataclass(frozen=True)
class KRates(Rates):
    """The episodes of one policy at one number of balls, and how they began."""

    starts: str = ""
    """Equal for policies judged from the same starts, each once; empty if those are not known."""
    kept: bytes = b""
    """A byte per episode, in the order of the starts: 1 if no ball was dropped."""


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a finished run: what the tables report, and what selects the teacher."""

    iteration: int
    settings: Mapping[str, Any]
    """How it was made: episodes, seeds, order of the slots."""
    reported: Mapping[int, KRates]
    selection: Mapping[int, KRates]
    file: Path
    """The reported episodes, a row for each."""


@dataclass(frozen=True)
class Curves:
    """Metrics over iterations, thinned to about `POINTS`; a metric a row lacks is NaN."""

    iteration: np.ndarray
    metrics: Mapping[str, np.ndarray] = field(default_factory=dict)

    def get(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return iterations and values of a metric where it has one; empty if there is none."""
        if name not in self.metrics:
            return np.empty(0), np.empty(0)
        values = self.metrics[name]
        known = np.isfinite(values)
        return self.iteration[known], values[known]


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyRun:
    """What there is of a run and of a student alike."""

    id: str
    """Where it is kept, unique: `<experiment>/<folder>`."""
    name: str
    """`<variant>-s<seed>-<signature8>`."""
    link: str
    """Where a reader can look at it: a path or an address."""
    seed: int
    commit: str | None
    dirty: bool
    config: Mapping[str, Any]
    state: str
    reason: str
    """Why it failed, in one line."""
    iteration: int
    """Finished iterations, of a student epochs."""
    evaluation: Evaluation | None = None
    judging: str = PENDING
    """Where the evaluation of a finished run stands that has none yet."""
    remark: str = ""
    """What a reader must know about it, e.g. that its evaluation could not be read."""

    @property
    def missing(self) -> str:
        """The word for a rate it does not have."""
        if self.state != FINISHED:
            return self.state
        return self.judging if self.evaluation is None else NOT_EVALUATED

    @property
    def rates(self) -> Mapping[int, KRates]:
        """What the tables report by number of balls; nothing of a run that was not evaluated."""
        return self.evaluation.reported if self.evaluation else {}


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(AnyRun):
    """One run of one variant with one seed."""

    variant: str
    signature: str
    created: str
    code: str
    """Equal for runs whose code computes the same, as far as the source can tell."""
    levels: Levels
    group: str = ""
    """The symmetry group of its encoder, if the run says so; so are label and colour."""
    label: str = ""
    colour: str = ""
    checkpoint: str = ""
    """SHA-256 of its last checkpoint, where the source has it."""
    encoder_parameters: int | None = None
    actor_parameters: int | None = None
    seconds: float | None = None
    """Wall clock of all iterations."""
    curves: Curves = field(default_factory=lambda: Curves(np.empty(0)))

    @property
    def budget(self) -> int:
        """Iterations it may spend."""
        return int(self.config["budget"]["iterations"])

    @property
    def level(self) -> int:
        """The highest level reached."""
        return max(self.levels, default=int(self.config["curriculum"]["start"]))

    def began(self, k: int) -> int | None:
        """Return the iteration at which it first had k balls or more; None if it never did."""
        if int(self.config["curriculum"]["start"]) >= k:
            return 0
        return min((at for level, at in self.levels.items() if level >= k), default=None)

    def elapsed(self, iteration: int) -> float | None:
        """Return the seconds from the start to the end of an iteration, where that was kept."""
        at, seconds = self.curves.get(ELAPSED)
        found = np.flatnonzero(at == iteration)
        return float(seconds[found[0]]) if len(found) else None


@dataclass(frozen=True, eq=False, kw_only=True)
class StudentRun(AnyRun):
    """One tactile student of one teacher."""

    teacher: str
    """Name of its teacher's folder, or the agent that taught it."""
    taught_by: str
    """Signature of the teacher; empty for an agent."""
    taught_at: str
    """Where the teacher was kept, as its `id`; of some only the folder's name is known."""
    rounds: Sequence[Mapping[int, float]]
    """No-drop rates by number of balls after each round; the first is behaviour cloning."""


@dataclass(frozen=True)
class LeftOut:
    """A run (or its evaluation) that is in no table, and why."""

    id: str
    reason: str


@dataclass(frozen=True)
class Frames:
    """All runs of a source."""

    runs: list[Run]
    unread: list[LeftOut] = field(default_factory=list)
    students: list[StudentRun] = field(default_factory=list)
