"""Train a run folder: to exactly its budget, through any number of interruptions.

On the CPU a run that was killed and resumed ends bit-equal to one that was not: a checkpoint holds
networks, optimizer, learning rate, random generators, simulator, histories and curriculum, and what
was journalled after it is taken back when the run goes on from it.
"""

import math
import time
from dataclasses import asdict
from typing import Any

import torch

from s2m.config.compose import from_dict
from s2m.config.run import RunCfg
from s2m.env.transport import TransportEnv
from s2m.learning.controls import make_learner
from s2m.run.folder import RunFolder
from s2m.run.milestones import LEVEL, level_changes
from s2m.run.status import FINISHED
from s2m.stages.attempt import Work


class Trainer(Work):
    """One attempt at a run."""

    advice = "lower ppo.learning_rate, or look at unstable/ in the folder"

    def __init__(self, folder: RunFolder, *rest: Any, **more: Any) -> None:
        """Build everything from the folder's config."""
        super().__init__(folder, *rest, **more)
        self.cfg = from_dict(RunCfg, folder.executed())
        torch.set_num_threads(1)
        torch.manual_seed(self.cfg.seed)
        self.env = TransportEnv(self.cfg.environment(), dump=folder.unstable)
        self.learner = make_learner(self.cfg, self.env)

    def run(self) -> str:
        """Go on from the newest sound checkpoint to the end of the budget."""
        self.resume()
        self._restore_levels()
        budget = self.cfg.budget
        encoder = self.learner.actor.encoder
        sizes = (
            f"encoder {_parameters(encoder):,} of the actor's {_parameters(self.learner.actor):,}"
        )
        self.progress.begin(
            self.folder, self.cfg, self.iteration, f"{encoder.group}, {sizes} parameters"
        )
        while self.iteration < budget.iterations:
            if self.asked_to_stop():
                self.progress.event(f"stopped at iteration {self.iteration} ({self.stop.reason})")
                return self.leave()
            self._iterate()
        self._finish()
        return FINISHED

    def state(self) -> dict[str, Any]:
        """Return environments and networks."""
        return {"env": self.env.state_dict(), "learner": self.learner.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        """Go on with saved environments and networks."""
        self.env.load_state_dict(state["env"])
        self.learner.load_state_dict(state["learner"])

    def _iterate(self) -> None:
        began = time.perf_counter()
        self.iteration += 1
        try:
            row = self.learner.collect()
            collected = time.perf_counter()
            row.update(self.learner.update(self.iteration / self.cfg.budget.iterations))
        except (RuntimeError, ValueError):
            # torch's distributions refuse parameters that are not numbers.
            if self.learner.is_finite():
                raise
            self.diverged("a network weight")
        updated = time.perf_counter()
        self.lock.make_sure()
        changes = self._record_levels()
        criteria = self.env.curriculum.criteria()
        row[LEVEL] = float(self.env.curriculum.level)
        row |= {f"criteria/{c.name}": c.value for c in criteria if not math.isnan(c.value)}
        planned = self.iteration % self.cfg.budget.checkpoint_every == 0
        last = self.iteration == self.cfg.budget.iterations
        if planned or changes or last:
            # From random numbers of its own, at planned checkpoints only: a stop changes nothing.
            samples = self.cfg.budget.audit_samples
            row.update(self.learner.audit(samples, self.cfg.seed + self.iteration))
        row.update(
            {
                "time/collect": collected - began,
                "time/update": updated - collected,
                "time/iteration": time.perf_counter() - began,
            }
        )
        self.journal.append(self.iteration, row)
        self.check_divergence(row)
        if planned or changes or last:
            tag = "final" if last else f"level{changes[-1]}" if changes else None
            self.save(tag)
        self.progress.iteration(self.iteration, row)

    def _record_levels(self) -> list[int]:
        changes = [event.level for event in self.env.events]
        for event in self.env.events:
            details = {k: v for k, v in asdict(event).items() if k != "level"}
            self.events.append("level", iteration=self.iteration, level=event.level, **details)
            self.progress.event(f"iteration {self.iteration}: level {event.level}")
        self.env.events.clear()
        return changes

    def _restore_levels(self) -> None:
        """Add the level changes that the metrics know and the events have lost."""
        known = level_changes(self.events.read())
        for level, iteration in self._level_changes().items():
            if level not in known:
                self.events.append("level_restored", level=level, at=iteration)
                self.events.append("level", iteration=iteration, level=level)

    def _level_changes(self) -> dict[int, int]:
        table, start = self.journal.table([LEVEL]), self.cfg.curriculum.start
        return level_changes(self.events.read(), table, start)

    def _finish(self) -> None:
        self.lock.make_sure()
        levels = {str(level): iteration for level, iteration in self._level_changes().items()}
        budget = self.cfg.budget
        self.folder.write_result(
            "train",
            {
                "iterations": self.iteration,
                "samples": self.iteration * budget.num_envs * budget.steps,
                "level": self.env.curriculum.level,
                "levels": levels,
                "attempts": self.lock.attempt.number,
                "encoder_parameters": _parameters(self.learner.actor.encoder),
                "actor_parameters": _parameters(self.learner.actor),
            },
        )
        self.progress.event(
            f"finished {self.iteration} iterations at level {self.env.curriculum.level}"
        )

    def close(self) -> None:
        """Release files, the display and the simulator."""
        super().close()
        self.progress.end()
        self.env.close()


train = Trainer.perform
"""Train the run of a folder."""


def _parameters(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
