"""Submit runs to SLURM: arrays of packs, commands after them, and no waiting.

A manifest says what a job is for before sbatch is called. The run folders say what is done, and
SLURM's queue says what is under way.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from s2m.cluster.commands import (
    SlurmError,
    ask,
    at,
    job_named,
    max_array_size,
    partitions,
    settings,
)
from s2m.cluster.followup import Step
from s2m.cluster.manifest import FOLDER, Submission, new_submission
from s2m.cluster.plan import PlannedRun
from s2m.cluster.queue import Queue
from s2m.cluster.script import read_options, write_script
from s2m.cluster.snapshot import freeze
from s2m.config.cluster import SlurmCfg
from s2m.console.errors import UserError, unknown
from s2m.console.text import count, harmless
from s2m.run.folder import RunFolder

PERMANENT = (
    "invalid", "not available", "not permitted", "no such", "unrecognized", "violates",
    "can not be satisfied", "cannot be satisfied", "denied",
)  # fmt: skip
"""Words in sbatch's answers that say: this will never be accepted."""
MEMORY = ("mem", "mem-per-cpu", "mem-per-gpu")


class Full(SlurmError):
    """SLURM takes no more jobs until others have ended."""


def check(cfg: SlurmCfg, root: Path) -> None:
    """Refuse, before anything is written, what SLURM or the shell of the job would misread."""
    _check_options(cfg)
    for name in ("clusters", "partition", "account", "qos", "constraint", "gpu_type", "sbatch"):
        _require_one_line(f"cluster.{name}", getattr(cfg, name))
    _require_one_line("cluster.srun", cfg.srun)
    _require_one_line("root", str(root))
    if 60 * cfg.minutes <= cfg.signal_seconds:
        raise UserError(
            f"cluster.minutes = {cfg.minutes}: allowed is a time limit longer than its warning, "
            f"cluster.signal_seconds = {cfg.signal_seconds}"
        )
    if "%" in str(root):
        raise UserError(f"root = {root}: SLURM would replace the % in the paths of its logs")
    names, default = partitions(cfg.clusters)
    for name in [*cfg.partition.split(","), *cfg.then.partition.split(",")]:
        if name and name not in names:
            raise unknown("partition", name, names)
    if not cfg.partition and not default:
        raise UserError(
            "cluster.partition is not set and SLURM has no default partition. "
            f"Allowed: {', '.join(names)}"
        )


def _check_options(cfg: SlurmCfg) -> None:
    """Refuse options that would silently contradict a setting."""
    given = read_options(cfg.sbatch)
    if "gres" in given and cfg.gpus:
        raise UserError(
            f"cluster.sbatch = {cfg.sbatch}: --gres is set by cluster.gpus = {cfg.gpus} and "
            "cluster.gpu_type; set these, or cluster.gpus=0 to give --gres yourself"
        )
    for name in MEMORY:
        if name in given and cfg.memory:
            raise UserError(
                f"cluster.sbatch = {cfg.sbatch}: memory is set by cluster.memory = {cfg.memory:g} "
                f"and cluster.memory_per; set these, or cluster.memory=0 to give --{name} yourself"
            )
    for name, ours in {
        "requeue": "requeue",
        "no-requeue": "requeue",
        "clusters": "clusters",
    }.items():
        if name in given:
            raise UserError(f"cluster.sbatch = {cfg.sbatch}: set cluster.{ours} instead")


def _require_one_line(name: str, value: str | Sequence[str]) -> None:
    """Refuse control characters: after a line feed the script would have a line of its own."""
    for text in [value] if isinstance(value, str) else value:
        if harmless(text) != text or "\n" in text or "\t" in text:
            raise UserError(f"{name} = {text!r}: allowed is text without control characters")


def by_cluster(cells: Sequence[PlannedRun]) -> list[tuple[SlurmCfg, list[PlannedRun]]]:
    """Divide cells by where they are to run, in their order."""
    found: list[tuple[SlurmCfg, list[PlannedRun]]] = []
    for cell in cells:
        for cfg, group in found:
            if cfg == cell.cfg.cluster:
                group.append(cell)
                break
        else:
            found.append((cell.cfg.cluster, [cell]))
    return found


def packs_of(cells: Sequence[PlannedRun], cfg: SlurmCfg) -> list[list[PlannedRun]]:
    """Divide cells into those that share a job."""
    return [list(cells[i : i + cfg.pack]) for i in range(0, len(cells), cfg.pack)]


def describe_runs(
    root: Path, number: int, packs: list[list[PlannedRun]], cfg: SlurmCfg, code: str, cluster: str
) -> Submission:
    """Return the submission of an array of packs."""
    return new_submission(
        root, number, packs[0][0].cfg.experiment, code=code, cluster=cluster,
        clusters=cfg.clusters, threads=cfg.threads, max_requeues=cfg.max_requeues,
        packs=[[place_of(cell.folder) for cell in pack] for pack in packs],
        attempts=[[cell.state.attempts for cell in pack] for pack in packs],
    )  # fmt: skip


def place_of(folder: RunFolder) -> str:
    """Return a run as manifests name it."""
    return f"{folder.path.parent.name}/{folder.path.name}"


class Submitter:
    """Submits the arrays and commands of one launch, whose lock sbatch keeps until it has ended."""

    def __init__(self, root: Path, queue: Queue, lock: int, say: Callable[[str], object]) -> None:
        """Take the queue as it is under the lock; `say` is told what happens."""
        self.root, self.lock, self.say = root.resolve(), lock, say
        ledger = queue.ledgers.get(root.absolute())
        numbers = [entry.manifest.number for entry in ledger.entries] if ledger else []
        self._number = max(numbers, default=0)
        self.submitted: list[Submission] = []
        """What SLURM has accepted."""

    @cached_property
    def code(self) -> str:
        """The copy of the code that the jobs run."""
        return str(freeze(self.root / FOLDER / "code"))

    def runs(self, cells: Sequence[PlannedRun]) -> tuple[list[PlannedRun], str]:
        """Submit cells that are due; return those that SLURM has no room for, and its word."""
        left: list[PlannedRun] = []
        why = ""
        for cfg, group in by_cluster(cells):
            waiting = packs_of(group, cfg)
            size = min(len(waiting), max_array_size(cfg.clusters))
            while waiting and size:
                try:
                    self._array(cfg, waiting[:size])
                except Full as error:  # perhaps there is room for fewer
                    why, size = str(error), size // 2
                    continue
                except SlurmError as error:
                    lost = [*left, *(cell for pack in waiting for cell in pack)]
                    raise _unsubmitted(error, len(lost), len(cells)) from None
                waiting = waiting[size:]
                size = min(size, len(waiting))
            left += [cell for pack in waiting for cell in pack]
        return left, why

    def _array(self, cfg: SlurmCfg, packs: list[list[PlannedRun]]) -> None:
        """Submit packs as one array, and the jobs that resume it where jobs cannot be requeued."""
        cluster = settings("ClusterName", cfg.clusters)
        dependency = ""
        for link in range(cfg.chain + 1):
            entry = describe_runs(self.root, self._next(), packs, cfg, self.code, cluster)
            try:
                job = self._submit(cfg, entry, last=link == cfg.chain, dependency=dependency)
            except SlurmError as error:
                if not link:
                    raise
                said = f"only {link - 1} of {count(cfg.chain, 'follow-up job')}"
                verb = "was" if cfg.chain == 1 else "were"
                self.say(f"{error}; {said} (cluster.chain) {verb} submitted")
                return
            dependency = f"{'aftercorr' if len(packs) > 1 else 'afterok'}:{job}"

    def command(
        self, step: Step, cfg: SlurmCfg, reads: list[str], dependency: str, after: list[str]
    ) -> str:
        """Submit a command after a sweep and return its job."""
        cfg = cfg if step.computes else cfg.for_scripts()
        entry = new_submission(
            self.root, self._next(), step.experiment, code=self.code, clusters=cfg.clusters,
            cluster=settings("ClusterName", cfg.clusters), max_requeues=cfg.max_requeues,
            command=step.command, record=step.record.name, reads=reads, after=after,
        )  # fmt: skip
        step.forget()
        job = self._submit(cfg, entry, dependency=dependency)
        self.say(f"then, as job {job}: {' '.join(step.command)}")
        return job

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _submit(self, cfg: SlurmCfg, entry: Submission, **options: Any) -> str:
        """Write down what is submitted, submit it, and add the job's id."""
        try:
            entry.write()
            path = write_script(cfg, entry, **options)
            job = self._call(cfg, entry, path)
        except BaseException:
            entry.withdraw()
            raise
        entry.note(job=job)
        self.submitted.append(entry)
        return job

    def _call(self, cfg: SlurmCfg, entry: Submission, path: Path) -> str:
        for pause in _pauses(cfg.patience):
            try:
                said = ask("sbatch", *at(cfg.clusters), str(path), hold=[self.lock])
                if found := re.search(r"job (\d{1,12})", said):
                    return found[1]
                raise SlurmError(f"sbatch: answered {said.strip()!r}")
            except SlurmError as error:
                kind = refusal(str(error))
                if kind == FULL:
                    raise Full(str(error)) from None
                if kind == FOREVER:
                    raise
                # It may have been accepted all the same, with the answer lost on its way.
                with suppress(SlurmError):
                    if job := job_named(entry.manifest.name, *at(cfg.clusters)):
                        return job
                if pause is None:
                    raise
                self.say(f"{error}; trying again in {pause:.0f} s")
            time.sleep(pause)
        raise AssertionError("the last pause is None")


FULL, FOREVER, FOR_NOW = "full", "for ever", "for now"


def refusal(message: str) -> str:
    """Tell how sbatch's refusal is meant: until jobs have ended, for ever, or for now."""
    text = message.lower()
    # The limit stands before what SLURM says of every violation of one.
    if named := re.search(r"\b(?:qos|assoc|grp|max)[a-z]*(?=:| |$)", text.partition("(")[0]):
        if named[0] not in ("qos", "max", "assoc"):
            return FULL if "submit" in named[0] else FOREVER
    if "submit limit" in text:
        return FULL
    return FOREVER if any(word in text for word in PERMANENT) else FOR_NOW


def _unsubmitted(error: SlurmError, left: int, every: int) -> UserError:
    advice = "" if refusal(str(error)) == FOREVER else ": the same command submits them"
    return UserError(f"{error}; {left} of {every} runs were not submitted{advice}")


def _pauses(patience: float) -> Iterator[float | None]:
    """Yield pauses that double, up to `patience` in all, and then None: give up."""
    pause, spent = 1.0, 0.0
    while spent + pause <= patience:
        yield pause
        spent += pause
        pause = min(2 * pause, 30.0)
    yield None
