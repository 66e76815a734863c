"""The schema of a distillation; it imports neither torch nor a simulator."""

from dataclasses import dataclass, field, replace
from typing import Any

from s2m.config.cluster import LocalCfg
from s2m.config.env import EnvCfg
from s2m.config.evaluate import EvaluationCfg
from s2m.config.fields import setting
from s2m.config.sim import MujocoCfg
from s2m.config.task import TaskCfg
from s2m.config.tracking import TrackingCfg

AGENTS = ("lqr",)
"""Reference agents that can stand in for a trained teacher."""


@dataclass
class DistillCfg:
    """How much a student is taught, and its size; the defaults are the paper's (appendix B).

    Epochs are the ancestor LocoTouch's: the paper does not give them.
    """

    name: str = setting("paper", "name of the budget, kept with the run", decides=False)
    version: int = setting(
        1, "raised whenever a budget file changes what a run computes", low=1, decides=False
    )
    rounds: int = setting(8, "rounds: behaviour cloning, then DAgger", low=1)
    bc_steps: int = setting(400_000, "steps of round 0, in which the teacher acts", low=1)
    dagger_steps: int = setting(200_000, "steps of each later round, the student acting", low=1)
    num_envs: int = setting(400, "environments in which steps are collected", low=1)
    levels: list[int] = setting(
        [1, 2, 3, 4, 5], "numbers of balls, the environments divided evenly", low=1, high=5
    )
    labels: str = setting(
        "clean", "balls by which the teacher labels: without its sensor noise or with it",
        choices=["clean", "noisy"],
    )  # fmt: skip
    teacher_batch: int = setting(2048, "rows that the teacher labels at once", low=1)
    epochs: int = setting(2000, "passes over all steps so far in round 0", low=1)
    epochs_more: int = setting(500, "further passes with each later round", low=0)
    batch: int = setting(20_000, "steps in a batch of whole trajectories, padding included", low=1)
    learning_rate: float = setting(5e-4, "learning rate of AdamW at the start of a round", above=0)
    decay: float = setting(
        1.0, "learning rate at the end of a round / at its start", above=0, high=1
    )
    weight_decay: float = setting(0.01, "weight decay of AdamW", low=0)
    max_grad_norm: float = setting(1.0, "largest gradient norm", above=0)
    channels: int = setting(64, "channels of the 3 x 3 convolutions", low=1)
    gru: int = setting(512, "units of the GRU", low=1)
    memory: bool = setting(
        True, "keep the GRU's state between steps; false: only the four frames",
        since="0.2",
    )  # fmt: skip
    embedding: int = setting(64, "numbers between convolutions, GRU and policy head", low=1)
    hidden: list[int] = setting([512, 256, 128], "hidden layers of the policy head", low=1)
    round_episodes: int = setting(
        20, "episodes per number of balls by which each round is evaluated", low=1
    )
    round_seed: int = setting(3000, "seed of those episodes", low=0, high=2**63 - 1)
    checkpoint_every: int = setting(50, "epochs between two checkpoints", low=1, decides=False)
    keep_data: bool = setting(False, "keep the collected steps after the last round", decides=False)

    @property
    def schedule(self) -> list[int]:
        """What decides how many epochs there are: rounds, epochs and further ones per round."""
        return [self.rounds, self.epochs, self.epochs_more]

    def epochs_of(self, round_: int) -> int:
        """Return the passes over the data in a round."""
        return self.epochs + round_ * self.epochs_more

    def total_epochs(self) -> int:
        """Return the iterations of the whole distillation."""
        more = self.rounds * (self.rounds - 1) // 2 * self.epochs_more
        return self.rounds * self.epochs + more


@dataclass
class TaughtByCfg:
    """Which teacher it is, wherever its folder lies; filled in when a student is launched."""

    variant: str = setting("", "its row in the tables, or the reference agent")
    seed: int = setting(0, "its seed", low=0)
    signature: str = setting("", "signature of its run; empty for an agent")
    iteration: int = setting(0, "iteration of its checkpoint", low=0)
    checkpoint: str = setting("", "SHA-256 of its checkpoint; empty for an agent")
    source: str = setting("", "SHA-256 of its encoder's file outside of s2m", since="0.2")

    @property
    def name(self) -> str:
        """The teacher's folder, or the agent."""
        if not self.signature:
            return f"agent {self.variant}"
        return f"{self.variant}-s{self.seed}-{self.signature[:8]}"


@dataclass
class StudentCfg:
    """One student: everything that decides its result, and where it is kept."""

    teacher: str = setting(
        "", "who teaches: a run folder, a teacher.json of the analysis, or lqr", decides=False
    )
    taught_by: TaughtByCfg = field(default_factory=TaughtByCfg)
    permute: bool = setting(True, "slot permutation of the teacher's task")
    seed: int = setting(40, "seed of every random stream", low=0, high=2**63 - 1)
    task: TaskCfg = field(default_factory=TaskCfg)
    sim: Any = field(default_factory=MujocoCfg)
    distill: DistillCfg = field(default_factory=DistillCfg)
    evaluate: EvaluationCfg = setting(EvaluationCfg(), "how it is evaluated", decides=False)
    root: str = setting("", "folder of all runs; empty: the teacher's", decides=False)
    experiment: str = setting("", "folder below root; empty: the teacher's", decides=False)
    cluster: Any = setting(LocalCfg(), "where it is executed", decides=False)
    tracking: TrackingCfg = setting(TrackingCfg(), "its mirror on W&B", decides=False)
    dry: bool = setting(False, "print the plan and do nothing", decides=False)
    retry_failed: bool = setting(False, "also rerun runs that failed", decides=False)

    def environment(self) -> EnvCfg:
        """Return the teacher's environment, with the tactile map among its observations."""
        return EnvCfg(
            num_envs=self.distill.num_envs,
            permute=self.permute,
            seed=self.seed,
            task=replace(self.task, tactile_observation=True),
            sim=self.sim,
        )
