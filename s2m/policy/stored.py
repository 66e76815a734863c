"""The policy of a run folder, teacher or student, ready to act, beside the reference agents."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Generic, TypeVar

import torch
from tensordict import TensorDict

from s2m.config.compose import from_dict
from s2m.config.distill import StudentCfg
from s2m.config.env import EnvCfg
from s2m.config.evaluate import EvaluateCfg, FaultsCfg
from s2m.config.replay import ReplayCfg
from s2m.config.run import LEARNER, RunCfg
from s2m.config.shift import shifted
from s2m.config.sim import MujocoCfg, SimCfg, WarpCfg
from s2m.console.errors import UserError, unknown
from s2m.env.agents import AGENTS, Agent, noise
from s2m.env.delays import delayed
from s2m.env.transport import NUM_ACTIONS, TransportEnv
from s2m.policy.model import SetPolicy, make_actor
from s2m.policy.scaling import Scaler
from s2m.policy.sensing import TactileAgent
from s2m.policy.tactset import TactSet
from s2m.robot.model import MAX_BALLS
from s2m.run import checkpoint
from s2m.run.folder import RunFolder, saved
from s2m.run.kind import STUDENT
from s2m.task.commands import COMMAND_SIZE
from s2m.task.observations import BALL_FRAMES, BALL_SIZE, PROPRIO_FRAMES, PROPRIO_SIZE

log = logging.getLogger(__name__)
OF_AGENTS = ("agent", "task", "sim")
"""Settings, or whole groups of them, that only a reference agent leaves open."""

Cfg = TypeVar("Cfg", RunCfg, StudentCfg)


class Policy(Generic[Cfg]):
    """What the policies of all run folders share."""

    def __init__(self, folder: RunFolder, kind: type[Cfg]) -> None:
        """Take a run folder and its config; the policy is loaded when it is first used."""
        self.folder = folder
        self.cfg = from_dict(kind, folder.executed())

    @cached_property
    def sim(self) -> SimCfg:
        """The run's own simulator, or MuJoCo in C where the GPU of MuJoCo Warp is missing."""
        sim = self.cfg.sim
        if not isinstance(sim, WarpCfg) or _is_here(sim.device):
            return sim
        name = self.folder.path.name
        log.warning(f"{name}: no {sim.device} here for sim=warp; sim=mujoco has the same physics")
        return sim.same_physics(MujocoCfg)

    def environment(self) -> EnvCfg:
        """Return the run's environment, to look at the policy on this machine."""
        return replace(self.cfg.environment(), sim=self.sim)

    @cached_property
    def scaler(self) -> Scaler:
        """What stands between an environment and the network."""
        return Scaler(self.cfg.task.command)

    @cached_property
    def checkpoint(self) -> checkpoint.Checkpoint:
        """The newest sound checkpoint, which is the final one of a run that is done."""
        found = checkpoint.load_latest(self.folder)
        if found is None and self.folder.result(self.folder.kind.stage) is None:
            raise UserError(f"{self.folder.path} has no checkpoint yet: train it first")
        if found is None:
            damaged = saved(self.folder)
            why = "is damaged" if damaged else "was not kept (archives keep that of one seed)"
            raise UserError(f"{self.folder.path} has finished, but its checkpoint {why}")
        self.folder.check_final(found.iteration)
        return found

    def misfit(self, error: Exception) -> UserError:
        """Return the error for a checkpoint of other sizes."""
        return UserError(
            f"{self.checkpoint.path} does not fit the config of its run: "
            f"{str(error).splitlines()[0]}"
        )


class Trained(Policy[RunCfg]):
    """A run's config and the actor of its newest sound checkpoint."""

    def __init__(self, path: Path | str) -> None:
        """Open a run folder that was trained."""
        folder = RunFolder.open(path)
        if folder.kind is STUDENT:
            raise UserError(f"{path} is a student: allowed here is a run that was trained")
        super().__init__(folder, RunCfg)

    @property
    def top(self) -> int:
        """The largest number of balls that it was to learn."""
        return self.cfg.curriculum.stop

    @cached_property
    def actor(self) -> SetPolicy:
        """The network, which acts on scaled observations."""
        if self.cfg.agent in AGENTS:
            raise UserError(f"{self.folder.path} is a control, {self.cfg.agent}: it has no network")
        balls = torch.zeros(1, BALL_FRAMES, MAX_BALLS, BALL_SIZE)
        example = TensorDict(
            {
                "proprio": torch.zeros(1, PROPRIO_FRAMES * PROPRIO_SIZE),
                "command": torch.zeros(1, COMMAND_SIZE),
                "balls": balls,
                "balls_clean": balls,
            },
            batch_size=[1],
        )
        actor = make_actor(self.cfg, self.scaler(example), NUM_ACTIONS)
        try:
            actor.load_state_dict(self.checkpoint.state["learner"]["actor_state_dict"])
        except (RuntimeError, KeyError) as error:
            raise self.misfit(error) from error
        return actor.eval()

    def act(self, observed: TensorDict) -> torch.Tensor:
        """Return deterministic actions (n, 12) for what an environment shows: the policy."""
        with torch.inference_mode():
            return self.actor(self.scaler(observed))

    def agent(self, env: TransportEnv) -> Agent:
        """Return the policy, or whoever acts in the run, as an agent of an environment."""
        if self.cfg.agent in AGENTS:
            return AGENTS[self.cfg.agent](env)
        self.actor.to(env.device)
        self.scaler.to(env.device)
        if self.cfg.agent == LEARNER:
            return lambda: self.act(env.get_observations())
        # Exploration is the point of a control that has learned nothing.
        std, draw = self.cfg.ppo.init_std, noise(env)
        return lambda: self.act(env.get_observations()) + std * draw()


class Student(Policy[StudentCfg]):
    """A student's config and the network of its newest sound checkpoint."""

    def __init__(self, path: Path | str) -> None:
        """Open a run folder that was distilled."""
        super().__init__(RunFolder.open(path), StudentCfg)

    @property
    def top(self) -> int:
        """The largest number of balls that it was to learn."""
        return max(self.cfg.distill.levels)

    @cached_property
    def actor(self) -> TactSet:
        """The network."""
        student = TactSet(self.cfg.distill)
        try:
            student.load_state_dict(self.checkpoint.state["student"])
        except (RuntimeError, KeyError) as error:
            raise self.misfit(error) from error
        return student.eval()

    def agent(self, env: TransportEnv, faults: FaultsCfg | None = None) -> TactileAgent:
        """Return the policy as an agent of an environment, whose plate may have faults."""
        return TactileAgent(self.actor.to(env.device), self.scaler.to(env.device), env, faults)


def _is_here(device: str) -> bool:
    wanted = torch.device(device)
    return wanted.type != "cuda" or (wanted.index or 0) < torch.cuda.device_count()


def open_policy(path: Path | str) -> Trained | Student:
    """Open the run folder of a teacher or of a student."""
    return Student(path) if RunFolder.open(path).kind is STUDENT else Trained(path)


def cast(
    cfg: EvaluateCfg | ReplayCfg, words: list[str]
) -> tuple[Callable[[TransportEnv], Agent], EnvCfg, str]:
    """Return who acts, the environment that belongs to it, and the actor's name.

    `words` are those of the command: beside a run some settings would go unheard. Of an evaluation
    those of the task and of the simulator shift the run's own.
    """
    judged = isinstance(cfg, EvaluateCfg)
    for key in (word.split("=")[0] for word in words):
        if cfg.run and (key in OF_AGENTS or (key.split(".")[0] in OF_AGENTS and not judged)):
            more = "; give single settings, as task.command.linear_x=0.8" if judged else ""
            raise UserError(
                f"run= acts itself, in its own task and simulator: {key} cannot be given with it"
                f"{more}"
            )
    policy = open_policy(cfg.run) if cfg.run else None
    if not isinstance(policy, Student) and cfg.faults != FaultsCfg():
        raise UserError("faults are those of the tactile plate: they need run=FOLDER of a student")
    if policy is None and judged and cfg.delay.observation:
        raise UserError("delay.observation: reference agents see the state itself; give run=FOLDER")
    if policy is None and cfg.agent not in AGENTS:
        raise unknown("agent", cfg.agent, AGENTS)
    if policy is None:
        make, env = AGENTS[cfg.agent], EnvCfg(task=cfg.task, sim=cfg.sim)
        name = f"agent {cfg.agent}"
    else:
        make, env, name = policy.agent, policy.environment(), policy.folder.path.name
    if isinstance(policy, Student):
        make = partial(policy.agent, faults=cfg.faults)
    if isinstance(cfg, EvaluateCfg):
        make = delayed(make, cfg.delay)
        env = shifted(env, cfg, words) if policy else env
    return make, env, name
