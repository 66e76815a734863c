"""How fast environments of one number run and learn on the device of their simulator."""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch

from s2m.config.run import RunCfg
from s2m.env.transport import TransportEnv
from s2m.learning.ppo import Learner
from s2m.run.machine import processor

ALONE = 1 / 3
"""Part of the time for environments without learning."""


@dataclass
class Speed:
    """What was measured of one number of environments."""

    device: str
    """The card's or the processor's name."""
    start: float
    """Seconds to build the environments and make the first step; kernels are compiled in it."""
    alone: float
    """Control steps of environments per second, without learning."""
    learning: float
    """The same, with learning."""
    iterations: int
    """Iterations that were timed."""
    warm: bool
    """Whether an iteration came before them; not where one takes longer than there was time."""
    shares: dict[str, float]
    """Parts of an iteration's time, by name; they add up to 1."""
    memory: int
    """Bytes in use on the GPU, by everybody, or the most that this process had on the CPU."""
    memory_total: int
    """Bytes of the GPU; 0 on the CPU."""


class Stopwatch:
    """A clock that waits for the device, and adds up the time spent in methods."""

    def __init__(self, device: torch.device) -> None:
        """Begin with nothing spent."""
        self.device, self.spent = device, {}

    def now(self) -> float:
        """Return the time, when all that was asked of the device is done."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    @contextmanager
    def watching(self, owner: Any, name: str, *methods: str) -> Iterator[None]:
        """Add up under a name what is spent in methods of an object."""
        self.spent[name] = 0.0
        for method in methods:
            setattr(owner, method, self._timed(getattr(owner, method), name))
        try:
            yield
        finally:
            for method in methods:
                delattr(owner, method)

    def _timed(self, inner: Callable[..., Any], name: str) -> Callable[..., Any]:
        def timed(*args: Any, **rest: Any) -> Any:
            began = self.now()
            result = inner(*args, **rest)
            self.spent[name] += self.now() - began
            return result

        return timed


def measure(cfg: RunCfg, seconds: float) -> Speed:
    """Build the environments of a run, step them, let them learn; about `seconds` after the start.

    Without learning the robots hold still; with it an untrained policy explores.
    """
    torch.set_num_threads(1)  # as in a run
    torch.manual_seed(cfg.seed)
    began = time.perf_counter()
    env = TransportEnv(cfg.environment())
    device = torch.device(env.device)
    clock = Stopwatch(device)
    still = torch.zeros(env.num_envs, env.num_actions, device=device)
    env.step(still)
    start = clock.now() - began
    steps, spent = _repeat(lambda: env.step(still), clock, ALONE * seconds)
    alone = steps * env.num_envs / spent
    learner = Learner(cfg, env)
    gpu = device.type == "cuda"
    # On a GPU the parts are timed in an iteration of their own: waiting for each slows it down.
    with nullcontext() if gpu else _parts(clock, env):
        iterations, spent, warm = _learn(learner, clock, (1 - ALONE) * seconds)
    total = spent
    if gpu:
        with _parts(clock, env):
            _, total = _repeat(lambda: _iterate(learner), clock, 0)
    memory, memory_total = _memory(device)
    env.close()
    return Speed(
        device=torch.cuda.get_device_name(device) if gpu else processor(),
        start=start,
        alone=alone,
        learning=iterations * env.num_envs * cfg.budget.steps / spent,
        iterations=iterations,
        warm=warm,
        shares=_shares(clock.spent, total),
        memory=memory,
        memory_total=memory_total,
    )


def _repeat(work: Callable[[], Any], clock: Stopwatch, seconds: float) -> tuple[int, float]:
    """Do some work as often as fits into a time, at least once; return how often, and how long."""
    count, most, began = 0, 1, clock.now()
    while True:
        for _ in range(most - count):
            work()
        count, spent = most, clock.now() - began
        if spent >= seconds:
            return count, spent
        # Between two looks at the clock, which waits for a GPU, lies half of the time that is left.
        most = count + max(1, int(count * (seconds - spent) / spent / 2))


def _learn(learner: Learner, clock: Stopwatch, seconds: float) -> tuple[int, float, bool]:
    """Time iterations after a first one, or that one if it leaves no time for others."""
    count, spent = _repeat(lambda: _iterate(learner), clock, 0)
    if spent > seconds / 2:
        return count, spent, False
    for name in clock.spent:
        clock.spent[name] = 0.0
    return *_repeat(lambda: _iterate(learner), clock, seconds - spent), True


def _iterate(learner: Learner) -> None:
    learner.collect()
    learner.update(spent=0.5)


@contextmanager
def _parts(clock: Stopwatch, env: TransportEnv) -> Iterator[None]:
    with (
        clock.watching(env.sim, "physics", "step", "read", "reset"),
        clock.watching(env, "environment", "step"),
    ):
        yield


def _shares(spent: dict[str, float], total: float) -> dict[str, float]:
    """Divide a time into the simulator's, the learner's and the rest of the environments'."""
    parts = {
        "physics": spent["physics"],
        "learning": total - spent["environment"],
        "rest": spent["environment"] - spent["physics"],
    }
    return {name: seconds / total for name, seconds in parts.items()}


def _memory(device: torch.device) -> tuple[int, int]:
    """Return bytes in use and bytes there are; torch gives nothing back, so use is the peak."""
    if device.type == "cuda":
        free, total = torch.cuda.mem_get_info(device)
        return total - free, total
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, 0
