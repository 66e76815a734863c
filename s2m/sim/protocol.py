"""The protocol of all simulators: the task knows no other side of them."""

from importlib import import_module
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from s2m.config.sim import SimCfg
from s2m.task.state import Spawn, TransportState


class Simulator(Protocol):
    """n copies of the robot with up to five balls each, stepped together.

    All tensors live on `device`. `read` returns fresh tensors in torch's default dtype.
    """

    num_envs: int
    device: torch.device
    dt: float
    """Control period in seconds."""

    @property
    def unsolved(self) -> Tensor | None:
        """() share of the last step's environments, of those looked at, that were not solved.

        None where an engine cannot tell.
        """
        ...

    def reset(self, env_ids: Tensor, spawn: Spawn) -> None:
        """Put robots into the default pose, at rest, with balls as `spawn` says."""
        ...

    def step(self, joint_targets: Tensor, hub_speeds: Tensor) -> None:
        """Advance one control step with leg targets (n, 12) in rad and hub speeds (n, 4) in rad/s.

        The simulator adds the offsets that carry the weight.
        """
        ...

    def read(self, env_ids: Tensor | None = None) -> TransportState:
        """Return the state of all or of some environments."""
        ...

    def snapshot(self) -> dict[str, Tensor]:
        """Return everything that decides the future, for `restore`."""
        ...

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go back to a snapshot, exactly."""
        ...

    def close(self) -> None:
        """Free threads and devices."""
        ...


def make_simulator(
    cfg: SimCfg, num_envs: int, contact_gap: float, dump: Path | str | None = None
) -> Simulator:
    """Build the simulator that a config names; `dump` is the folder for offending states."""
    module, _, name = cfg.implementation.partition(":")
    make = getattr(import_module(module), name)
    return make(cfg, num_envs, contact_gap=contact_gap, dump=dump)
