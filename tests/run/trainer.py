"""A stand-in for training: a random walk that uses all parts of the run folder as it does."""

import os
import signal
from typing import Any

import torch

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
        events, journal = Events(folder, lock.attempt.number), Journal(folder)
        generator = torch.Generator().manual_seed(1)
        done, level, position = -1, 1, torch.zeros(3, dtype=torch.float64)
        checkpoint = load_latest(folder, events)
        if checkpoint is not None:
            done, level = checkpoint.iteration, checkpoint.state["level"]
            position = checkpoint.state["position"]
            generator.set_state(checkpoint.state["generator"])
        journal.rewind(done)
        events.rewind(done)
        for i in range(done + 1, iterations):
            position = position + torch.randn(3, generator=generator, dtype=torch.float64)
            row = {f"position/{axis}": float(x) for axis, x in zip("xyz", position, strict=True)}
            journal.append(i, row | {"time/attempt": float(lock.attempt.number)})
            if level < 5 and abs(float(position[0])) > level:
                level += 1
                events.append("level", iteration=i, level=level)
            if (i + 1) % every == 0:
                state = {"level": level, "position": position, "generator": generator.get_state()}
                journal.compact(i)
                save(folder, i, state, keep=2)
        journal.close()
        folder.write_result("train", {"level": level, "position": position.tolist()})


def train_until(call: int, path: str, iterations: int, every: int) -> None:
    """Train, and die by SIGKILL at the given call that changes a file, half way if it writes.

    A kill does not empty the caches of the system, so no time is spent on syncing.
    """
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

    write, os.fsync = os.write, lambda _: None
    for name in ["open", "mkdir", "write", "replace", "ftruncate", "unlink"]:
        setattr(os, name, dying(getattr(os, name)))
    train(path, iterations, every)
