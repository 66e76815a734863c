"""PPO of rsl-rl around the set policy: how a run's networks are built, stepped, saved and loaded.

The loop is ours and not rsl-rl's OnPolicyRunner: that one repeats an iteration after a resume, adds
the budget once more and saves neither random numbers nor environments.
"""

from collections.abc import Generator
from typing import Any

import torch
from torch import Tensor

from s2m.config.run import RunCfg
from s2m.encoders.symmetry import audit
from s2m.env.rsl import PPO, RolloutStorage, VecEnv
from s2m.policy.model import SetPolicy, make_actor, make_critic
from s2m.policy.scaling import Scaler
from s2m.task.randomness import take_up


class Storage(RolloutStorage):
    """Gathers every mini-batch once: rsl-rl shuffles before the first epoch only."""

    def mini_batch_generator(
        self, num_mini_batches: int, num_epochs: int = 8
    ) -> Generator[RolloutStorage.Batch, None, None]:
        """Yield the same mini-batches in each epoch, as rsl-rl does, without gathering again."""
        batches = list(super().mini_batch_generator(num_mini_batches, 1))
        for _ in range(num_epochs):
            yield from batches


class Learner:
    """Collects samples from an environment and learns from them, one iteration at a time."""

    def __init__(self, cfg: RunCfg, env: VecEnv) -> None:
        """Build actor and critic with separate encoders; seed torch's own generator first."""
        self.cfg, self.env = cfg, env
        device = str(env.device)
        self.scaler = Scaler(cfg.task.command).to(device)
        self.obs = self.scaler(env.get_observations())
        """The present observations, scaled."""
        ppo, budget = cfg.ppo, cfg.budget
        storage = Storage("rl", env.num_envs, budget.steps, self.obs, [env.num_actions], device)
        self.ppo = PPO(
            make_actor(cfg, self.obs, env.num_actions),
            make_critic(cfg, self.obs),
            storage,
            num_learning_epochs=ppo.epochs,
            num_mini_batches=ppo.mini_batches,
            clip_param=ppo.clip,
            gamma=ppo.gamma,
            lam=ppo.lam,
            value_loss_coef=ppo.value,
            entropy_coef=ppo.entropy,
            learning_rate=ppo.learning_rate,
            max_grad_norm=ppo.max_grad_norm,
            schedule="adaptive" if ppo.kl_target > 0 else "fixed",
            desired_kl=ppo.kl_target,
            device=device,
        )
        # One kernel for all parameters: most of rsl-rl's own optimizer is the calls it makes.
        self.ppo.optimizer = torch.optim.Adam(
            [*self.ppo.actor.parameters(), *self.ppo.critic.parameters()],
            lr=ppo.learning_rate,
            fused=True,
        )
        self.ppo.train_mode()

    @property
    def actor(self) -> SetPolicy:
        """The policy in training."""
        return self.ppo.actor  # pyright: ignore[reportReturnType]

    def act(self) -> Tensor:
        """Return the actions (n, 12) for the present observations, with exploration."""
        return self.ppo.act(self.obs)

    def collect(self) -> dict[str, float]:
        """Fill the storage with one iteration of samples; return the means of what was logged."""
        total: Tensor | None = None
        names: list[str] = []
        rewards = torch.zeros((), device=self.env.device)
        with torch.inference_mode():
            for _ in range(self.cfg.budget.steps):
                observed, reward, done, extras = self.env.step(self.act())
                self.obs = self.scaler(observed)
                scaled = reward * self.cfg.ppo.reward_scale
                self.ppo.process_env_step(self.obs, scaled, done, extras)
                rewards += reward.mean()
                logged = torch.stack(list(extras["log"].values()))
                names = list(extras["log"])
                total = logged if total is None else total + logged
            self.ppo.compute_returns(self.obs)
        assert total is not None
        means = (total / self.cfg.budget.steps).tolist()
        mean_reward = rewards.item() / self.cfg.budget.steps
        return {"reward/mean": mean_reward, **dict(zip(names, means, strict=True))}

    def update(self, spent: float) -> dict[str, float]:
        """Learn from the stored samples; return losses and the state of the exploration.

        `spent` is the part of the budget that is spent: smaller steps at its end make the final
        policy a better one than those before it.
        """
        ppo = self.cfg.ppo
        self.ppo.desired_kl = ppo.kl_target * (1 - spent * (1 - ppo.kl_end))
        losses = self.ppo.update()
        return {
            **{f"loss/{name}": float(value) for name, value in losses.items()},
            "policy/std": self.actor.output_std.mean().item(),
            "policy/learning_rate": self.ppo.learning_rate,
        }

    def is_finite(self) -> bool:
        """Tell whether every parameter is still a number."""
        parts = (*self.ppo.actor.parameters(), *self.ppo.critic.parameters())
        return all(bool(torch.isfinite(p).all()) for p in parts)

    def audit(self, samples: int, seed: int) -> dict[str, float]:
        """Return how much the deterministic actions change under slot permutations."""

        def act(balls: Tensor) -> Tensor:
            return self.actor(self.obs.clone(recurse=False).update({"balls": balls}))

        return audit(act, self.obs["balls"], samples, torch.Generator().manual_seed(seed))

    def state_dict(self) -> dict[str, Any]:
        """Return everything that decides the future of the networks, torch's generator included."""
        return {
            **self.ppo.save(),
            "learning_rate": self.ppo.learning_rate,
            "random": [generator.get_state() for generator in self._generators()],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state; the environment must have been restored before."""
        self.ppo.load(state, None, strict=True)
        self.ppo.learning_rate = state["learning_rate"]
        stored = state["random"]
        for i, generator in enumerate(self._generators()):
            take_up(generator, stored[min(i, len(stored) - 1)])  # a CPU's run has only one
        self.obs = self.scaler(self.env.get_observations())

    def _generators(self) -> list[torch.Generator]:
        """Return torch's own generators: that of the CPU, and of the GPU in use."""
        device = torch.device(self.env.device)
        found = [torch.default_generator]
        if device.type == "cuda":
            found.append(torch.cuda.default_generators[device.index or 0])
        return found
