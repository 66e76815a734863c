"""What `python -m s2m.replay` shows."""

from dataclasses import dataclass, field
from typing import Any

from s2m.config.evaluate import FaultsCfg
from s2m.config.fields import setting
from s2m.config.sim import MujocoCfg
from s2m.config.task import TaskCfg


@dataclass
class ReplayCfg:
    """What `python -m s2m.replay` shows."""

    agent: str = setting("lqr", "who acts: zero, random or lqr")
    run: str = setting("", "run folder whose policy acts instead, in its own task")
    beside: str = setting("", "another run, filmed in the same episode beside it (videos only)")
    captions: list[str] = setting(
        [], "text for each run's film, with the number of balls and the time below (videos only)"
    )
    k: str = setting("5", "number of balls, 1 to 5, or all (pictures only)")
    out: str = setting("demo.mp4", "file to write: .mp4, .gif or .webp video, .png picture")
    seconds: float = setting(10.0, "length of the episode, s", above=0, high=60)
    every: int = setting(2, "control steps between two frames of a video", low=1, high=50)
    columns: int = setting(5, "moments side by side in a picture", low=1, high=20)
    width: int = setting(640, "width of a frame, pixels", low=64, high=1280)
    height: int = setting(480, "height of a frame, pixels", low=64, high=960)
    seed: int = setting(0, "seed of the episode", low=0, high=2**63 - 1)
    tactile: bool = setting(False, "show the tactile map beside the robot; a student's always is")
    faults: FaultsCfg = field(default_factory=FaultsCfg)
    task: TaskCfg = field(default_factory=TaskCfg)
    sim: Any = field(default_factory=MujocoCfg)
