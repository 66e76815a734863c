"""Success rates of a policy: the stage of a run after training, and what a command asks for."""

import csv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress as Bar
from rich.table import Table

from s2m.config.env import EnvCfg
from s2m.config.evaluate import EvaluateCfg, EvaluationCfg
from s2m.config.shift import name_of, shift_of
from s2m.console.errors import UserError
from s2m.console.terminal import in_place
from s2m.env.episodes import EpisodeRow, run_episodes
from s2m.policy.stored import Student, Trained, cast, open_policy
from s2m.run.events import Events
from s2m.run.files import replacing, sha256
from s2m.run.folder import RunFolder
from s2m.run.lock import RunLock
from s2m.run.rates import Count, rates_of_rows, wilson
from s2m.run.status import FINISHED, STOPPED
from s2m.run.stopping import Stopped, StopRequest, stop_signals
from s2m.stages.progress import Progress


def summary(rows: list[EpisodeRow]) -> Table:
    """Tabulate success rates with Wilson intervals and the promotion measures, per k."""
    table = Table("k", "episodes", "no-drop %", "strict %", "length", "margin", "dangerous",
                  "edge", "v error", "yaw error")  # fmt: skip
    for k, rates in rates_of_rows(rows).items():
        values = [rates.steps, *rates.over_steps.values()]
        numbers = [f"{value:.3f}" if value < 10 else f"{value:.0f}" for value in values]
        successes = [_percent(rates.count(metric)) for metric in ("no_drop", "strict")]
        table.add_row(str(k), str(rates.n), *successes, *numbers)
    return table


def _percent(count: Count) -> str:
    low, high = wilson(count)
    return f"{100 * count.hits / count.n:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


def evaluate(
    folder: RunFolder,
    lock: RunLock,
    stop: StopRequest,
    progress: Progress,
    cfg: EvaluationCfg | None = None,
) -> str:
    """Judge the policy of a run folder, by `cfg` or its frozen config (FINISHED or STOPPED)."""
    trained = open_policy(folder.path)
    cfg = cfg or trained.cfg.evaluate
    torch.set_num_threads(1)
    env = environment(trained.cfg.environment(), cfg)
    tables = {}
    plan = {
        "episodes": (cfg.levels, cfg.episodes, cfg.seed),
        "selection": ([trained.top], cfg.selection_episodes, cfg.selection_seed),
    }
    try:
        with _bar(progress.console, f"{folder.path.name} {len(plan)} sets of episodes") as show:
            for name, (levels, episodes, seed) in plan.items():

                def watch(step: int, alive: int) -> None:
                    show(step, env.task.episode_steps)
                    if stop.asked(folder.stop):
                        raise Stopped

                rows = run_episodes(replace(env, seed=seed), trained.agent, levels, episodes, watch)
                tables[name] = [{"run": folder.path.name, "seed": seed, **row} for row in rows]
    except Stopped:
        folder.stop.unlink(missing_ok=True)
        events = Events(folder, lock.attempt.number)
        events.append("stopped", stage="evaluate", reason=stop.reason)
        return STOPPED
    sums = {}
    for name, rows in tables.items():
        path = folder.path / f"{name}.parquet"
        lock.make_sure()
        write_episodes(path, rows)
        sums[name] = sha256(path.read_bytes())
    result = _result(trained, cfg, tables["episodes"])
    lock.make_sure()
    folder.write_result("evaluate", {**result, "sha256": sums})
    return FINISHED


def environment(base: EnvCfg, cfg: EvaluationCfg) -> EnvCfg:
    """Return the environment of an evaluation: the actor's own, with the slots as asked for."""
    permute = base.permute if cfg.slots == "as_trained" else cfg.slots == "permuted"
    return replace(base, permute=permute, seed=cfg.seed)


def _result(
    trained: Trained | Student, cfg: EvaluationCfg, rows: list[EpisodeRow]
) -> dict[str, Any]:
    found = rates_of_rows(rows)
    return {
        "iteration": trained.checkpoint.iteration,
        "checkpoint": trained.checkpoint.path.name,
        "settings": asdict(cfg),
        "episodes": "episodes.parquet",
        "selection": "selection.parquet",
        "successes": {str(k): found[k].successes() for k in cfg.levels},
    }


def write_episodes(path: Path, rows: list[EpisodeRow]) -> None:
    """Store the rows of episodes as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with replacing(path) as file:
        pq.write_table(pa.Table.from_pylist(rows), file)


@contextmanager
def _bar(console: Console | None, name: str) -> Iterator[Callable[[int, int], None]]:
    """Show the steps of the episodes on a terminal; elsewhere say only that they began."""
    if console is None:
        yield lambda step, total: None
        return
    live = in_place(console)
    if not live:
        console.print(f"evaluating {name}", highlight=False)
    with Bar(console=console, transient=True, disable=not live) as bars:
        task = bars.add_task(escape(name))
        yield lambda step, total: bars.update(task, completed=step, total=total)


def judge(cfg: EvaluateCfg, words: list[str]) -> None:
    """Print the table that the words of a command ask for, and write it where they say."""
    out = Path(cfg.out) if cfg.out else None
    console = Console(markup=False)
    if not console.is_terminal:
        console.width = 120
    if out:
        out.parent.mkdir(parents=True, exist_ok=True)
    make, base, name = cast(cfg, words)
    torch.set_num_threads(1)
    seed = cfg.seed
    if cfg.store:
        stage = _stage(cfg, words)
        seed, rows = stage.seed, _replace_evaluation(cfg, stage, console, words)
    else:
        env = environment(base, cfg)
        name += _how_far(cfg.run) if cfg.run else ""
        with _bar(console, name) as show:
            rows = run_episodes(
                env, make, cfg.levels, cfg.episodes,
                lambda step, alive: show(step, env.task.episode_steps),
            )  # fmt: skip
    shift = shift_of(words) if cfg.run else {}
    name += f", {name_of(shift)}" if shift else ""
    console.print(f"{name}, seed {seed}", summary(rows))
    if shift:
        rows = [{"run": Path(cfg.run).resolve().name, "shift": name_of(shift), **r} for r in rows]
    if out:
        with out.open("w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


def _how_far(run: str) -> str:
    """Say how far a policy has learnt, unless that is to the end."""
    policy = open_policy(run)
    folder = policy.folder
    if folder.result(folder.kind.stage) is not None:
        return ""
    at = policy.checkpoint.iteration
    if isinstance(policy, Student):
        return f" at epoch {at} of {policy.cfg.distill.total_epochs()}"
    return f" at iteration {at} of {policy.cfg.budget.iterations}"


def _stage(cfg: EvaluateCfg, words: list[str]) -> EvaluationCfg:
    """Return the run's own settings with those of the command: tables compare only like runs."""
    given = {word.split("=")[0] for word in words}
    names = {item.name for item in fields(EvaluationCfg)} & given
    return replace(
        open_policy(cfg.run).cfg.evaluate, **{name: getattr(cfg, name) for name in names}
    )


def _replace_evaluation(
    cfg: EvaluateCfg, stage: EvaluationCfg, console: Console, words: list[str]
) -> list[EpisodeRow]:
    import pyarrow.parquet as pq

    folder = RunFolder.open(cfg.run)
    if folder.result(folder.kind.stage) is None:
        raise UserError(f"{folder.path} has not finished training: evaluate it after training")
    if shift_of(words).keys() - {"slots"}:
        raise UserError(
            "store = true: faults, delays and shifts of task and sim are for trying, an evaluation "
            "that counts has none"
        )
    with stop_signals() as stop, RunLock.acquire(folder) as lock:
        if evaluate(folder, lock, stop, Progress(console, live=False), stage) == STOPPED:
            raise UserError(
                f"stopped by {stop.reason}: {folder.path} keeps its previous evaluation"
            )
    return pq.read_table(folder.path / "episodes.parquet").to_pylist()
