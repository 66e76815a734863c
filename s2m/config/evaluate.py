"""The episodes by which a policy is evaluated, after its run or on command."""

from dataclasses import dataclass, field
from typing import Any

from s2m.config.fields import setting
from s2m.config.sim import MujocoCfg
from s2m.config.task import TaskCfg


@dataclass
class EvaluationCfg:
    """The episodes that a trained policy is evaluated by (paper, section 5.1)."""

    levels: list[int] = setting([1, 2, 3, 4, 5], "numbers of balls", low=1, high=5, distinct=True)
    episodes: int = setting(100, "episodes per number of balls", low=1)
    seed: int = setting(1000, "seed of the episodes", low=0, high=2**63 - 1)
    selection_episodes: int = setting(
        100, "episodes with five balls by which the best teacher is chosen, not reported", low=1
    )
    selection_seed: int = setting(2000, "seed of those episodes", low=0, high=2**63 - 1)
    slots: str = setting(
        "as_trained", "order of the ball slots", choices=["as_trained", "permuted", "fixed"]
    )


@dataclass
class FaultsCfg:
    """What a tactile plate may do wrong; no student is taught with faults."""

    dropout: float = setting(0.0, "chance that a touched cell reads empty", low=0, high=1)
    false_contacts: float = setting(0.0, "chance that an empty cell reads touched", low=0, high=1)
    delay: int = setting(0, "delay of the map, control steps", low=0, high=50)


@dataclass
class DelayCfg:
    """Latencies between a policy and its robot; no policy is trained with one."""

    observation: int = setting(
        0, "delay of all observations, control steps", low=0, high=50, since="0.2"
    )
    action: int = setting(0, "delay of actions, control steps", low=0, high=50, since="0.2")


@dataclass
class EvaluateCfg(EvaluationCfg):
    """What `python -m s2m.evaluate` runs."""

    agent: str = setting("lqr", "who acts: zero, random or lqr")
    run: str = setting(
        "", "run folder whose policy acts instead, as trained; task.*, sim.* and delay.* shift "
        "that",
    )  # fmt: skip
    store: bool = setting(
        False, "replace the run's own evaluation, with its own settings unless given"
    )
    out: str = setting(
        "", "file for one row per episode: .csv (empty: none); with -m the folder of all"
    )
    faults: FaultsCfg = field(default_factory=FaultsCfg)
    delay: DelayCfg = field(default_factory=DelayCfg)
    task: TaskCfg = field(default_factory=TaskCfg)
    sim: Any = field(default_factory=MujocoCfg)
