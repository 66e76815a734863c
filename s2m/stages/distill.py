"""Distil a student: behaviour cloning, then rounds of DAgger, through any number of interruptions.

Round 0 learns from the teacher's own trajectories; in each later round the student drives, the
teacher labels, and the student learns from all steps so far. Every random number comes from a seed
that belongs to its collection or epoch, so a checkpoint is the network, its optimizer and a place
in the schedule: on the CPU a distillation that was killed ends bit-equal to one that was not.
"""

import shutil
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from s2m.config.compose import from_dict
from s2m.config.distill import StudentCfg
from s2m.console.errors import UserError
from s2m.env.episodes import run_episodes
from s2m.env.transport import TransportEnv
from s2m.learning.collection import collect, collections
from s2m.learning.dataset import DataSet, write_steps
from s2m.learning.imitation import Imitator
from s2m.learning.teacher import Classroom
from s2m.policy.scaling import Scaler
from s2m.policy.sensing import TactileAgent
from s2m.run.folder import RunFolder
from s2m.run.milestones import RATE, ROUND, rates_of, rounds
from s2m.run.status import FINISHED
from s2m.run.stopping import Stopped
from s2m.stages.attempt import Work
from s2m.stages.lesson import Lesson
from s2m.task.randomness import seed_of


class Distiller(Work):
    """One attempt at a student; an iteration is an epoch."""

    advice = "lower distill.learning_rate"

    def __init__(self, folder: RunFolder, *rest: Any, **more: Any) -> None:
        """Build everything from the folder's config."""
        super().__init__(folder, *rest, **more)
        self.cfg = from_dict(StudentCfg, folder.executed())
        self.data = folder.data
        torch.set_num_threads(1)
        torch.manual_seed(self.cfg.seed)
        self.classroom = Classroom(self.cfg)
        self.learner = Imitator(self.cfg.distill, getattr(self.cfg.sim, "device", "cpu"))
        self.round = 0
        self.lesson = Lesson(self.progress, folder.path.name, self.cfg.distill.total_epochs())

    def run(self) -> str:
        """Go on from the newest sound checkpoint to the end of the last round."""
        self.resume()
        self.lesson.begin(
            self.iteration,
            f"taught by {self.cfg.taught_by.name}, {self.learner.parameters:,} parameters",
        )
        try:
            while self.round < self.cfg.distill.rounds:
                self._round()
        except Stopped:
            self.lesson.say(
                f"stopped in round {self.round}, epoch {self.iteration} ({self.stop.reason})"
            )
            return self.leave()
        self._finish()
        return FINISHED

    def state(self) -> dict[str, Any]:
        """Return the student, its optimizer and the place in the schedule."""
        return {"round": self.round, **self.learner.state_dict()}

    def load(self, state: dict[str, Any]) -> None:
        """Go on with a saved student."""
        self.learner.load_state_dict(state)
        self.round = state["round"]

    def _round(self) -> None:
        cfg = self.cfg.distill
        before = sum(cfg.epochs_of(round_) for round_ in range(self.round))
        epochs = cfg.epochs_of(self.round)
        data = self._collect()
        for done in range(self.iteration - before, epochs):
            began = time.perf_counter()
            self._learn(data, done, epochs)
            last = done + 1 == epochs
            row = {
                ROUND: float(self.round),
                "distill/steps": float(data.steps),
                "distill/trajectories": float(len(data.trajectories)),
                **self.learner.metrics(),
                **(self._judge() if last else {}),
                "time/iteration": time.perf_counter() - began,
            }
            self._close_epoch(row, last)

    def _collect(self) -> DataSet:
        """Collect what the present round still lacks, and return the steps of all rounds."""
        self.data.mkdir(exist_ok=True)
        paths = []
        before = sum(self.cfg.distill.epochs_of(round_) for round_ in range(self.round))
        learnt = self.iteration > before or self.learner.batches > 0
        for round_ in range(self.round + 1):
            for what in collections(self.cfg.distill, round_, self.cfg.task.episode_steps):
                paths.append(self.data / what.file)
                # What an earlier student did cannot be had again from the present one.
                if paths[-1].exists():
                    continue
                if round_ < self.round or learnt:
                    raise UserError(
                        f"{paths[-1]} is gone: delete {self.folder.path} and start over"
                    )
                driver = self._agent if round_ else None
                steps = collect(self.cfg, self.classroom, driver, what, self._watch(what.steps))
                self.lock.make_sure()
                write_steps(paths[-1], steps)
        return DataSet(paths)

    def _watch(self, total: int) -> Callable[[int], None]:
        def watch(done: int) -> None:
            self._look_up()
            self.lesson.show(f"round {self.round}: collecting, step {done} of {total}")

        return watch

    def _agent(self, env: TransportEnv) -> TactileAgent:
        scaler = Scaler(self.cfg.task.command).to(env.device)
        return TactileAgent(self.learner.student, scaler, env)

    def _learn(self, data: DataSet, done: int, epochs: int) -> None:
        """Go through all batches of an epoch, or those that are left of it."""
        cfg = self.cfg.distill
        chance = np.random.default_rng(seed_of(self.cfg.seed, f"epoch/{self.iteration}"))
        batches = data.batches(cfg.batch, chance)
        for batch in batches[self.learner.batches :]:
            self._look_up()
            part = self.learner.batches / len(batches)
            self.lesson.show(f"round {self.round}: error {self.learner.error:.3f}", part)
            self.learner.update(data.assemble(batch), (done + part) / epochs)

    def _judge(self) -> dict[str, float]:
        """Let the student carry balls; from the same starts after every round."""
        cfg, env = self.cfg.distill, self.cfg.environment()
        env.seed = cfg.round_seed

        def watch(step: int, alive: int) -> None:
            self._look_up()
            self.lesson.show(f"round {self.round}: judging, step {step}", 1.0)

        rows = run_episodes(env, self._agent, cfg.levels, cfg.round_episodes, watch)
        found = {}
        for k in cfg.levels:
            group = [row for row in rows if row["k"] == k]
            for name in ("no_drop", "strict"):
                found[f"{RATE}{name}_{k}"] = sum(row[name] for row in group) / len(group)
        return found

    def _close_epoch(self, row: dict[str, float], last: bool) -> None:
        """Journal an epoch, and save if it is the last of its round or a checkpoint is due."""
        self.lock.make_sure()
        self.iteration += 1
        self.lesson.epoch = self.iteration
        self.learner.begin_epoch()
        self.check_divergence(row)
        self.journal.append(self.iteration, row)
        if last:
            self._close_round(row)
        elif self.iteration % self.cfg.distill.checkpoint_every == 0:
            self.save()

    def _close_round(self, row: dict[str, float]) -> None:
        rates = rates_of(row)
        self.events.append("round", iteration=self.iteration, round=self.round, rates=rates)
        kept = ", ".join(
            f"{100 * rates[f'{RATE}no_drop_{k}']:.0f}" for k in self.cfg.distill.levels
        )
        self.lesson.say(
            f"round {self.round} of {self.cfg.distill.rounds}: error {row['loss/error']:.3f}, "
            f"no-drop {kept} % with {', '.join(map(str, self.cfg.distill.levels))} balls"
        )
        tag = f"round{self.round}"
        self.round += 1
        self.save("final" if self.round == self.cfg.distill.rounds else tag)

    def _look_up(self) -> None:
        """Leave if somebody asks for it."""
        if self.asked_to_stop():
            raise Stopped

    def _finish(self) -> None:
        self.lock.make_sure()
        # The steps have served; deleting them first means that a kill leaves nothing behind.
        if not self.cfg.distill.keep_data and self.data.exists():
            shutil.rmtree(self.data)
        self.folder.write_result(
            "distill",
            {
                "iterations": self.iteration,
                "updates": self.learner.updates,
                "teacher": self.cfg.taught_by.name,
                "rounds": rounds(self.journal.table()),
                "parameters": self.learner.parameters,
                "attempts": self.lock.attempt.number,
            },
        )
        self.lesson.say(f"finished {self.cfg.distill.rounds} rounds, {self.iteration} epochs")

    def close(self) -> None:
        """Release files and the display."""
        super().close()
        self.lesson.end()


distill = Distiller.perform
"""Distil the student of a folder."""
