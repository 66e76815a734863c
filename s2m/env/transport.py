"""TransportEnv: the task on a simulator, as an rsl-rl VecEnv."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor

from s2m.config.env import EnvCfg
from s2m.config.fields import validate
from s2m.console.errors import UserError
from s2m.env.rsl import VecEnv
from s2m.robot.model import LEG_JOINTS, LEGS, MAX_BALLS, ROBOT
from s2m.sim.protocol import Simulator, make_simulator
from s2m.task import observations as obs
from s2m.task.commands import Commands, WheelKinematics
from s2m.task.curriculum import Curriculum, LevelChange
from s2m.task.randomness import Streams
from s2m.task.rewards import Rewards
from s2m.task.scene import Scene, observe
from s2m.task.spawn import check_spawn, spawn
from s2m.task.state import TransportState
from s2m.task.tactile import CELLS, contact_map
from s2m.task.terminations import ball_dropped, robot_fell

NUM_ACTIONS = len(LEGS) * len(LEG_JOINTS)
STEER = slice(LEG_JOINTS.index("steer"), None, len(LEG_JOINTS))
"""The steering joints among the actions."""


def _possible(balls: Tensor, n: int) -> bool:
    return balls.shape == (n,) and bool(((balls >= 1) & (balls <= MAX_BALLS)).all())


@dataclass
class Outcome:
    """What a control step led to, before environments were reset."""

    scene: Scene
    dropped: Tensor
    fell: Tensor
    unstable: Tensor
    timed_out: Tensor

    @property
    def terminated(self) -> Tensor:
        """(n,) bool: the episode failed."""
        return self.dropped | self.fell | self.unstable


class TransportEnv(VecEnv):
    """n environments that carry `curriculum.level` balls, or a fixed number each.

    Every step returns fresh tensors: rsl-rl keeps references to observations until the next one.
    """

    cfg: EnvCfg  # pyright: ignore[reportIncompatibleVariableOverride]
    max_episode_length: int  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self,
        cfg: EnvCfg,
        *,
        balls: Tensor | None = None,
        once: bool = False,
        dump: str | Path | None = None,
        simulator: Simulator | None = None,
    ) -> None:
        """Build and reset the environments.

        `balls` (n,) fixes each environment's number of balls and switches the curriculum off;
        `once` leaves ended episodes as they are, so that commands do not depend on who has failed;
        `dump` is the folder for states that broke the simulation.
        """
        validate(cfg)
        if balls is not None and not _possible(balls, cfg.num_envs):
            raise UserError(
                f"balls = {balls.tolist()}: needs {cfg.num_envs} numbers (one per environment), "
                f"allowed 1 to {MAX_BALLS}"
            )
        if balls is None:  # rather now than at a promotion
            check_spawn(cfg.task.spawn, range(cfg.curriculum.start, cfg.curriculum.stop + 1))
        self.cfg = cfg
        task = cfg.task
        n = self.num_envs = cfg.num_envs
        self.num_actions = NUM_ACTIONS
        self.max_episode_length = task.episode_steps
        self.sim = simulator or make_simulator(cfg.sim, n, task.contact_gap, dump)
        device = self.device = str(self.sim.device)
        self.streams = Streams(cfg.seed, device)
        self.commands = Commands(task.command, n, self.sim.dt, self.streams["command"])
        self.wheels = WheelKinematics(task.command, ROBOT, n, self.sim.dt, device)
        self.rewards = Rewards(task.reward)
        self.logged = (
            *(f"reward/{name}" for name in self.rewards.names),
            "task/dangerous", "task/minimum_margin", "sim/unstable",
            *([] if self.sim.unsolved is None else ["sim/unsolved"]),
        )  # fmt: skip
        """What `extras["log"]` holds."""
        self.curriculum = Curriculum(cfg.curriculum, n, task.episode_steps, device)
        self.once = once
        self.fixed_balls = None if balls is None else balls.to(device)
        self.events: list[LevelChange] = []
        """Level changes that nobody has taken yet."""

        self.default_pose = torch.as_tensor(ROBOT.default_pose, device=device).to(
            torch.get_default_dtype()
        )
        self.action_scale = torch.full((NUM_ACTIONS,), task.action.leg_scale, device=device)
        self.action_scale[STEER] = task.action.steer_scale
        self.danger = torch.tensor([0.0, *task.danger], device=device)
        """(6,) danger threshold by number of balls."""
        self._time = torch.zeros(n, dtype=torch.long, device=device)
        self.balls = torch.zeros(n, dtype=torch.long, device=device)
        """(n,) present number of balls."""
        self.action = torch.zeros(n, NUM_ACTIONS, device=device)
        """(n, 12) last clipped action."""
        self.smooth_action = torch.zeros(n, NUM_ACTIONS, device=device)
        frames = obs.BALL_FRAMES
        self.proprio = torch.zeros(n, obs.PROPRIO_FRAMES, obs.PROPRIO_SIZE, device=device)
        self.ball_history = torch.zeros(n, frames, MAX_BALLS, obs.BALL_SIZE, device=device)
        self.clean_history = torch.zeros_like(self.ball_history)
        self.tactile = torch.zeros(n, frames, CELLS, CELLS, dtype=torch.bool, device=device)
        self.outcome: Outcome
        self.state: TransportState
        self.restart()

    @property
    def episode_length_buf(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """(n,) control steps since each episode began."""
        return self._time

    @episode_length_buf.setter
    def episode_length_buf(self, value: Tensor) -> None:
        """Shift the clocks, as rsl-rl does to spread time-outs; those episodes do not count."""
        self._time = value.to(self._time).clone()
        self.curriculum.restart(self._everyone(), counts=False)

    def restart(self) -> None:
        """Begin anew in all environments."""
        with torch.inference_mode(False), torch.no_grad():
            everyone = self._everyone()
            self._reset(everyone)
            self.curriculum.restart(everyone, counts=True)
            self._stagger()
            self.state = self.sim.read()
            self._observe(everyone)

    def get_observations(self) -> TensorDict:
        """Return the present observations; no tensor in it is ever changed later."""
        groups: dict[str, Any] = {
            "proprio": self.proprio.flatten(1),
            "command": self.commands.observed(),
            "balls": self.ball_history,
            "balls_clean": self.clean_history,
        }
        if self.cfg.task.tactile_observation:
            groups["tactile"] = self.tactile
        return TensorDict(groups, batch_size=[self.num_envs], device=self.device)

    def step(self, actions: Tensor) -> tuple[TensorDict, Tensor, Tensor, dict]:
        """Advance one control step; ended episodes begin anew within it, unless `once` is set."""
        # Rollouts run in inference mode, whose tensors could not be updated in place later.
        with torch.inference_mode(False), torch.no_grad():
            self._act(actions)
            self.state = self.sim.read()
            danger = self.danger.index_select(0, self.balls)
            scene = observe(self.state, self.commands.target, danger)
            terms = self.rewards(self.state, scene)
            reward = terms.sum(0) * self.sim.dt
            log = self._log(terms, scene)
            done, time_outs, promoted = self._judge(scene)
            self._begin_again(torch.zeros_like(done) if self.once else done, promoted)
            extras = {"time_outs": time_outs, "log": log}
            return self.get_observations(), reward, done.long(), extras

    def _log(self, terms: Tensor, scene: Scene) -> dict[str, Tensor]:
        """Return the means over environments of the reward terms and of more measures."""
        measures = [scene.dangerous, scene.minimum_margin, self.state.unstable]
        more = torch.stack([measure.to(terms.dtype) for measure in measures])
        means = torch.cat([terms, more]).mean(1).unbind()
        unsolved = [] if self.sim.unsolved is None else [self.sim.unsolved]
        return dict(zip(self.logged, [*means, *unsolved], strict=True))

    def _act(self, actions: Tensor) -> None:
        cfg = self.cfg.task.action
        self.action = actions.detach().to(self.action).clamp(-cfg.clip, cfg.clip)
        self.smooth_action = self.smooth_action.lerp(self.action, cfg.smoothing)
        self.commands.advance()
        steer, hub_speeds = self.wheels.advance(self.commands.reference)
        targets = torch.addcmul(self.default_pose, self.smooth_action, self.action_scale)
        targets[:, STEER].add_(steer)
        self.sim.step(targets, hub_speeds)

    def _judge(self, scene: Scene) -> tuple[Tensor, Tensor, bool]:
        """Return which episodes end, which of them only by time or promotion, and if one came."""
        self._time += 1
        self.outcome = Outcome(
            scene,
            dropped=ball_dropped(self.state),
            fell=robot_fell(self.state, scene.tilt, self.cfg.task),
            unstable=self.state.unstable.clone(),  # the state is overwritten by resets
            timed_out=self._time >= self.max_episode_length,
        )
        terminated = self.outcome.terminated
        done = terminated | self.outcome.timed_out
        if self.fixed_balls is not None:
            return done, done & ~terminated, False
        self.curriculum.record(scene)
        self.curriculum.finish(done.nonzero().squeeze(-1))
        change = self.curriculum.advance()
        if change:
            self.events.append(change)
            done = torch.ones_like(done)
        return done, done & ~terminated, change is not None

    def _begin_again(self, done: Tensor, promoted: bool) -> None:
        """Reset ended episodes, renew commands that are due, and observe."""
        every = self.cfg.task.command.resample_steps
        due = (self._time % every == 0) & ~done
        if due.any():
            self.commands.resample(due.nonzero().squeeze(-1))
        env_ids = done.nonzero().squeeze(-1)
        if len(env_ids):
            self._reset(env_ids)
            if promoted:
                self.curriculum.restart(env_ids, counts=True)
                self._stagger()
            self.state.put(env_ids, self.sim.read(env_ids))
        self._observe(env_ids)

    def _reset(self, env_ids: Tensor) -> None:
        count = torch.full_like(env_ids, self.curriculum.level)
        if self.fixed_balls is not None:
            count = self.fixed_balls[env_ids]
        self.balls[env_ids] = count
        self.sim.reset(env_ids, spawn(self.cfg.task.spawn, count, self.streams["spawn"]))
        self.commands.reset(env_ids)
        self.wheels.reset(env_ids)
        self._time[env_ids] = 0
        self.action[env_ids] = 0.0
        self.smooth_action[env_ids] = 0.0

    def _stagger(self) -> None:
        """Spread the clocks at the start of a level, so that time-outs do not come all at once."""
        if self.fixed_balls is None and self.cfg.curriculum.stagger:
            self.episode_length_buf = torch.randint(
                0, self.max_episode_length, (self.num_envs,),
                generator=self.streams["stagger"], device=self.device,
            )  # fmt: skip

    def _observe(self, fresh: Tensor) -> None:
        """Push a frame into every history; fill the histories of `fresh` environments with it."""
        cfg, state = self.cfg, self.state
        proprio = obs.proprio_frame(state, self.default_pose, self.action)
        clean = obs.ball_frame(state)
        most = self.curriculum.level if self.fixed_balls is None else MAX_BALLS
        noisy = obs.add_noise(clean, cfg.task.noise, self.streams["noise"], most)
        if cfg.permute:
            order = obs.draw_permutations(self.num_envs, self.streams["permutation"])
            both = obs.permute_slots(torch.cat([noisy, clean], -1), order)
            noisy, clean = both.chunk(2, -1)
        frames = {"proprio": proprio, "ball_history": noisy, "clean_history": clean}
        if cfg.task.tactile_observation:
            frames["tactile"] = contact_map(
                state.ball_position, state.ball_active, cfg.task.tactile, ROBOT.plate_height
            )
        for name, frame in frames.items():
            history = obs.push(getattr(self, name), frame)
            if len(fresh):
                obs.refill(history, fresh, frame[fresh])
            setattr(self, name, history)

    def _everyone(self) -> Tensor:
        return torch.arange(self.num_envs, device=self.device)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that decides the future of the environments."""
        own = {name: getattr(self, name).clone() for name in _OWN_TENSORS}
        parts = {name: getattr(self, name).state_dict() for name in _PARTS}
        return {"own": own, "sim": self.sim.snapshot(), "steer": self.wheels.steer.clone(), **parts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state, exactly; a checkpoint's tensors come from the CPU."""

        def here(values: dict[str, Any]) -> dict[str, Any]:
            return {
                name: value.to(self.device, copy=True) if isinstance(value, Tensor) else value
                for name, value in values.items()
            }

        for name, value in here(state["own"]).items():
            setattr(self, name, value)
        # States of generators stay on the CPU, whatever they draw for.
        self.streams.load_state_dict(state["streams"])
        for name in ("commands", "curriculum"):
            getattr(self, name).load_state_dict(here(state[name]))
        self.wheels.steer = state["steer"].to(self.device, copy=True)
        self.sim.restore(state["sim"])
        self.state = self.sim.read()

    def close(self) -> None:
        """Release the simulator."""
        self.sim.close()


_OWN_TENSORS = (
    "_time", "balls", "action", "smooth_action", "proprio", "ball_history", "clean_history",
    "tactile",
)  # fmt: skip
_PARTS = ("streams", "commands", "curriculum")
