"""One training run: everything that decides its result, and where it is kept."""

from dataclasses import dataclass, field
from typing import Any

from s2m.config.budget import BudgetCfg
from s2m.config.cluster import LocalCfg
from s2m.config.critic import CriticCfg
from s2m.config.curriculum import CurriculumCfg
from s2m.config.encoder import EncoderCfg
from s2m.config.env import EnvCfg
from s2m.config.evaluate import EvaluationCfg
from s2m.config.fields import setting
from s2m.config.ppo import PpoCfg
from s2m.config.sim import MujocoCfg
from s2m.config.task import TaskCfg
from s2m.config.tracking import TrackingCfg
from s2m.console.errors import UserError

LEARNER = "ppo"
"""The agent of every run that learns; what other agents do is a control."""

ACTING = (LEARNER, "untrained", "zero", "lqr", "lqr_mean")
"""Who may act in a run; s2m/learning/controls.py has those that do not learn."""


FIXED, RUNNING, FROZEN = NORMALISE = ("fixed", "running", "frozen")
"""How balls are brought to about one unit: s2m/policy/normalising.py."""


@dataclass
class RunCfg:
    """One training run: everything that decides its result, and where it is kept."""

    agent: str = setting(
        LEARNER, "who acts: ppo learns, the others are controls that do not", choices=ACTING
    )
    encoder: EncoderCfg = field(default_factory=EncoderCfg)
    critic: CriticCfg = setting(CriticCfg(), "the critic's own encoder", since="0.2")
    normalise: str = setting(
        FIXED, "balls: fixed scaling, then perhaps running or frozen statistics per slot",
        choices=NORMALISE, since="0.2",
    )  # fmt: skip
    permute: bool = setting(True, "draw a fresh slot permutation for every new ball frame")
    seed: int = setting(40, "seed of every random stream", low=0, high=2**63 - 1)
    task: TaskCfg = field(default_factory=TaskCfg)
    curriculum: CurriculumCfg = field(default_factory=CurriculumCfg)
    sim: Any = field(default_factory=MujocoCfg)
    budget: BudgetCfg = field(default_factory=BudgetCfg)
    ppo: PpoCfg = field(default_factory=PpoCfg)
    evaluate: EvaluationCfg = setting(EvaluationCfg(), "how it is evaluated", decides=False)
    root: str = setting("runs", "folder of all runs", decides=False)
    experiment: str = setting(
        "default", "folder of this experiment's runs below root", decides=False
    )
    cluster: Any = setting(LocalCfg(), "where it is executed", decides=False)
    tracking: TrackingCfg = setting(TrackingCfg(), "its mirror on W&B", decides=False)
    dry: bool = setting(False, "print the plan and do nothing", decides=False)
    retry_failed: bool = setting(False, "also rerun runs that failed", decides=False)

    def check(self) -> None:
        """Refuse what could not be learnt from."""
        samples = self.budget.num_envs * self.budget.steps
        if self.ppo.mini_batches > samples:
            raise UserError(
                f"ppo.mini_batches = {self.ppo.mini_batches}: allowed are at most as many as an "
                f"iteration has samples (budget.num_envs x budget.steps = {samples})"
            )

    def environment(self) -> EnvCfg:
        """Return the part of the config that an environment needs."""
        return EnvCfg(
            num_envs=self.budget.num_envs,
            permute=self.permute,
            seed=self.seed,
            task=self.task,
            curriculum=self.curriculum,
            sim=self.sim,
        )
