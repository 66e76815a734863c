"""Episodes from step 0 to their end, one row each: the only path to a success rate.

python -m s2m.evaluate agent=lqr evaluates a reference agent, run=FOLDER a trained policy.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from s2m.agents import Agent
from s2m.compose import describe, load
from s2m.config import EnvCfg, EvaluateCfg
from s2m.env import TransportEnv
from s2m.errors import UserError, run_command
from s2m.trained import cast

Row = dict[str, Any]


def run_episodes(
    cfg: EnvCfg,
    make: Callable[[TransportEnv], Agent],
    levels: Sequence[int],
    episodes: int,
    progress: Callable[[int, int], None] = lambda step, alive: None,
) -> list[Row]:
    """Run `episodes` episodes for each number of balls in `levels` and return a row for each.

    Only the first episode of an environment is used, from its step 0 to its end: taking what
    happens to finish first would favour failures. All episodes run side by side.
    """
    balls = torch.tensor(levels).repeat_interleave(episodes)
    env = TransportEnv(replace(cfg, num_envs=len(balls)), balls=balls)
    try:
        return _run(env, make(env), progress)
    finally:
        env.close()


def _run(env: TransportEnv, agent: Agent, progress: Callable[[int, int], None]) -> list[Row]:
    n, length = env.num_envs, env.max_episode_length
    alive = torch.ones(n, dtype=torch.bool, device=env.device)
    steps, near_edge, outside, dropped, fell, unstable = torch.zeros(
        6, n, dtype=torch.long, device=env.device
    )
    margin, linear, yaw = torch.zeros(3, n, device=env.device, dtype=torch.float64)
    with torch.inference_mode():
        for step in range(length):
            env.step(agent())
            result = env.outcome
            scene = result.scene
            steps += alive
            near_edge += alive & scene.dangerous
            outside += alive & scene.outside.any(-1)
            dropped += alive & result.dropped
            fell += alive & result.fell
            unstable += alive & result.unstable
            margin += alive * scene.minimum_margin
            linear += alive * scene.linear_error
            yaw += alive * scene.yaw_error
            alive = alive & ~result.terminated
            progress(step + 1, int(alive.sum()))
            if not alive.any():
                break
    columns = {
        "k": env.balls, "steps": steps, "dropped": dropped > 0, "fell": fell > 0,
        "unstable": unstable > 0, "near_edge_steps": near_edge, "outside_steps": outside,
        "no_drop": alive, "strict": alive & (near_edge == 0), "minimum_margin": margin / steps,
        "linear_error": linear / steps, "yaw_error": yaw / steps,
    }  # fmt: skip
    values = {name: column.tolist() for name, column in columns.items()}
    return [
        {"episode": i, **{name: column[i] for name, column in values.items()}} for i in range(n)
    ]


def summary(rows: list[Row]) -> Table:
    """Tabulate success rates with Wilson intervals and the promotion measures, per k."""
    from statsmodels.stats.proportion import proportion_confint

    def rate(group: list[Row], name: str) -> str:
        hits = sum(row[name] for row in group)
        low, high = proportion_confint(hits, len(group), method="wilson")
        return f"{100 * hits / len(group):.0f} [{100 * low:.0f}, {100 * high:.0f}]"

    table = Table("k", "episodes", "no-drop %", "strict %", "length", "margin", "dangerous",
                  "edge", "v error", "yaw error")  # fmt: skip
    for k in sorted({row["k"] for row in rows}):
        group = [row for row in rows if row["k"] == k]
        steps = sum(row["steps"] for row in group)
        per_step = [
            sum(row[name] for row in group) / steps for name in ("near_edge_steps", "outside_steps")
        ]
        weighted = [
            sum(row[name] * row["steps"] for row in group) / steps
            for name in ("minimum_margin", "linear_error", "yaw_error")
        ]
        values = [steps / len(group), weighted[0], *per_step, *weighted[1:]]
        numbers = [f"{value:.3f}" if value < 10 else f"{value:.0f}" for value in values]
        table.add_row(
            str(k), str(len(group)), rate(group, "no_drop"), rate(group, "strict"), *numbers
        )
    return table


def main(words: list[str]) -> None:
    """Evaluate a reference agent or a trained policy and print its table."""
    if "--help" in words or "-h" in words:
        print("python -m s2m.evaluate [setting=value ...]\n")
        print("\n".join(describe(EvaluateCfg)))
        return
    cfg = load(EvaluateCfg, "evaluate", words)
    make, task, sim, name = cast(cfg)
    out = Path(cfg.out) if cfg.out else None
    if out and out.suffix != ".csv":
        raise UserError(f"out = {cfg.out}: allowed is a .csv file")
    torch.set_num_threads(1)
    env_cfg = EnvCfg(seed=cfg.seed, task=task, sim=sim)
    with Progress(transient=True) as progress:
        bar = progress.add_task(name, total=task.episode_steps)
        rows = run_episodes(
            env_cfg,
            make,
            cfg.levels,
            cfg.episodes,
            lambda step, alive: progress.update(bar, completed=step),
        )
    console = Console()
    if not console.is_terminal:
        console.width = 120
    console.print(f"{name}, seed {cfg.seed}", summary(rows))
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    run_command(main)
