"""A launch on SLURM: what is due is submitted as far as it fits, once or until nothing is left."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from s2m.cluster.chain import Chain, withdraw
from s2m.cluster.commands import SlurmError, settings
from s2m.cluster.followup import Step
from s2m.cluster.plan import Own, Plan, PlannedRun, create_folders, make_plan
from s2m.cluster.queue import Queue
from s2m.cluster.remarks import exit_code, left_alone
from s2m.cluster.script import WARNED
from s2m.cluster.slurm import Full, Submitter
from s2m.cluster.turn import launch_lock
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.console.text import count
from s2m.run.status import FAILED, QUEUED, RUNNING

SILENT = "squeue does not answer: nothing was submitted"


@dataclass
class Feed:
    """The cells of a launch and the commands after them, submitted pass by pass."""

    cells: Sequence[RunCfg | StudentCfg]
    steps: Sequence[Step]
    own: Sequence[Own]
    say: Callable[[str], object]
    submitted: set[str] = field(default_factory=set)
    """Runs and commands that were submitted by this very launch."""
    waits: bool = False
    """Whether it stays until all has ended."""
    passes: int = 0
    told: set[str] = field(default_factory=set)
    """What the last pass has said, which is not repeated."""
    said: set[str] = field(default_factory=set)
    """What this pass has to say."""

    @property
    def root(self) -> Path:
        """The folder of all runs."""
        return Path(self.cells[0].root)

    def run(self, wait: bool) -> int:
        """Submit what is due; with `wait` stay until all has ended."""
        self.waits = wait
        while True:
            try:
                more, code = self._pass()
            except SlurmError as error:
                if not (wait and self.passes):
                    raise
                more, code = True, 1
                self._tell(str(error))
            if not wait:
                self.say(f"python -m s2m.status {self.root} shows their progress")
            if not wait or not more:
                return code
            self.passes, self.told, self.said = self.passes + 1, self.said, set()
            time.sleep(self.cells[0].cluster.poll)

    def _tell(self, text: str) -> None:
        if text not in self.told | self.said:
            self.say(text)
        self.said.add(text)

    def _pass(self) -> tuple[bool, int]:
        """Submit what is due and fits; return whether there is more to come, and an exit code."""
        with launch_lock(self.root, self.say) as lock:
            queue = read_queue(self.root)
            plan = make_plan(self.cells, queue, self.own)
            due = [cell for cell in plan if self._is_due(cell, queue)]
            first = not self.passes
            if first:
                left_alone(plan, queue, self.say)
            create_folders(due)
            submitter = Submitter(self.root, queue, lock, self.say)
            left: list[PlannedRun] = []
            if due:
                left, why = submitter.runs(due)
                self._note(due, left, submitter, why)
            for entry in submitter.submitted:
                queue.add(self.root, entry)
            steps_left = self._follow_up(plan, queue, submitter)
            if first and not submitter.submitted and not left:
                self.say("nothing to submit")
        waiting = {cell.folder.path for cell in left}
        accepted = {cell.folder.path for cell in due} - waiting
        states = [QUEUED if c.folder.path in accepted else c.state.status for c in plan]
        counts = {state: states.count(state) for state in sorted({*states})}
        self._tell(", ".join(f"{number} {state}" for state, number in counts.items()))
        more = bool(left or steps_left or {QUEUED, RUNNING} & {*states})
        return more, exit_code(plan) or int(not due and FAILED in states)

    def _is_due(self, cell: PlannedRun, queue: Queue) -> bool:
        """Tell whether to submit a run; again only if it stopped to resume later."""
        if not cell.due() or cell.folder.path.name not in self.submitted:
            return cell.due()
        place = queue.of(cell.folder.path)
        return bool(place and place.submission.exit_code(place.index) in WARNED)

    def _note(self, due: Plan, left: Sequence[PlannedRun], submitter: Submitter, why: str) -> None:
        """Say what was submitted."""
        names = {cell.folder.path.name for cell in left}
        accepted = [cell for cell in due if cell.folder.path.name not in names]
        self.submitted |= {cell.folder.path.name for cell in accepted}
        jobs = ", ".join(f"job {entry.manifest.job}" for entry in submitter.submitted)
        if accepted:
            of = f" of {len(due)}" if left else ""
            noun = "run" if len(due) == 1 else "runs"
            self.say(f"submitted {len(accepted)}{of} {noun} as {jobs}")
        if left:
            them, do = ("it", "does") if len(left) == 1 else ("them", "do")
            advice = f": rerun the command to submit {them}, or add --wait"
            said = f"{count(len(left), 'run')} {do} not fit yet ({why})"
            self._tell(said if self.waits else said + advice)

    def _follow_up(self, plan: Plan, queue: Queue, submitter: Submitter) -> bool:
        """Submit the commands that are due; return whether any has not ended."""
        if not self.steps:
            return False
        cfg = plan[0].cfg.cluster
        cluster = settings("ClusterName", cfg.clusters)
        chain = Chain(self.steps, [cell.folder for cell in plan], queue, cluster)
        due = chain.due()
        if chain.elsewhere:
            withdraw(due, queue)
            if due:
                self._tell(
                    f"{_waiting(due)} for runs without a job of cluster {cluster} "
                    f"({chain.waiting()}): launch again when they have ended"
                )
            return bool(due) and bool({QUEUED, RUNNING} & {*chain.elsewhere.values()})
        tried = [step for step in due if str(step.record) in self.submitted]
        if tried and not chain.ahead:
            self._tell(f"{tried[0].name} has failed: see {self.root}/.slurm and launch again")
            return False
        withdraw(due, queue)
        before = chain.before(due[0]) if due else None
        dependency = f"afterok:{before.array}" if before else ""
        if not before and chain.ahead:
            dependency = f"afterany:{':'.join(sorted({*chain.ahead.values()}))}"
        for number, step in enumerate(due):
            try:
                job = submitter.command(step, cfg, chain.names, dependency, [*chain.ahead])
            except Full as error:
                self._tell(f"{_waiting(due[number:])} until there is room ({error})")
                return True
            except SlurmError as error:
                raise UserError(
                    f"{error}; {len(due) - number} of {count(len(self.steps), 'command')} after "
                    "the runs were not submitted"
                ) from None
            self.submitted.add(str(step.record))
            dependency = f"afterok:{job}"
        return any(not chain.is_done(step) for step in self.steps)


def _waiting(steps: Sequence[Step]) -> str:
    return f"{count(len(steps), 'command')} wait{'s' * (len(steps) == 1)}"


def read_queue(root: Path) -> Queue:
    """Ask SLURM for its queue; what it does not tell of must not be submitted twice."""
    queue = Queue.read(root)
    if queue is None or queue.silent or queue.asked.absent:
        raise SlurmError(SILENT)
    queue.settle()
    return queue
