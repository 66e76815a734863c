"""Films and pictures of an agent at work.

Beside the robot of a student stands the tactile map that it feels, seen from above.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import imageio.v3 as iio
import numpy as np
import torch
from PIL import Image, ImageDraw, ImageFont

from s2m.config.env import EnvCfg
from s2m.config.replay import ReplayCfg
from s2m.config.sim import MujocoCfg, WarpCfg
from s2m.console.errors import UserError
from s2m.env.agents import Agent
from s2m.env.transport import TransportEnv
from s2m.policy.sensing import TactileAgent
from s2m.policy.stored import cast
from s2m.robot.model import MAX_BALLS
from s2m.sim.camera import Camera, require_gl, tactile_panel

VIDEOS, PICTURES = (".mp4", ".gif", ".webp"), (".png",)


class Shot(NamedTuple):
    """Who acts, where, and what is written above it."""

    make: Callable[[TransportEnv], Agent]
    env: EnvCfg
    caption: str = ""


def show(cfg: ReplayCfg, words: list[str]) -> None:
    """Render what the words of a command ask for: an episode's video, or a picture of moments."""
    out = Path(cfg.out)
    levels = _levels(cfg.k)
    film = out.suffix in VIDEOS and len(levels) == 1
    if not film and out.suffix not in PICTURES:
        raise UserError(
            f"out = {cfg.out}: allowed are {', '.join(VIDEOS)} with one k, "
            "or .png with one k or k=all"
        )
    if not film and (cfg.beside or cfg.captions):
        raise UserError(f"out = {cfg.out}: beside= and captions= are for videos")
    require_gl()
    actors = [cfg, *([replace(cfg, run=cfg.beside)] if cfg.beside else [])]
    captions = cfg.captions or [""] * len(actors)
    if len(captions) != len(actors):
        raise UserError(f"captions = {captions}: needs {len(actors)}, one for each film")
    scenes = [_scene(*both, words) for both in zip(actors, captions, strict=True)]
    scene = scenes[0]
    if any(other.env.sim.dt != scene.env.sim.dt for other in scenes):
        raise UserError(f"beside = {cfg.beside}: acts at another rate than {cfg.run}")
    out.parent.mkdir(parents=True, exist_ok=True)
    if film:
        films = [_episode(scene, levels[0], cfg.every, cfg) for scene in scenes]
        frames = [np.concatenate(pair, 1) for pair in zip(*films, strict=True)]
        _write_video(out, frames, 1 / (scene.env.sim.dt * cfg.every))
    else:
        every = max(1, (scene.env.task.episode_steps - 1) // cfg.columns)
        rows = [_episode(scene, k, every, cfg)[: cfg.columns] for k in levels]
        iio.imwrite(out, np.concatenate([np.concatenate(row, 1) for row in rows], 0))
    print(f"wrote {out}")


def _scene(cfg: ReplayCfg, caption: str, words: list[str]) -> Shot:
    """Return who acts in an environment of one that can be rendered."""
    make, env, _ = cast(cfg, words)
    if isinstance(env.sim, WarpCfg):
        env.sim = env.sim.same_physics(MujocoCfg)
        print("filmed with sim=mujoco, which has the physics of sim=warp")
    if not isinstance(env.sim, MujocoCfg):
        raise UserError(f"sim = {env.sim.name}: only sim=mujoco can be rendered")
    env.num_envs, env.seed = 1, cfg.seed
    env.task.tactile_observation |= cfg.tactile
    env.task.episode_steps = max(1, round(cfg.seconds / env.sim.dt)) + 1
    return Shot(make, env, caption)


def _levels(k: str) -> list[int]:
    if k == "all":
        return list(range(1, MAX_BALLS + 1))
    if k.isdecimal() and 1 <= int(k) <= MAX_BALLS:
        return [int(k)]
    raise UserError(f"k = {k}: allowed 1 to {MAX_BALLS} or all (number of balls)")


def _episode(scene: Shot, k: int, every: int, cfg: ReplayCfg) -> list[np.ndarray]:
    """Render every `every`-th step of one episode; a failed episode ends with its last frame."""
    env = TransportEnv(scene.env, balls=torch.tensor([k]))
    camera = Camera(env.sim, cfg.width, cfg.height)  # pyright: ignore[reportArgumentType]
    agent = scene.make(env)
    steps, frames = env.max_episode_length - 1, []
    try:
        for step in range(steps):
            actions = agent()
            if step % every == 0:
                frame = _frame(camera, env, agent)
                lines = [scene.caption, f"k = {k}, {step * env.sim.dt:.1f} s"]
                frames.append(_labelled(frame, lines) if scene.caption else frame)
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


def _labelled(frame: np.ndarray, lines: list[str]) -> np.ndarray:
    """Write lines of text into the upper left corner."""
    image = Image.fromarray(frame)
    draw, size = ImageDraw.Draw(image), max(10, frame.shape[0] // 16)
    font = ImageFont.load_default(size)
    for place, line in enumerate(lines):
        where = (size // 2, size // 2 + place * 1.3 * size)
        draw.text(where, line, (255, 255, 255), font, stroke_width=2, stroke_fill=(0, 0, 0))
    return np.asarray(image)


def _write_video(out: Path, frames: list[np.ndarray], fps: float) -> None:
    if out.suffix in (".gif", ".webp"):
        # By Pillow's own values (80, 0) a film for a README is twice as large and looks the same.
        smaller: dict[str, Any] = {"quality": 60, "method": 4} if out.suffix == ".webp" else {}
        iio.imwrite(out, np.stack(frames), duration=1000 / fps, loop=0, **smaller)
    else:
        iio.imwrite(out, np.stack(frames), fps=fps, macro_block_size=1)
