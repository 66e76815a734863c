"""An environment: what of a run's config the task and its simulator need."""

from dataclasses import dataclass, field
from typing import Any

from s2m.config.curriculum import CurriculumCfg
from s2m.config.fields import setting
from s2m.config.sim import MujocoCfg
from s2m.config.task import TaskCfg


@dataclass
class EnvCfg:
    """A TransportEnv: the task, its curriculum and the simulator under it."""

    num_envs: int = setting(256, "parallel environments", low=1)
    permute: bool = setting(True, "draw a fresh slot permutation for every new ball frame")
    seed: int = setting(0, "seed of every random stream", low=0, high=2**63 - 1)
    task: TaskCfg = field(default_factory=TaskCfg)
    curriculum: CurriculumCfg = field(default_factory=CurriculumCfg)
    sim: Any = field(default_factory=MujocoCfg)
