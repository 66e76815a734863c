"""The student's gradient steps: imitation of the teacher's actions over whole trajectories."""

from typing import Any

import torch

from s2m.config.distill import DistillCfg
from s2m.learning.dataset import Batch
from s2m.policy.tactset import TactSet


class Imitator:
    """The student, its optimizer and how far it is in the present epoch."""

    def __init__(self, cfg: DistillCfg, device: str = "cpu") -> None:
        """Build the student on a device; seed torch's generator first."""
        self.cfg, self.device = cfg, device
        self.student = TactSet(cfg).to(device)
        self.optimizer = torch.optim.AdamW(
            self.student.parameters(), cfg.learning_rate, weight_decay=cfg.weight_decay, fused=True
        )
        self.updates = 0
        self.begin_epoch()

    def begin_epoch(self) -> None:
        """Count from zero."""
        self.batches, self.steps, self.squares, self.norms = 0, 0, 0.0, 0.0

    @property
    def parameters(self) -> int:
        """How many numbers are learned."""
        return sum(parameter.numel() for parameter in self.student.parameters())

    @property
    def error(self) -> float:
        """Root mean square difference to the teacher's actions in this epoch so far."""
        return (self.squares / max(1, self.steps)) ** 0.5

    def update(self, batch: Batch, progress: float) -> None:
        """Take one gradient step; `progress` is the part of the round that is over."""
        rate = self.cfg.learning_rate * (1 - (1 - self.cfg.decay) * progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        vector, tactile, label, place = (
            part.to(self.device) for part in (batch.vector, batch.tactile, batch.label, batch.place)
        )
        loss = (self.student(vector, tactile, place, batch.shape) - label).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.student.parameters(), self.cfg.max_grad_norm)
        self.optimizer.step()
        self.updates += 1
        self.batches += 1
        self.steps += len(label)
        self.squares += loss.item() * len(label)
        self.norms += norm.item()

    def metrics(self) -> dict[str, float]:
        """Return the means of the epoch."""
        return {
            "loss/imitation": self.squares / self.steps,
            "loss/error": self.error,
            "policy/gradient": self.norms / self.batches,
            "policy/learning_rate": self.optimizer.param_groups[0]["lr"],
        }

    def is_finite(self) -> bool:
        """Tell whether every parameter is still a number."""
        return all(bool(torch.isfinite(p).all()) for p in self.student.parameters())

    def state_dict(self) -> dict[str, Any]:
        """Return everything that decides the future of the student."""
        return {
            "student": self.student.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "counts": [self.updates, self.batches, self.steps, self.squares, self.norms],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state."""
        self.student.load_state_dict(state["student"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.updates, self.batches, self.steps, self.squares, self.norms = state["counts"]
