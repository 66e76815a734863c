"""Show an agent at work: python -m s2m.replay agent=lqr k=5 out=demo.mp4."""

from pathlib import Path

import numpy as np
import torch

from s2m.compose import describe, load
from s2m.config import EnvCfg, ReplayCfg
from s2m.env import TransportEnv
from s2m.errors import UserError, run_command
from s2m.render import Camera
from s2m.sim.robot import MAX_BALLS
from s2m.trained import cast

VIDEOS, PICTURES = (".mp4", ".gif"), (".png",)
VIDEO_EVERY = 2
"""Control steps per video frame: 25 frames a second."""


def main(words: list[str]) -> None:
    """Render one episode as a video, or moments of episodes as a picture."""
    if "--help" in words or "-h" in words:
        print("python -m s2m.replay [setting=value ...]\n\n" + "\n".join(describe(ReplayCfg)))
        return
    cfg = load(ReplayCfg, "replay", words)
    out = Path(cfg.out)
    levels = _levels(cfg.k)
    if out.suffix in VIDEOS and len(levels) == 1:
        frames = _episode(cfg, levels[0], every=VIDEO_EVERY)
        _write_video(out, frames, 1 / (cfg.sim.timestep * cfg.sim.decimation * VIDEO_EVERY))
    elif out.suffix in PICTURES:
        rows = [np.concatenate(_moments(cfg, k), 1) for k in levels]
        _write_picture(out, np.concatenate(rows, 0))
    else:
        raise UserError(
            f"out = {cfg.out}: allowed are .mp4 or .gif with one k, or .png with one k or k=all"
        )
    print(f"wrote {out}")


def _levels(k: str) -> list[int]:
    if k == "all":
        return list(range(1, MAX_BALLS + 1))
    if k.isdecimal() and 1 <= int(k) <= MAX_BALLS:
        return [int(k)]
    raise UserError(f"k = {k}: allowed 1 to {MAX_BALLS} or all (number of balls)")


def _moments(cfg: ReplayCfg, k: int) -> list[np.ndarray]:
    steps = _steps(cfg)
    return _episode(cfg, k, every=max(1, steps // cfg.columns))[: cfg.columns]


def _steps(cfg: ReplayCfg) -> int:
    return max(1, round(cfg.seconds / (cfg.sim.timestep * cfg.sim.decimation)))


def _episode(cfg: ReplayCfg, k: int, every: int) -> list[np.ndarray]:
    """Render every `every`-th step of one episode; a failed episode ends with its last frame."""
    steps = _steps(cfg)
    make, task, sim, _ = cast(cfg)
    task.episode_steps = steps + 1
    env_cfg = EnvCfg(num_envs=1, seed=cfg.seed, task=task, sim=sim)
    env = TransportEnv(env_cfg, balls=torch.tensor([k]))
    camera = Camera(env.sim, cfg.width, cfg.height)  # pyright: ignore[reportArgumentType]
    agent = make(env)
    frames = []
    try:
        for step in range(steps):
            if step % every == 0:
                frames.append(camera.frame(0))
            _, _, done, _ = env.step(agent())
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


def _write_video(out: Path, frames: list[np.ndarray], fps: float) -> None:
    import imageio.v3 as iio

    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".gif":
        iio.imwrite(out, np.stack(frames), duration=1000 / fps, loop=0)
    else:
        iio.imwrite(out, np.stack(frames), fps=fps, macro_block_size=1)


def _write_picture(out: Path, image: np.ndarray) -> None:
    from PIL import Image

    out.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).save(out)


if __name__ == "__main__":
    run_command(main)
