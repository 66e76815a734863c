"""Things that are not a number: from the simulator, in the policy, in a metric."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import torch

from s2m.learning.imitation import Imitator
from s2m.learning.ppo import Learner
from s2m.run.folder import RunFolder
from s2m.sim.dummy import DummySimulator
from s2m.stages.attempt import Diverged
from s2m.stages.execute import execute


def _at(call: int, method: Callable[..., Any], spoil: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method whose given call is followed by `spoil` of its result."""
    calls = 0

    def wrapped(self: Any, *given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        found = method(self, *given, **named)
        return spoil(self, found) if calls == call else found

    return wrapped


def _from_simulator(simulator: DummySimulator, _: None) -> None:
    simulator.position[0, 0, 0] = torch.nan


def _in_policy(learner: Any, found: Any) -> Any:
    network = learner.student if isinstance(learner, Imitator) else learner.actor
    with torch.no_grad():
        next(network.parameters()).view(-1)[0] = torch.nan
    return found


def _in_metric(_: Any, found: dict[str, float]) -> dict[str, float]:
    return {**found, next(iter(found)): float("nan")}


SOURCES: dict[str, tuple[type, str, Callable[..., Any]]] = {
    "simulator": (DummySimulator, "step", _from_simulator),
    "policy": (Learner, "update", _in_policy),
    "metric": (Learner, "update", _in_metric),
    "student": (Imitator, "update", _in_policy),
    "student's metric": (Imitator, "metrics", _in_metric),
}
"""Where a NaN comes from: the class, the method after which it is there, and how."""


def diverge(folder: RunFolder, source: str, call: int) -> str:
    """Let a run meet a NaN at some call of its source; return what it says when it ends."""
    owner, name, spoil = SOURCES[source]
    with mock.patch.object(owner, name, _at(call, getattr(owner, name), spoil)):
        try:
            execute(folder)
        except Diverged as error:
            return str(error)
    return ""
