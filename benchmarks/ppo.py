"""Where the time of a PPO iteration goes, and the update against a stock model and the arithmetic.

python benchmarks/ppo.py prints, for the desktop budget: microseconds per sample of simulation,
observation, inference, update and logging; the update of PFDS against rsl-rl's stock MLP model and
against PFDS on all slots, at equal widths; and the share of the measured matrix-multiply rate that
the update reaches. Everything is measured in one process on one core; rounds alternate.
"""

import contextlib
import io
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from rsl_rl.algorithms import PPO
from rsl_rl.models import MLPModel
from rsl_rl.storage import RolloutStorage

from s2m.compose import load
from s2m.config import RunCfg
from s2m.env import TransportEnv
from s2m.learner import Learner
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal

ROUNDS = 3


class Stopwatch:
    """Wraps methods and adds up the time spent in them."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}

    def watch(self, owner: Any, method: str, name: str) -> None:
        inner = getattr(owner, method)

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            result = inner(*args, **kwargs)
            self.spent[name] = self.spent.get(name, 0.0) + time.perf_counter() - began
            return result

        setattr(owner, method, timed)


def learner_at(k: int, dense: bool = False) -> Learner:
    cfg = load(RunCfg, "config", [f"curriculum.start={k}", f"curriculum.stop={k}"])
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
            began = time.perf_counter()
            row = learner.collect()
            collected = time.perf_counter()
            row.update(learner.update())
            updated = time.perf_counter()
            journal.append(iteration, row | {f"m{i}": 0.5 for i in range(20)})
            logged = time.perf_counter()
            now = {
                "physics": clock.spent["physics"],
                "observation, reward, reset": clock.spent["env step"] - clock.spent["physics"],
                "inference": clock.spent["inference"],
                "storage, returns": collected - began - clock.spent["env step"]
                - clock.spent["inference"],
                "update": updated - collected,
                "journal": logged - updated,
            }  # fmt: skip
            if iteration > 1 and (not best or sum(now.values()) < sum(best.values())):
                best = now
        journal.close()
    env.close()  # pyright: ignore[reportAttributeAccessIssue]
    return {name: 1e6 * value / samples for name, value in best.items()}


def stock(learner: Learner) -> PPO:
    """rsl-rl's own MLP model on flattened observations, with the same hidden layers."""
    obs = learner.obs.clone()
    for group in ("balls", "balls_clean"):
        obs[group] = obs[group].flatten(1)
    groups = {
        "actor": ["proprio", "command", "balls"],
        "critic": ["proprio", "command", "balls_clean"],
    }
    hidden = learner.cfg.budget.hidden
    noise = {"class_name": "GaussianDistribution", "init_std": 0.6, "std_type": "log"}
    actor = MLPModel(obs, groups, "actor", 12, hidden, "elu", distribution_cfg=noise)
    critic = MLPModel(obs, groups, "critic", 1, hidden, "elu")
    budget, ppo = learner.cfg.budget, learner.cfg.ppo
    storage = RolloutStorage("rl", budget.num_envs, budget.steps, obs, [12], "cpu")
    return PPO(
        actor, critic, storage, num_learning_epochs=ppo.epochs, num_mini_batches=ppo.mini_batches,
        learning_rate=ppo.learning_rate, desired_kl=ppo.kl_target,
    )  # fmt: skip


def fill(ppo: PPO, obs: Any, steps: int) -> None:
    """Fill the storage with copies of one observation, so that only the update is timed."""
    n = obs.batch_size[0]
    with torch.inference_mode():
        for _ in range(steps):
            ppo.act(obs)
            ppo.process_env_step(obs, torch.randn(n), torch.zeros(n), {})
        ppo.compute_returns(obs)


def update_seconds(contenders: dict[str, tuple[PPO, Any]], steps: int) -> dict[str, float]:
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(ROUNDS):
        for name, (ppo, obs) in contenders.items():
            fill(ppo, obs, steps)
            began = time.perf_counter()
            ppo.update()
            best[name] = min(best[name], time.perf_counter() - began)
    return best


def multiply_rate() -> float:
    """Measured floating-point operations per second of a matrix product of the update's shape."""
    a, b = torch.randn(1536, 293), torch.randn(293, 128)
    best = 0.0
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(50):
            torch.mm(a, b)
        best = max(best, 50 * 2 * 1536 * 293 * 128 / (time.perf_counter() - began))
    return best


def update_operations(learner: Learner) -> float:
    """Floating-point operations of the matrix products in one update (forward + 2 x backward)."""
    macs = 0
    for part in (learner.ppo.actor, learner.ppo.critic):
        for name, layer in part.named_modules():
            if isinstance(layer, torch.nn.Linear):
                rows = 1.0
                if "encoder.phi" in name:
                    rows = float(learner.obs["balls"][..., -1].sum()) / learner.env.num_envs
                macs += rows * layer.in_features * layer.out_features
    budget = learner.cfg.budget
    return 3 * 2 * macs * budget.num_envs * budget.steps * learner.cfg.ppo.epochs


def main() -> None:
    torch.set_num_threads(1)
    console = Console(width=110)
    table = Table("us per sample", "k=1", "k=3", "k=5", title="One iteration, desktop budget, PFDS")
    measured = [parts(k) for k in (1, 3, 5)]
    for name in measured[0]:
        table.add_row(name, *(f"{column[name]:.1f}" for column in measured))
    table.add_row("samples/s", *(f"{1e6 / sum(column.values()):,.0f}" for column in measured))
    useful = ("physics", "inference", "update")
    table.add_row(
        "outside physics, inference, update",
        *(f"{1 - sum(c[n] for n in useful) / sum(c.values()):.1%}" for c in measured),
    )
    table.add_row("journal", *(f"{c['journal'] / sum(c.values()):.2%}" for c in measured))
    console.print(table)
    ratios = Table("k", "update, ms", "/ all slots", "/ stock MLP", "of the multiply rate",
                   title="The update of PFDS")  # fmt: skip
    for k in (1, 2, 3, 5):
        with contextlib.redirect_stdout(io.StringIO()):
            sparse, dense = learner_at(k), learner_at(k, dense=True)
            plain = stock(sparse)
        flat = sparse.obs.clone()
        for group in ("balls", "balls_clean"):
            flat[group] = flat[group].flatten(1)
        contenders = {
            "sparse": (sparse.ppo, sparse.obs),
            "dense": (dense.ppo, sparse.obs),
            "stock": (plain, flat),
        }
        seconds = update_seconds(contenders, sparse.cfg.budget.steps)
        share = update_operations(sparse) / multiply_rate() / seconds["sparse"]
        ratios.add_row(
            str(k), f"{1000 * seconds['sparse']:.0f}",
            f"{seconds['dense'] / seconds['sparse']:.2f}x faster",
            f"{seconds['stock'] / seconds['sparse']:.2f}x", f"{share:.0%}",
        )  # fmt: skip
        for learner in (sparse, dense):
            learner.env.close()  # pyright: ignore[reportAttributeAccessIssue]
    console.print(ratios)


if __name__ == "__main__":
    main()
