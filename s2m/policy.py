"""The one rsl-rl model of all encoders: scaled proprioception and command beside a set code."""

import torch
from rsl_rl.models import MLPModel
from tensordict import TensorDict
from torch import Tensor, nn

from s2m.config import CommandCfg
from s2m.encoders.config import EncoderCfg
from s2m.encoders.registry import make_encoder
from s2m.scaling import ball_scaling, command_scale, proprio_scaling

GROUPS = {
    "actor": ["proprio", "command", "balls"],
    "critic": ["proprio", "command", "balls_clean"],
}
"""What actor and critic see: the critic's balls are without noise."""
LAST_LAYER_GAIN = 0.01
"""Shrinks the untrained actor's mean action, so that exploration starts about the default pose."""


class SetPolicy(MLPModel):
    """An MLP head on [proprioception, command, encoder(balls)], for the actor or the critic."""

    vector_offset: Tensor
    vector_scale: Tensor
    ball_offset: Tensor
    ball_scale: Tensor

    def __init__(
        self,
        obs: TensorDict,
        obs_groups: dict[str, list[str]],
        obs_set: str,
        output_dim: int,
        encoder: EncoderCfg,
        command: CommandCfg,
        **kwargs,
    ) -> None:
        """Take the single group of rank 4 as balls and the others as plain vectors."""
        groups = obs_groups[obs_set]
        self.ball_group = next(name for name in groups if obs[name].ndim == 4)
        self._embedding = encoder.embedding
        flat = {obs_set: [name for name in groups if name != self.ball_group]}
        super().__init__(obs, flat, obs_set, output_dim, **kwargs)
        self.encoder = make_encoder(encoder, *obs[self.ball_group].shape[1:])
        offset, scale = proprio_scaling()
        self.register_buffer("vector_offset", torch.cat([offset, torch.zeros(3)]), False)
        self.register_buffer("vector_scale", torch.cat([scale, command_scale(command)]), False)
        offset, scale = ball_scaling()
        self.register_buffer("ball_offset", offset, False)
        self.register_buffer("ball_scale", scale, False)
        if self.distribution is not None:
            with torch.no_grad():
                last = [layer for layer in self.mlp.modules() if isinstance(layer, nn.Linear)][-1]
                last.weight *= LAST_LAYER_GAIN
                last.bias.zero_()

    def _get_latent_dim(self) -> int:
        return self.obs_dim + self._embedding

    def get_latent(self, obs: TensorDict, masks=None, hidden_state=None) -> Tensor:
        """Join the scaled vectors with the code of the balls."""
        vector = torch.cat([obs[name] for name in self.obs_groups], -1)
        vector = (vector - self.vector_offset) * self.vector_scale
        return torch.cat([vector, self.encode(obs[self.ball_group])], -1)

    def encode(self, balls: Tensor) -> Tensor:
        """Encode observed balls (B, H, N, 14); the last feature is the activity mask."""
        mask = balls[..., -1] > 0
        return self.encoder((balls - self.ball_offset) * self.ball_scale, mask)
