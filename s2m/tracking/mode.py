"""Whether a run is sent to W&B now, later or never; decided without importing its client."""

import importlib.util
import os
from dataclasses import dataclass

from s2m.config.tracking import TrackingCfg
from s2m.run.folder import RunFolder
from s2m.tracking.key import has_key

AUTO, ONLINE, OFFLINE, DISABLED = "auto", "online", "offline", "disabled"
WORDS = {"run": ONLINE, "dryrun": OFFLINE, **{word: word for word in (ONLINE, OFFLINE, DISABLED)}}
"""What WANDB_MODE may say, older words included."""


@dataclass(frozen=True)
class Mode:
    """A mode that is not `auto`, and what a person should know about it."""

    mode: str
    note: str = ""


def tracking_of(folder: RunFolder) -> TrackingCfg:
    """Return the tracking settings in a run's frozen config; folders of old have none."""
    from s2m.config.compose import from_dict  # which brings Hydra

    return from_dict(TrackingCfg, folder.config().get("tracking", {}))


def choose(cfg: TrackingCfg) -> Mode:
    """Return what is to be done: the config decides, then WANDB_MODE, then whether there is a key.

    What cannot be sent now is kept: online becomes offline where client or key are missing.
    """
    mode = cfg.mode
    if mode == AUTO:
        word = os.environ.get("WANDB_MODE", ONLINE) or ONLINE
        if word not in WORDS:
            allowed = f"allowed are {ONLINE}, {OFFLINE} and {DISABLED}"
            return Mode(OFFLINE, _later(f"WANDB_MODE={word} is unknown, {allowed}"))
        mode = WORDS[word]
    if mode != ONLINE:
        return Mode(mode)
    if importlib.util.find_spec("wandb") is None:
        return Mode(OFFLINE, _later("the package wandb is not installed"))
    if not has_key():
        return Mode(OFFLINE, _later("there is no API key (wandb login)"))
    return Mode(ONLINE)


def _later(reason: str) -> str:
    return f"W&B: {reason}; runs stay on disk, python -m s2m.sync uploads them later"
