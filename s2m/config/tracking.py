"""The mirror of runs on Weights & Biases."""

import re
from dataclasses import dataclass

from s2m.config.fields import setting
from s2m.console.errors import UserError

NAMED = ("run", "experiment", "variant", "seed")
"""What a run's name on W&B may contain."""


@dataclass
class TrackingCfg:
    """The mirror of runs on Weights & Biases; docs/wandb.md explains it."""

    mode: str = setting(
        "auto", "auto: online if there is an API key, else offline; offline: s2m.sync sends later",
        choices=["auto", "online", "offline", "disabled"],
    )  # fmt: skip
    project: str = setting("s2m-trek", "W&B project")
    entity: str = setting("", "W&B user or team; empty: the key's default")
    name: str = setting(
        "{run}", "name on W&B, which may contain {run}, {experiment}, {variant} and {seed}"
    )
    group: str = setting("", "group on W&B; empty: the variant")
    tags: list[str] = setting([], "further tags on W&B")
    notes: str = setting("", "notes on W&B")
    artifacts: bool = setting(
        False, "also upload the checkpoints of level changes and the last one"
    )
    init_seconds: float = setting(60.0, "longest wait for W&B at the start", above=0, high=600)
    finish_seconds: float = setting(
        60.0, "longest wait at the end of a run for the rest of the upload", above=0, high=3600
    )
    stop_seconds: float = setting(10.0, "the same when the run is interrupted", above=0, high=600)

    def check(self) -> None:
        """Refuse a name whose braces would stay."""
        if set(re.findall(r"\{(.*?)\}", self.name)) - set(NAMED) or not self.name:
            allowed = ", ".join(f"{{{name}}}" for name in NAMED)
            raise UserError(f"tracking.name = '{self.name}': allowed are text and {allowed}")

    def called(self, **values: str) -> str:
        """Return the name of a run by the values of `NAMED`."""
        return re.sub(r"\{(\w+)\}", lambda found: values[found[1]], self.name)
