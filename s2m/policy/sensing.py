"""A student at work in an environment: its memory, and a plate that may be faulty."""

from collections import deque

import torch
from torch import Tensor

from s2m.config.evaluate import FaultsCfg
from s2m.env.transport import TransportEnv
from s2m.policy.scaling import Scaler
from s2m.policy.tactset import TactSet
from s2m.task.observations import push, refill


class Plate:
    """The tactile stack (n, H, 16, 16) as the plate reports it; a fault stays in its frame."""

    def __init__(self, env: TransportEnv, faults: FaultsCfg) -> None:
        """Draw faults from a stream of its own, so that the episodes stay the same."""
        self.env, self.faults = env, faults
        self.chance = torch.Generator(env.device).manual_seed(env.cfg.seed)
        self.late: deque[Tensor] = deque(maxlen=faults.delay + 1)
        self.stack = torch.zeros_like(env.tactile)

    def read(self) -> Tensor:
        """Return the stack of the present step; call it once per step."""
        if self.faults == FaultsCfg():
            return self.env.get_observations()["tactile"]
        frame = self._spoil(self.env.get_observations()["tactile"][:, -1])
        fresh = (self.env.episode_length_buf == 0).nonzero().squeeze(-1)
        for old in self.late:
            old[fresh] = frame[fresh]
        self.late.append(frame)
        self.stack = push(self.stack, self.late[0].clone())
        refill(self.stack, fresh, frame[fresh])
        return self.stack

    def _spoil(self, frame: Tensor) -> Tensor:
        draws = torch.rand(frame.shape, generator=self.chance, device=frame.device)
        return torch.where(frame, draws >= self.faults.dropout, draws < self.faults.false_contacts)


class TactileAgent:
    """Acts in an environment on proprioception, command and tactile map."""

    def __init__(
        self, student: TactSet, scaler: Scaler, env: TransportEnv, faults: FaultsCfg | None = None
    ) -> None:
        """Begin with an empty memory."""
        self.student, self.scaler, self.env = student, scaler, env
        self.plate = Plate(env, faults or FaultsCfg())
        self.memory = student.memory(env.num_envs, env.device)
        self.felt = env.tactile
        """(n, H, 16, 16): what the plate reported last."""

    def __call__(self) -> Tensor:
        """Return the actions (n, 12) for the present step; call it once per step."""
        with torch.inference_mode():
            fresh = (self.env.episode_length_buf == 0).unsqueeze(-1)
            observed = self.env.get_observations()
            vector = self.scaler.vector(observed["proprio"], observed["command"])
            memory = self.memory.masked_fill(fresh, 0.0)
            self.felt = self.plate.read()
            actions, self.memory = self.student.step(vector, self.felt, memory)
            return actions
