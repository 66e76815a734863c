"""How fast this machine simulates and learns, and how long the budgets would take on it.

    python -m s2m.bench                                   a CUDA card: sim=warp; else sim=mujoco
    python -m s2m.bench sim=warp envs=1024,4096,16384 seconds=60
    python -m s2m.bench sim=mujoco encoder=dshc budget=desktop --json

It measures for about `seconds` (60) in all, plus the start of a process per number of
environments. Networks and PPO are those of budget=paper unless you name another; other settings are
those of python -m s2m.launch. --json prints the figures for programs, --out FILE writes them.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

from s2m.config.compose import load
from s2m.config.overrides import require_once
from s2m.config.run import LEARNER, RunCfg
from s2m.config.search import Search, take_search
from s2m.console.errors import UserError, run_command, unknown

ENVS = {True: [1024, 4096, 16384], False: [64, 256, 1024]}
"""Environments that a GPU and a core are asked for."""
BALLS = 5
"""Most of a run's time is spent with all of them."""


@dataclass
class Wish:
    """What the words of the command ask for."""

    settings: list[str] = field(default_factory=list)
    envs: list[int] = field(default_factory=list)
    seconds: float = 60.0
    json: bool = False
    out: Path | None = None

    def has(self, name: str) -> bool:
        """Whether a setting was given."""
        return any(word.split("=")[0] == name for word in self.settings)

    def compose(self, search: Search, sim: str) -> list[RunCfg]:
        """Return the checked run of each number of environments, on `sim` if none was named."""
        defaults = {"sim": sim, "budget": "paper", "curriculum.start": BALLS}
        words = [f"{name}={value}" for name, value in defaults.items() if not self.has(name)]
        words += self.settings
        first = load(RunCfg, words, search)
        if first.agent != LEARNER:
            raise UserError(f"agent = {first.agent}: learning is measured, allowed is {LEARNER}")
        envs = self.envs or ENVS[first.sim.on_gpu]
        return [load(RunCfg, [*words, f"budget.num_envs={n}"], search) for n in envs]


def main(words: list[str]) -> int:
    """Check the words, then measure."""
    if "--help" in words or "-h" in words:
        print((__doc__ or "").strip())
        return 0
    search, words = take_search(words)
    wish = _read(words)
    wish.compose(search, "mujoco")
    # Slow to import: help and mistakes come before.
    from s2m.learning.bench import bench, has_cuda

    cells = wish.compose(search, "warp" if has_cuda() else "mujoco")
    return bench(cells, wish.seconds, search.own, wish.json, wish.out)


def _read(words: list[str]) -> Wish:
    wish, left = Wish(), iter(words)
    require_once([word for word in words if "=" in word])
    for word in left:
        name, _, value = word.partition("=")
        if name == "--json":
            wish.json = True
        elif name == "--out":
            wish.out = _file(value or next(left, ""))
        elif word.startswith("-"):
            raise unknown("option", word, ("--json", "--out", "--help", "--config-dir"))
        elif name == "envs":
            wish.envs = _numbers(value)
        elif name == "seconds":
            wish.seconds = _seconds(value)
        elif name == "budget.num_envs":
            raise UserError(f"{word}: write envs={value or 4096}, or several as envs=1024,4096")
        else:
            wish.settings.append(word)
    if not wish.has("sim") and any(word.startswith("sim.") for word in wish.settings):
        raise UserError("sim.*: name the simulator too, as sim=warp sim.device=cpu")
    return wish


def _numbers(text: str) -> list[int]:
    parts = text.strip("[]").split(",")
    if not all(part.isdecimal() and int(part) for part in parts) or len(set(parts)) < len(parts):
        raise UserError(f"envs = {text}: must be different integers from 1, as envs=1024,4096")
    return [int(part) for part in parts]


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < sys.maxsize:
        raise UserError(f"seconds = {text}: must be a number above 0")
    return seconds


def _file(name: str) -> Path:
    if not name or Path(name).is_dir():
        raise UserError(f"--out {name}: allowed is a file, as bench.json")
    path = Path(name)
    if not path.parent.is_dir():
        raise UserError(f"--out {name}: {path.parent} is not a directory")
    return path


if __name__ == "__main__":
    run_command(main)
