"""The student's network: convolutions on the tactile stack, a GRU, a head with proprioception."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from s2m.config.distill import DistillCfg
from s2m.env.transport import NUM_ACTIONS
from s2m.task.commands import COMMAND_SIZE
from s2m.task.observations import BALL_FRAMES, PROPRIO_FRAMES, PROPRIO_SIZE
from s2m.task.tactile import CELLS

VECTOR = PROPRIO_FRAMES * PROPRIO_SIZE + COMMAND_SIZE
"""Scaled proprioception window and command."""
STRIDE = 2
"""Of both convolutions: 16 x 16 cells become 4 x 4 places."""


class TactSet(nn.Module):
    """pi_S(vector, tactile): what the balls do is told by the union of their contacts alone."""

    def __init__(self, cfg: DistillCfg) -> None:
        """Build the layers; seed torch's generator first."""
        super().__init__()
        c, e = cfg.channels, cfg.embedding
        self.cnn = nn.Sequential(
            nn.Conv2d(BALL_FRAMES, c, 3, STRIDE, padding=1),
            nn.ReLU(),
            nn.Conv2d(c, c, 3, STRIDE, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(c * (CELLS // STRIDE**2) ** 2, e),
        )
        self.gru = nn.GRU(e, cfg.gru)
        self.remembers = cfg.memory
        self.code = nn.Linear(cfg.gru, e)
        sizes = [VECTOR + e, *cfg.hidden]
        layers: list[nn.Module] = []
        for inputs, outputs in zip(sizes, sizes[1:], strict=False):
            layers += [nn.Linear(inputs, outputs), nn.ELU()]
        self.head = nn.Sequential(*layers, nn.Linear(sizes[-1], NUM_ACTIONS))

    def memory(self, n: int, device: torch.device | str = "cpu") -> Tensor:
        """Return the state (n, units) with which every episode begins."""
        return torch.zeros(n, self.gru.hidden_size, device=device)

    def step(self, vector: Tensor, tactile: Tensor, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return actions (n, 12) and memory after one step, (n, 263) and (n, H, 16, 16) seen."""
        felt = self.cnn(tactile.to(vector.dtype))
        out, after = self.gru(felt.unsqueeze(0), memory.unsqueeze(0) if self.remembers else None)
        return self._act(vector, out[0]), after[0] if self.remembers else memory

    def forward(
        self, vector: Tensor, tactile: Tensor, place: Tensor, shape: tuple[int, int]
    ) -> Tensor:
        """Return the actions (S, 12) for the S steps of whole trajectories.

        Step s lies at place[s] of the flattened (longest, trajectories) grid in which the GRU runs;
        the rest of the grid is padding after the end of a trajectory and changes nothing. There may
        be more tactile stacks than steps; those do not count either. Without memory every step is
        a trajectory of its own.
        """
        felt = self.cnn(tactile)[: len(place)]
        if not self.remembers:
            return self._act(vector, self.gru(felt.unsqueeze(0))[0][0])
        grid = felt.new_zeros(shape[0] * shape[1], felt.shape[-1]).index_copy(0, place, felt)
        out, _ = self.gru(grid.unflatten(0, shape))
        return self._act(vector, out.flatten(0, 1)[place])

    def _act(self, vector: Tensor, out: Tensor) -> Tensor:
        return self.head(torch.cat([vector, F.elu(self.code(out))], -1))
