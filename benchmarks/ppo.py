"""Where the time of a PPO iteration goes, and the update against a stock model and the arithmetic.

python benchmarks/ppo.py prints, for the desktop budget: microseconds per sample of simulation,
observation, inference, update and logging, with one to five balls and as a whole run of PFDS in
results/ met them; the update of PFDS against stock rsl-rl with the same network written in the
usual way (all slots computed, scaling inside the model), against our own path over all slots and
against rsl-rl's plain MLP model; and the share of the measured matrix-multiply rate that the update
reaches. One process on one core, timed in its own CPU seconds so that other processes count little;
rounds alternate and the best one counts.
"""

import contextlib
import io
import tempfile
import time
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.modules import MLP
from rsl_rl.storage import RolloutStorage
from tensordict import TensorDict
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.env.transport import TransportEnv
from s2m.learning.ppo import Learner
from s2m.policy.scaling import ball_scaling
from s2m.robot.model import MAX_BALLS
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal

RESULTS = Path(__file__).parents[1] / "results" / "desktop" / "encoders"
ROUNDS = 6
WARM_UP = 40
"""Iterations before the parts are timed: a fresh policy drops its balls, and most steps reset."""
PARTS = {
    "actor": ["proprio", "command", "balls"],
    "critic": ["proprio", "command", "balls_clean"],
}
"""What the stock models read: observations as the environment gives them."""


class Stopwatch:
    """Wraps methods and adds up the time spent in them."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def watch(self, owner: Any, method: str, name: str) -> None:
        inner = getattr(owner, method)

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.thread_time()
            result = inner(*args, **kwargs)
            self.spent[name] = self.spent.get(name, 0.0) + time.thread_time() - began
            return result

        setattr(owner, method, timed)


def learner_at(k: int, dense: bool = False) -> Learner:
    cfg = load(RunCfg, [f"curriculum.start={k}", f"curriculum.stop={k}"])
    torch.manual_seed(0)
    env = TransportEnv(cfg.environment())
    learner = Learner(cfg, env)
    for part in (learner.ppo.actor, learner.ppo.critic):
        part.encoder.dense = dense  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]
    return learner


def parts(k: int) -> dict[str, float]:
    """Microseconds per sample of the parts of an iteration at k balls, the best of some rounds."""
    learner = learner_at(k)
    env, cfg = learner.env, learner.cfg
    for _ in range(WARM_UP):
        learner.collect()
        learner.update(spent=0.5)
    clock = Stopwatch()
    clock.watch(env.sim.pool, "rollout", "physics")  # pyright: ignore
    clock.watch(env, "step", "env step")
    clock.watch(learner.ppo, "act", "inference")
    clock.watch(learner.ppo, "process_env_step", "storage")
    samples = cfg.budget.num_envs * cfg.budget.steps
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = RunFolder.create(Path(name) / "run", asdict(cfg))
        journal = Journal(folder)
        for iteration in range(1, ROUNDS + 2):
            clock.spent.clear()
            began = time.thread_time()
            row = learner.collect()
            collected = time.thread_time()
            row.update(learner.update(spent=0.5))
            updated = time.thread_time()
            writing = time.perf_counter()  # not CPU time: a write may wait for the disk
            journal.append(iteration, row | {f"m{i}": 0.5 for i in range(20)})
            written = time.perf_counter()
            now = {
                "physics": clock.spent["physics"],
                "observation, reward, reset": clock.spent["env step"] - clock.spent["physics"],
                "inference": clock.spent["inference"],
                "storage, returns": collected - began - clock.spent["env step"]
                - clock.spent["inference"],
                "update": updated - collected,
                "journal": written - writing,
            }  # fmt: skip
            if iteration > 1 and (not best or sum(now.values()) < sum(best.values())):
                best = now
        journal.close()
    env.close()  # pyright: ignore[reportAttributeAccessIssue]
    return {name: 1e6 * value / samples for name, value in best.items()}


def time_at_levels() -> list[float]:
    """Which part of its iterations the published PFDS run spent with one to five balls."""
    (folder,) = RESULTS.glob("pfds-s40-*")
    result = RunFolder.open(folder).result("train")
    assert result is not None
    starts = [0, *(result["levels"][str(k)] for k in range(2, MAX_BALLS + 1)), result["iterations"]]
    return [(b - a) / result["iterations"] for a, b in pairwise(starts)]


class StockPFDS(MLPModel):
    """PFDS as rsl-rl invites to write it: phi on every slot, times the activity, summed."""

    offset: Tensor
    scale: Tensor
    ball_offset: Tensor
    ball_scale: Tensor

    def __init__(
        self, obs: TensorDict, groups: dict[str, list[str]], name: str, outputs: int, *,
        scaling: dict[str, Tensor], width: int, embedding: int, **rest: Any,
    ) -> None:  # fmt: skip
        self.ball_group, self.embedding = groups[name][-1], embedding
        super().__init__(obs, {name: groups[name][:-1]}, name, outputs, **rest)
        frames, _, features = obs[self.ball_group].shape[1:]
        self.phi = MLP(features, width, [width], "elu", last_activation="elu")
        self.rho = MLP(frames * width, embedding, [2 * width], "elu")
        for part, values in scaling.items():
            self.register_buffer(part, values, persistent=False)

    def _get_latent_dim(self) -> int:
        return self.obs_dim + self.embedding

    def get_latent(self, obs: TensorDict, masks: Any = None, hidden_state: Any = None) -> Tensor:
        vector = (super().get_latent(obs) - self.offset) * self.scale
        balls = obs[self.ball_group]
        embedded = self.phi((balls - self.ball_offset) * self.ball_scale) * balls[..., -1:]
        return torch.cat([vector, self.rho(embedded.sum(-2).flatten(1))], -1)


def stock(learner: Learner, obs: TensorDict, model: type[MLPModel], **rest: Any) -> PPO:
    """PPO of rsl-rl, as it comes, on a model with the learner's hidden layers."""
    budget, ppo = learner.cfg.budget, learner.cfg.ppo
    noise = {"class_name": "GaussianDistribution", "init_std": ppo.init_std, "std_type": "log"}
    rest = {"hidden_dims": budget.hidden, "activation": "elu", **rest}
    actor = model(obs, PARTS, "actor", 12, distribution_cfg=noise, **rest)
    critic = model(obs, PARTS, "critic", 1, **rest)
    storage = RolloutStorage("rl", budget.num_envs, budget.steps, obs, [12], "cpu")
    return PPO(
        actor, critic, storage, num_learning_epochs=ppo.epochs, num_mini_batches=ppo.mini_batches,
        learning_rate=ppo.learning_rate, desired_kl=ppo.kl_target,
    )  # fmt: skip


def contenders_at(k: int) -> dict[str, tuple[PPO, TensorDict]]:
    """Our update, the same on all slots, and stock rsl-rl with PFDS and with a plain MLP."""
    ours, all_slots = learner_at(k), learner_at(k, dense=True)
    encoder, observed = ours.cfg.encoder, ours.env.get_observations()
    scaling = {"offset": ours.scaler.offset, "scale": ours.scaler.scale}
    scaling |= dict(zip(("ball_offset", "ball_scale"), ball_scaling(), strict=True))
    pfds = stock(
        ours, observed, StockPFDS,
        scaling=scaling, width=encoder.width, embedding=encoder.embedding,
    )  # fmt: skip
    assert _parameters(pfds) == _parameters(ours.ppo)
    flat = observed.clone()
    for group in ("balls", "balls_clean"):
        flat[group] = flat[group].flatten(1)
    for learner in (ours, all_slots):
        learner.env.close()  # pyright: ignore[reportAttributeAccessIssue]
    return {
        "ours": (ours.ppo, ours.obs),
        "all slots": (all_slots.ppo, ours.obs),
        "stock PFDS": (pfds, observed),
        "stock MLP": (stock(ours, flat, MLPModel), flat),
    }


def _parameters(ppo: PPO) -> int:
    return sum(p.numel() for part in (ppo.actor, ppo.critic) for p in part.parameters())


def fill(ppo: PPO, obs: TensorDict) -> None:
    """Fill the storage with copies of one observation, so that only the update is timed."""
    n = len(obs)
    with torch.inference_mode():
        for _ in range(ppo.storage.num_transitions_per_env):
            ppo.act(obs)
            ppo.process_env_step(obs, torch.randn(n), torch.zeros(n), {})
        ppo.compute_returns(obs)


def update_seconds(contenders: dict[str, tuple[PPO, TensorDict]]) -> dict[str, float]:
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(ROUNDS):
        for name, (ppo, obs) in contenders.items():
            fill(ppo, obs)
            began = time.thread_time()
            ppo.update()
            best[name] = min(best[name], time.thread_time() - began)
    return best


def multiply_rate() -> float:
    """Measured floating-point operations per second of a matrix product of the update's shape."""
    a, b = torch.randn(1536, 293), torch.randn(293, 128)
    best = 0.0
    for _ in range(ROUNDS):
        began = time.thread_time()
        for _ in range(50):
            torch.mm(a, b)
        best = max(best, 50 * 2 * 1536 * 293 * 128 / (time.thread_time() - began))
    return best


def update_operations(ppo: PPO, obs: TensorDict) -> float:
    """Floating-point operations of the matrix products in one update."""
    fill(ppo, obs)
    with FlopCounterMode(display=False) as counter:
        ppo.update()
    return counter.get_total_flops()


def main() -> None:
    torch.set_num_threads(1)
    console = Console(width=110)
    levels, shares = [f"k={k}" for k in range(1, MAX_BALLS + 1)], time_at_levels()
    title = "One iteration, desktop budget, PFDS"
    table = Table("us per sample", *levels, "whole run", title=title)
    measured = [parts(k) for k in range(1, MAX_BALLS + 1)]
    whole = {
        name: sum(share * column[name] for share, column in zip(shares, measured, strict=True))
        for name in measured[0]
    }
    measured.append(whole)
    for name in whole:
        table.add_row(name, *(f"{column[name]:.1f}" for column in measured))
    table.add_row("samples/s", *(f"{1e6 / sum(column.values()):,.0f}" for column in measured))
    useful = ("physics", "inference", "update")
    table.add_row(
        "outside physics, inference, update",
        *(f"{1 - sum(c[n] for n in useful) / sum(c.values()):.1%}" for c in measured),
    )
    table.add_row("journal", *(f"{c['journal'] / sum(c.values()):.2%}" for c in measured))
    console.print(table)
    ratios = Table("k", "update, ms", "stock PFDS, all slots", "ours, all slots", "stock MLP",
                   "of the multiply rate", title="The update of PFDS, and how long others take"
                   )  # fmt: skip
    for k in (1, 2, 3, 5):
        with contextlib.redirect_stdout(io.StringIO()):
            contenders = contenders_at(k)
        seconds = update_seconds(contenders)
        ours = seconds.pop("ours")
        share = update_operations(*contenders["ours"]) / multiply_rate() / ours
        others = (seconds[name] / ours for name in ("stock PFDS", "all slots", "stock MLP"))
        ratios.add_row(
            str(k), f"{1000 * ours:.0f}", *(f"{ratio:.2f}x" for ratio in others), f"{share:.0%}"
        )
    console.print(ratios)


if __name__ == "__main__":
    main()
