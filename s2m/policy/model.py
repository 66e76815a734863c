"""The one rsl-rl model of all encoders: a vector of observations beside a set code."""

from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from tensordict import TensorDict
from torch import Tensor, nn

from s2m.config.critic import SAME
from s2m.config.encoder import EncoderCfg
from s2m.config.run import RunCfg
from s2m.encoders.elu import ELU
from s2m.encoders.registry import make_encoder
from s2m.env.rsl import MLPModel
from s2m.policy.normalising import SlotStatistics, make_statistics

SEEN = {"actor": ["vector", "balls"], "critic": ["vector", "balls_clean"]}
"""What actor and critic see of scaled observations: the critic's balls are without noise."""
LAST_LAYER_GAIN = 0.01
"""Shrinks the untrained actor's mean action, so that exploration starts about the default pose."""


class JointInput(nn.Module):
    """A linear layer on [vector, code] which spares the gradient by the vector: it is data."""

    def __init__(self, layer: nn.Linear) -> None:
        """Take over the parameters of a layer."""
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, parts: tuple[Tensor, Tensor]) -> Tensor:
        """Map (B, v) and (B, e) to (B, out)."""
        vector, code = parts
        of_vector, of_code = self.weight.tensor_split([vector.shape[-1]], 1)
        return torch.addmm(F.linear(code, of_code, self.bias), vector, of_vector.T)


class SetPolicy(MLPModel):
    """An MLP head on [vector, encoder(balls)], for the actor or the critic.

    Its observations come from `s2m.policy.scaling.Scaler`.
    """

    def __init__(
        self,
        obs: TensorDict,
        obs_groups: dict[str, list[str]],
        obs_set: str,
        output_dim: int,
        encoder: EncoderCfg,
        statistics: SlotStatistics | None = None,
        **kwargs,
    ) -> None:
        """Take the first group as the vector and the second one as the balls."""
        self.vector_group, self.ball_group = obs_groups[obs_set]
        self._embedding = encoder.embedding
        super().__init__(obs, {obs_set: [self.vector_group]}, obs_set, output_dim, **kwargs)
        self.statistics = statistics
        self.encoder = make_encoder(encoder, *obs[self.ball_group].shape[1:])
        if self.distribution is not None:
            with torch.no_grad():
                last = [layer for layer in self.mlp.modules() if isinstance(layer, nn.Linear)][-1]
                last.weight *= LAST_LAYER_GAIN
                last.bias.zero_()
        first, *rest = self.mlp
        layers = (ELU() if isinstance(layer, nn.ELU) else layer for layer in rest)
        self.mlp = nn.Sequential(JointInput(first), *layers)  # pyright: ignore[reportArgumentType]

    def _get_latent_dim(self) -> int:
        return self.obs_dim + self._embedding

    def get_latent(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, obs: TensorDict, masks=None, hidden_state=None
    ) -> tuple[Tensor, Tensor]:
        """Return the vector and the code of the balls, which the first layer joins."""
        return obs[self.vector_group], self.encode(obs[self.ball_group])

    def encode(self, balls: Tensor) -> Tensor:
        """Encode observed balls (B, H, N, 14); the last feature is the activity mask."""
        if self.statistics is not None:
            balls = self.statistics(balls)
        return self.encoder(balls, balls[..., -1] > 0)

    def update_normalization(self, obs: TensorDict) -> None:
        """Let the statistics see the samples of an iteration, as rsl-rl asks after each."""
        if self.statistics is not None:
            self.statistics.update(obs[self.ball_group])


def make_actor(cfg: RunCfg, obs: TensorDict, num_actions: int) -> SetPolicy:
    """Build the actor that fits these scaled observations."""
    noise = {
        "class_name": "GaussianDistribution",
        "init_std": cfg.ppo.init_std,
        "std_type": "log",
    }
    return _network(cfg, obs, "actor", num_actions, encoder=cfg.encoder, distribution_cfg=noise)


def make_critic(cfg: RunCfg, obs: TensorDict) -> SetPolicy:
    """Build the critic that fits these scaled observations."""
    encoder = cfg.encoder
    if cfg.critic.encoder != SAME:
        encoder = replace(encoder, name=cfg.critic.encoder, source="")
    return _network(cfg, obs, "critic", 1, encoder=encoder)


def _network(cfg: RunCfg, obs: TensorDict, part: str, outputs: int, **rest: Any) -> SetPolicy:
    frames, slots, features = obs[SEEN[part][1]].shape[1:]
    return SetPolicy(
        obs, SEEN, part, outputs, hidden_dims=cfg.budget.hidden, activation="elu",
        statistics=make_statistics(cfg, (frames, slots, features)), **rest,
    )  # fmt: skip
