"""A stand-in for training: a random walk that uses all parts of the run folder as it does."""

import os
import signal
from collections.abc import Callable
from typing import Any

import torch

from s2m.run import journal
from s2m.run.checkpoint import load_latest, save
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.lock import RunLock

CONFIG = {"encoder": "pfds", "permute": True, "seed": 1}


def train(path: str, iterations: int, every: int) -> None:
    """Run up to `iterations` from wherever the folder is, with a checkpoint `every` so many."""
    folder = RunFolder.create(path, CONFIG)
    with RunLock.acquire(folder) as lock:
        events, metrics = Events(folder, lock.attempt.number), Journal(folder)
        generator = torch.Generator().manual_seed(1)
        done, level, position = -1, 1, torch.zeros(3, dtype=torch.float64)
        checkpoint = load_latest(folder, events)
        if checkpoint is not None:
            done, level = checkpoint.iteration, checkpoint.state["level"]
            position = checkpoint.state["position"]
            generator.set_state(checkpoint.state["generator"])
        metrics.rewind(done)
        events.rewind(done)
        for i in range(done + 1, iterations):
            position = position + torch.randn(3, generator=generator, dtype=torch.float64)
            row = {f"position/{axis}": float(x) for axis, x in zip("xyz", position, strict=True)}
            metrics.append(i, row | {"time/attempt": float(lock.attempt.number)})
            if level < 5 and abs(float(position[0])) > level:
                level += 1
                events.append("level", iteration=i, level=level)
            if (i + 1) % every == 0:
                state = {"level": level, "position": position, "generator": generator.get_state()}
                metrics.compact(i)
                save(folder, i, state, keep=2)
        metrics.close()
        folder.write_result("train", {"level": level, "position": position.tolist()})


def log(path: str, iterations: int, every: int) -> None:
    """Only log rows, and compact the older half of them `every` so many."""
    metrics = Journal(RunFolder(path))
    for i in range(iterations):
        metrics.append(i, {"a": i / 7})
        if (i + 1) % every == 0:
            metrics.compact(i - every // 2)


def die_at(call: int, work: Callable[..., None], *given: Any) -> None:
    """Work, and die by SIGKILL at the given call that changes a file, half way if it writes."""
    calls = 0

    def dying(function: Any) -> Any:
        def wrapper(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == call:
                if function is write:
                    descriptor, data = arguments
                    write(descriptor, data[: len(data) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*arguments, **options)

        return wrapper

    write = os.write
    os.fsync = lambda _: None
    for name in ["open", "mkdir", "write", "replace", "ftruncate", "unlink"]:
        setattr(os, name, dying(getattr(os, name)))
    # Rows that compaction keeps in the journal would make up for a lost table.
    journal.KEPT = 1
    work(*given)
