"""How fast the finished runs of a folder learned, and how good their policies are.

python analysis/learning.py RUNS [--episodes 100] [--write] prints time and samples to each level
per run and the success rates of all policies beside the reference agents, from the same episode
seeds; --write puts both tables into docs/results.md.
"""

import argparse
from pathlib import Path

import torch

from s2m.agents import AGENTS
from s2m.config import EnvCfg
from s2m.documents import replace_section
from s2m.episodes import run_episodes
from s2m.errors import UserError
from s2m.run.folder import find_runs
from s2m.run.journal import Journal
from s2m.trained import Trained

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
LEVELS = (1, 2, 3, 4, 5)
EPISODE_SEED = 1000


def finished(root: Path) -> list[Trained]:
    """Return the finished runs below a folder."""
    runs = [Trained(run.path) for run in find_runs(root) if run.result("train") is not None]
    if not runs:
        raise UserError(f"{root} has no finished run")
    return runs


def speed_table(runs: list[Trained]) -> str:
    """Tabulate minutes of one core and samples to each level."""
    lines = [
        "| run | " + " | ".join(f"k={k}" for k in LEVELS[1:]) + " | whole budget | commit |",
        "|---|" + "---|" * (len(LEVELS) + 1),
    ]
    for run in runs:
        result = run.folder.result("train") or {}
        seconds = Journal(run.folder).read()["time/iteration"].cumsum().tolist()
        per_iteration = run.cfg.budget.num_envs * run.cfg.budget.steps
        cells = []
        for k in LEVELS[1:]:
            at = result["levels"].get(str(k))
            cells.append(_span(seconds[at - 1], at * per_iteration) if at else "not reached")
        total = _span(seconds[-1], result["samples"])
        commit = (run.folder.identity.commit or "unknown")[:10]
        lines.append(
            f"| {run.folder.path.name} | " + " | ".join(cells) + f" | {total} | {commit} |"
        )
    return "\n".join(lines)


def _span(seconds: float, samples: int) -> str:
    return f"{seconds / 60:.1f} min, {samples / 1e6:.2f} M"


def success_table(runs: list[Trained], episodes: int) -> str:
    """Tabulate no-drop / strict rates in % of the reference agents and the runs."""
    task, sim = runs[0].cfg.task, runs[0].cfg.sim
    cfg = EnvCfg(seed=EPISODE_SEED, task=task, sim=sim)
    actors = {"zero": AGENTS["zero"], "lqr (clean state)": AGENTS["lqr"]}
    actors |= {run.folder.path.name: run.agent for run in runs}
    lines = ["| no-drop / strict, % | " + " | ".join(f"k={k}" for k in LEVELS) + " |"]
    lines.append("|---|" + "---|" * len(LEVELS))
    for name, make in actors.items():
        rows = run_episodes(cfg, make, LEVELS, episodes)
        cells = []
        for k in LEVELS:
            group = [row for row in rows if row["k"] == k]
            rates = (
                100 * sum(row[key] for row in group) / episodes for key in ("no_drop", "strict")
            )
            cells.append(" / ".join(f"{rate:.0f}" for rate in rates))
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def main() -> None:
    """Print the tables and, if asked, write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--episodes", type=int, default=100)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    try:
        runs = finished(options.runs)
        speed = speed_table(runs)
        print(speed)
        success = success_table(runs, options.episodes)
        if options.write:
            replace_section(PAGE, "learning speed", speed)
            replace_section(PAGE, "learning success", success)
    except UserError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
