"""The mirror of runs on Weights & Biases."""

from dataclasses import dataclass

from s2m.config.fields import setting


@dataclass
class TrackingCfg:
    """The mirror of runs on Weights & Biases; docs/wandb.md tells how it works."""

    mode: str = setting(
        "auto", "auto: online if there is an API key, else offline; offline: s2m.sync sends later",
        choices=["auto", "online", "offline", "disabled"],
    )  # fmt: skip
    project: str = setting("s2m-trek", "W&B project")
    entity: str = setting("", "W&B user or team; empty: the key's default")
    artifacts: bool = setting(
        False, "also upload the checkpoints of level changes and the last one"
    )
    init_seconds: float = setting(60.0, "longest wait for W&B at the start", above=0, high=600)
    finish_seconds: float = setting(
        60.0, "longest wait at the end of a run for what is still to be sent", above=0, high=3600
    )
    stop_seconds: float = setting(
        10.0, "the same when the run was asked to leave", above=0, high=600
    )
