"""One collection: every environment from a fresh start for at most the length of an episode.

An episode that fails is followed by another one, which the end of the collection cuts off: a cut
trajectory is still whole from its start, and leaving it out would favour short, failed ones.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from s2m.config.distill import DistillCfg, StudentCfg
from s2m.env.agents import Agent
from s2m.env.transport import TransportEnv
from s2m.learning.dataset import STEP
from s2m.learning.teacher import Classroom
from s2m.policy.scaling import Scaler
from s2m.task.commands import COMMAND_SIZE
from s2m.task.observations import PROPRIO_SIZE
from s2m.task.randomness import seed_of


@dataclass(frozen=True)
class Collection:
    """What is collected at once: part `part` of a round, `steps` control steps long."""

    round: int
    part: int
    steps: int

    @property
    def file(self) -> str:
        """Its name on disk."""
        return f"round{self.round:02d}-{self.part}.npy"


def collections(cfg: DistillCfg, round_: int, episode_steps: int) -> Iterator[Collection]:
    """Divide the steps of a round; whole control steps of all environments, so never fewer."""
    wanted = cfg.bc_steps if round_ == 0 else cfg.dagger_steps
    left = -(-wanted // cfg.num_envs)
    part = 0
    while left > 0:
        yield Collection(round_, part, min(left, episode_steps))
        left -= episode_steps
        part += 1


def collect(
    cfg: StudentCfg,
    classroom: Classroom,
    driver: Callable[[TransportEnv], Agent] | None,
    what: Collection,
    watch: Callable[[int], None],
) -> np.ndarray:
    """Return the labelled steps (environments, time) of a collection.

    `driver` acts; None: the teacher does. `watch` is told the control steps done and may raise.
    """
    n, levels = cfg.distill.num_envs, cfg.distill.levels
    seed = seed_of(cfg.seed, f"collection/{what.round}/{what.part}")
    balls = torch.tensor([levels[i % len(levels)] for i in range(n)])
    env = TransportEnv(replace(cfg.environment(), seed=seed), balls=balls)
    try:
        teacher = classroom.teacher(env)
        drive = teacher.act if driver is None else driver(env)
        scaler = Scaler(cfg.task.command).to(env.device)
        steps = np.zeros((n, what.steps), dtype=STEP)
        labels = []
        with torch.inference_mode():
            for time in range(what.steps):
                _note(steps[:, time], env, scaler)
                teacher.observe()
                labels += teacher.labels()
                env.step(drive())
                watch(time + 1)
            labels += teacher.finish()
        steps["label"] = torch.stack(labels, 1).cpu().numpy()
        return steps
    finally:
        env.close()


def _note(row: np.ndarray, env: TransportEnv, scaler: Scaler) -> None:
    """Write down the newest frames that the student sees."""
    observed = env.get_observations()
    vector = scaler.vector(observed["proprio"], observed["command"]).cpu().numpy()
    newest = vector[:, -PROPRIO_SIZE - COMMAND_SIZE :]
    row["proprio"], row["command"] = np.split(newest, [PROPRIO_SIZE], axis=1)
    row["map"] = np.packbits(observed["tactile"][:, -1].flatten(1).cpu().numpy(), axis=1)
    row["first"] = (env.episode_length_buf == 0).cpu().numpy()
