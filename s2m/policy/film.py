"""Films and pictures of an agent at work.

Beside the robot of a student stands the tactile map that it feels, seen from above.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from s2m.config.env import EnvCfg
from s2m.config.replay import ReplayCfg
from s2m.config.sim import MujocoCfg
from s2m.console.errors import UserError
from s2m.env.agents import Agent
from s2m.env.transport import TransportEnv
from s2m.policy.sensing import TactileAgent
from s2m.policy.stored import cast
from s2m.robot.model import MAX_BALLS
from s2m.sim.camera import Camera, tactile_panel

VIDEOS, PICTURES = (".mp4", ".gif"), (".png",)
VIDEO_EVERY = 2
"""Control steps per video frame: 25 frames a second."""


def show(cfg: ReplayCfg, words: list[str]) -> None:
    """Render what the words of a command ask for: an episode's video, or a picture of moments."""
    out = Path(cfg.out)
    levels = _levels(cfg.k)
    film = out.suffix in VIDEOS and len(levels) == 1
    if not film and out.suffix not in PICTURES:
        raise UserError(
            f"out = {cfg.out}: allowed are .mp4 or .gif with one k, or .png with one k or k=all"
        )
    make, env_cfg, _ = cast(cfg, words)
    sim = env_cfg.sim
    if not isinstance(sim, MujocoCfg):
        raise UserError(f"sim = {sim.name}: only sim=mujoco can be rendered")
    out.parent.mkdir(parents=True, exist_ok=True)
    env_cfg.num_envs, env_cfg.seed = 1, cfg.seed
    env_cfg.task.tactile_observation |= cfg.tactile
    env_cfg.task.episode_steps = max(1, round(cfg.seconds / sim.dt)) + 1
    if film:
        frames = _episode(env_cfg, make, levels[0], VIDEO_EVERY, cfg)
        _write_video(out, frames, 1 / (sim.dt * VIDEO_EVERY))
    else:
        every = max(1, (env_cfg.task.episode_steps - 1) // cfg.columns)
        rows = [_episode(env_cfg, make, k, every, cfg)[: cfg.columns] for k in levels]
        _write_picture(out, np.concatenate([np.concatenate(row, 1) for row in rows], 0))
    print(f"wrote {out}")


def _levels(k: str) -> list[int]:
    if k == "all":
        return list(range(1, MAX_BALLS + 1))
    if k.isdecimal() and 1 <= int(k) <= MAX_BALLS:
        return [int(k)]
    raise UserError(f"k = {k}: allowed 1 to {MAX_BALLS} or all (number of balls)")


def _episode(
    env_cfg: EnvCfg, make: Callable[[TransportEnv], Agent], k: int, every: int, cfg: ReplayCfg
) -> list[np.ndarray]:
    """Render every `every`-th step of one episode; a failed episode ends with its last frame."""
    env = TransportEnv(env_cfg, balls=torch.tensor([k]))
    camera = Camera(env.sim, cfg.width, cfg.height)  # pyright: ignore[reportArgumentType]
    agent = make(env)
    steps, frames = env.max_episode_length - 1, []
    try:
        for step in range(steps):
            actions = agent()
            if step % every == 0:
                frames.append(_frame(camera, env, agent))
            _, _, done, _ = env.step(actions)
            if done.any():
                print(f"k={k}: the episode failed after {(step + 1) * env.sim.dt:.2f} s")
                break
        else:
            print(f"k={k}: all balls stayed on the plate for {steps * env.sim.dt:g} s")
    finally:
        camera.close()
        env.close()
    missing = (steps - 1) // every + 1 - len(frames)
    return frames + frames[-1:] * missing


def _frame(camera: Camera, env: TransportEnv, agent: Agent) -> np.ndarray:
    """Render the robot, and beside it what the plate reports."""
    frame = camera.frame(0)
    if not env.cfg.task.tactile_observation:
        return frame
    felt = agent.felt if isinstance(agent, TactileAgent) else env.tactile
    panel = tactile_panel(felt[0, -1].cpu().numpy(), camera.height)
    # Video encoders want an even width.
    return np.concatenate([frame, panel[:, : panel.shape[1] // 2 * 2]], 1)


def _write_video(out: Path, frames: list[np.ndarray], fps: float) -> None:
    import imageio.v3 as iio

    if out.suffix == ".gif":
        iio.imwrite(out, np.stack(frames), duration=1000 / fps, loop=0)
    else:
        iio.imwrite(out, np.stack(frames), fps=fps, macro_block_size=1)


def _write_picture(out: Path, image: np.ndarray) -> None:
    from PIL import Image

    Image.fromarray(image).save(out)
