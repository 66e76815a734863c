"""The table of python -m s2m.bench: each number of environments in a process of its own.

So each has its own peak of memory, one that does not fit leaves the others alone, and simulators
that allow one scene per process are measured too.
"""

import json
import multiprocessing
import os
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from s2m.config.budget import BudgetCfg
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.config.search import Search
from s2m.console.errors import UserError
from s2m.console.text import excerpt
from s2m.encoders.registry import load_own
from s2m.learning.speed import Speed, measure
from s2m.run.files import replacing
from s2m.run.machine import packages

SCHEMA = 1
BUDGETS = ("paper", "workstation")
"""Those whose hours are told, besides the one that was measured."""
FULL = "out of memory"
NO_ROOM = ("out of memory", "allocate")
"""What errors of torch, Warp, NumPy and MuJoCo say when there is no memory left."""
LEAVING = 60.0
"""Seconds that a process has to end after its result."""


@dataclass
class Measured:
    """One number of environments: its speed, or why there is none."""

    envs: int
    speed: Speed | None = None
    failure: str = ""


def has_cuda() -> bool:
    """Whether torch can use a CUDA card here."""
    return torch.cuda.is_available()


def bench(
    cells: Sequence[RunCfg], seconds: float, own: tuple[Path, ...], as_json: bool, out: Path | None
) -> int:
    """Measure runs that differ in their number of environments; 1 if one of them broke down."""
    say = Console(stderr=True, markup=False, highlight=False)
    rows = []
    for cfg in cells:
        say.print(f"{cfg.budget.num_envs:,} environments of sim={cfg.sim.name} ...")
        rows.append(_apart(cfg, seconds / len(cells), own))
    budgets = _budgets(cells[0], own)
    report = _report(cells[0], rows, budgets)
    text = json.dumps(report, indent=2)
    if out:
        with replacing(out) as file:
            file.write(f"{text}\n".encode())
    if as_json:
        print(text)
    else:
        console = Console(markup=False, highlight=False)
        if not console.is_terminal:
            console.width = 140
        console.print(*_lines(cells[0], rows, budgets), _table(report), sep="\n")
    broken = any(row.failure and not row.failure.startswith(FULL) for row in rows)
    return int(broken or not any(row.speed for row in rows))


def _apart(cfg: RunCfg, seconds: float, own: tuple[Path, ...]) -> Measured:
    """Measure in a process of its own, and find out why it has no result."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(there, cfg, seconds, own), daemon=True)
    process.start()
    there.close()
    try:
        kind, result = here.recv()
    except EOFError:
        process.join()
        code = process.exitcode or 0
        died = f"{FULL}, it seems: killed" if code == -9 else f"ended with code {code}"
        return Measured(cfg.budget.num_envs, failure=died)
    process.join(LEAVING)
    if process.is_alive():
        process.kill()
    if kind == "refused":
        raise UserError(result)
    if kind == "speed":
        return Measured(cfg.budget.num_envs, result)
    return Measured(cfg.budget.num_envs, failure=result)


def _child(pipe: Connection, cfg: RunCfg, seconds: float, own: tuple[Path, ...]) -> None:
    os.dup2(2, 1)  # what simulators print must not stand in the JSON
    try:
        load_own(own)
        pipe.send(("speed", measure(cfg, seconds)))
    except UserError as error:
        pipe.send(("refused", str(error)))
    except Exception as error:
        if isinstance(error, MemoryError) or any(word in str(error).lower() for word in NO_ROOM):
            pipe.send(("failed", FULL))
        else:
            traceback.print_exc()
            pipe.send(("failed", excerpt(f"{type(error).__name__}: {error}")))


def _budgets(cfg: RunCfg, own: tuple[Path, ...]) -> dict[str, BudgetCfg]:
    """Return the budgets whose hours are told, by name."""
    search = Search(own)
    names = [*BUDGETS, cfg.budget.name]
    return {
        name: load(RunCfg, [f"budget={name}"], search).budget
        for name in names
        if name in search.options("budget")
    }


def _report(cfg: RunCfg, rows: list[Measured], budgets: dict[str, BudgetCfg]) -> dict[str, Any]:
    """Return everything for programs, with the hours that budgets would take at each rate."""
    return {
        "schema": SCHEMA,
        "sim": cfg.sim.name,
        "sim_device": getattr(cfg.sim, "device", "cpu"),
        "encoder": cfg.encoder.name,
        "budget": cfg.budget.name,
        "balls": cfg.curriculum.start,
        "packages": packages(),
        "rows": [
            {
                "envs": row.envs,
                "failure": row.failure,
                **(asdict(row.speed) if row.speed else {}),
                "hours": {
                    name: _samples(budget) / row.speed.learning / 3600
                    for name, budget in budgets.items()
                    if row.speed
                },
            }
            for row in rows
        ],
    }


def _samples(budget: BudgetCfg) -> int:
    return budget.iterations * budget.num_envs * budget.steps


def _lines(cfg: RunCfg, rows: list[Measured], budgets: dict[str, BudgetCfg]) -> list[str]:
    speeds = [row.speed for row in rows if row.speed]
    device = speeds[0].device if speeds else "no device"
    core = "" if cfg.sim.on_gpu else ", one core"
    lines = [
        f"{device}{core}: sim={cfg.sim.name}, {cfg.curriculum.start} balls, networks and PPO of "
        f"budget={cfg.budget.name}, encoder={cfg.encoder.name}",
        "Control steps of environments per second. Start: until the first step, compiled kernels "
        "included.",
    ]
    others = [name for name, other in budgets.items() if other.hidden != cfg.budget.hidden]
    if others:
        lines.append(f"Other networks: measure hours of {others[0]} with budget={others[0]}.")
    if not all(speed.warm for speed in speeds):
        lines.append("*: only the first iteration, for which there was hardly time: raise seconds.")
    return lines


def _table(report: dict[str, Any]) -> Table:
    budgets = next((row["hours"] for row in report["rows"] if row["hours"]), dict.fromkeys(BUDGETS))
    table = Table(
        "environments", "alone", "learning", "physics", "learner", "rest", "memory", "start",
        *(f"budget={name}" for name in budgets),
    )  # fmt: skip
    for column in table.columns:
        column.justify = "right"
    for row in report["rows"]:
        envs = f"{row['envs']:,}"
        if row["failure"]:
            table.add_row(envs, row["failure"], *[""] * (len(table.columns) - 2))
            continue
        table.add_row(
            envs,
            f"{row['alone']:,.0f}",
            f"{row['learning']:,.0f}{'' if row['warm'] else '*'}",
            *(f"{row['shares'][name]:.0%}" for name in ("physics", "learning", "rest")),
            _gigabytes(row),
            f"{row['start']:.1f} s",
            *(f"{hours:,.1f} h" for hours in row["hours"].values()),
        )
    return table


def _gigabytes(row: dict[str, Any]) -> str:
    total = f" of {row['memory_total'] / 1e9:.0f}" if row["memory_total"] else ""
    return f"{row['memory'] / 1e9:.1f}{total} GB"
