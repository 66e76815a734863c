"""Submit runs to SLURM through submitit: arrays of packs, commands after them, and no waiting.

submitit writes the script and pickles what the job calls. Its results and states are not used: the
run folders say what is done, and SLURM's queue says what is under way.
"""

import re
import secrets
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2m.cluster.followup import Step
from s2m.cluster.pack import REQUEUE, FollowUp, Pack
from s2m.cluster.plan import PlannedRun
from s2m.cluster.queue import SlurmError, ask, complaint, max_array_size, partitions
from s2m.cluster.snapshot import freeze
from s2m.cluster.submission import FOLDER, Submission, record
from s2m.config.cluster import SlurmCfg
from s2m.console.errors import UserError, unknown
from s2m.console.text import harmless

if TYPE_CHECKING:
    from submitit import SlurmExecutor

PERMANENT = (
    "invalid", "not available", "not permitted", "no such", "unrecognized", "violates",
    "can not be satisfied", "cannot be satisfied", "denied",
)  # fmt: skip
"""Words in sbatch's answers that say: this will never be accepted."""
TEMPORARY = ("qosmaxsubmit", "assocmaxsubmit", "submit limit", "maxsubmit")
"""Limits that pass as other jobs end, though SLURM calls them violations."""
_OPTION = re.compile(r"--[a-z][a-z-]*")
WARNED = (REQUEUE, 128 + signal.SIGTERM, 128 + signal.SIGUSR2)
"""Exit codes of a job that was asked to leave; the signals kill a Python that still loads."""
TRIES = 10
"""How often a job asks to be requeued, three seconds apart: a preempted one is soon killed."""


def teardown(max_requeues: int) -> list[str]:
    """Return the end of a job's script, which requeues a job that was asked to leave."""
    return [
        "code=$?",
        "# Asked to leave before the end: go on later, unless SLURM has already decided otherwise.",
        # One element of every array has the array's own id, by which SLURM means all of them.
        "job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}",
        "job=${job:-$SLURM_JOB_ID}",
        f"case $code in {'|'.join(map(str, WARNED))})",
        f"  [ ${{SLURM_RESTART_COUNT:-0}} -lt {max_requeues} ] || exit $code",
        "  # A controller that restarts or has much to do answers later.",
        f"  for try in {{1..{TRIES}}}; do",
        "    if state=$(squeue -h -j $job -o %T); then",
        '      [ "$state" = RUNNING ] || break',
        "      scontrol requeue $job && break",
        "    fi",
        "    sleep 3",
        "  done",
        "esac",
        "exit $code",
    ]


@dataclass(frozen=True)
class JobArray:
    """Packs that SLURM gets as one array."""

    name: str
    packs: list[list[PlannedRun]]


def check(cfg: SlurmCfg, root: Path) -> None:
    """Refuse, before anything is written, what SLURM or the shell of the job would misread."""
    if "gres" in _options(cfg.sbatch) and cfg.gpus:
        raise UserError(
            f"cluster.sbatch = {cfg.sbatch}: --gres is set by cluster.gpus = {cfg.gpus} and "
            "cluster.gpu_type; set these, or cluster.gpus=0 to give --gres yourself"
        )
    for name in ("partition", "account", "qos", "constraint", "gpu_type", "sbatch", "srun"):
        _require_one_line(f"cluster.{name}", getattr(cfg, name))
    _require_one_line("root", str(root))
    if 60 * cfg.minutes <= cfg.signal_seconds:
        raise UserError(
            f"cluster.minutes = {cfg.minutes}: allowed is a time limit longer than its warning, "
            f"cluster.signal_seconds = {cfg.signal_seconds}"
        )
    if "%" in str(root):
        raise UserError(f"root = {root}: SLURM would replace the % in the paths of its logs")
    names, default = partitions()
    if cfg.partition and cfg.partition not in names:
        raise unknown("partition", cfg.partition, names)
    if not cfg.partition and not default:
        raise UserError(
            "cluster.partition is not set and SLURM has no default partition. "
            f"Allowed: {', '.join(names)}"
        )


def _require_one_line(name: str, value: str | Sequence[str]) -> None:
    """Refuse control characters: after a line feed the script would have a line of its own."""
    for text in [value] if isinstance(value, str) else value:
        if harmless(text) != text or "\n" in text or "\t" in text:
            raise UserError(f"{name} = {text!r}: allowed is text without control characters")


def job_arrays(cells: Sequence[PlannedRun], cfg: SlurmCfg, limit: int) -> list[JobArray]:
    """Divide cells into packs, and packs into arrays of at most `limit` elements."""
    packs = [list(cells[i : i + cfg.pack]) for i in range(0, len(cells), cfg.pack)]
    return [
        JobArray(_job_name(cells[0].cfg.experiment), packs[i : i + limit])
        for i in range(0, len(packs), limit)
    ]


def _job_name(experiment: str) -> str:
    return f"s2m-{experiment}-{secrets.token_hex(3)}"


def parameters(cfg: SlurmCfg, name: str, code: Path) -> dict[str, Any]:
    """Return submitit's parameters for a job that runs the code in a folder."""
    path = shlex.quote(str(code))
    extra: dict[str, Any] = {"chdir": str(code), "requeue": True, **_options(cfg.sbatch)}
    if cfg.gpus:
        extra["gres"] = ":".join(filter(None, ["gpu", cfg.gpu_type, str(cfg.gpus)]))
    named = {
        name: getattr(cfg, name) or None for name in ("partition", "account", "qos", "constraint")
    }
    return named | {
        "job_name": name,
        "time": cfg.minutes,
        "cpus_per_task": cfg.cpus,
        "mem": f"{round(1024 * cfg.memory)}MB",
        "signal_delay_s": cfg.signal_seconds,
        "array_parallelism": cfg.max_parallel or 1_000_000,
        "wckey": None,
        "setup": [*cfg.setup, f"export PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}}"],
        "teardown": teardown(cfg.max_requeues),
        "srun_args": cfg.srun or None,
        "additional_parameters": extra,
    }


def _options(words: Sequence[str]) -> dict[str, Any]:
    """Read options of sbatch: --name=value, or --name alone."""
    options: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if not _OPTION.fullmatch(name):
            raise UserError(f"cluster.sbatch = {list(words)}: write each option as --name=value")
        options[name.removeprefix("--")] = value or True
    return options


def make_executor(
    cfg: SlurmCfg, folder: Path, name: str, code: Path, **options: str
) -> "SlurmExecutor":
    """Return submitit's executor for the jobs of one array."""
    from submitit import SlurmExecutor

    folder.mkdir(parents=True, exist_ok=True)
    executor = SlurmExecutor(folder, max_num_timeout=cfg.max_requeues, python=cfg.python or None)
    settings = parameters(cfg, name, code)
    extra = {**settings.pop("additional_parameters"), **options}
    executor.update_parameters(**settings, additional_parameters=extra)
    return executor


def script(cfg: SlurmCfg, root: Path, array: JobArray) -> str:
    """Return the text of an array's sbatch script, as it would be submitted."""
    from submitit.slurm.slurm import _make_sbatch_string

    folder = root / FOLDER / array.name
    command = [cfg.python or shlex.quote(sys.executable), "-u -m submitit.core._submit"]
    several: dict[str, Any] = {"map_count": len(array.packs)} if len(array.packs) > 1 else {}
    return _make_sbatch_string(
        command=" ".join([*command, shlex.quote(str(folder))]), folder=folder,
        **parameters(cfg, array.name, root / FOLDER / "code" / "<hash of the code>"), **several,
    )  # fmt: skip


class Submitter:
    """Submits the arrays of one launch."""

    def __init__(self, cfg: SlurmCfg, root: Path, say: Callable[[str], object]) -> None:
        """Freeze the code; `say` is told what happens."""
        self.cfg, self.say = cfg, say
        self.folder = root.resolve() / FOLDER
        self.code = freeze(self.folder / "code")

    def runs(self, cells: Sequence[PlannedRun]) -> list[str]:
        """Submit cells that are due, note the job of each, and return the ids of the arrays."""
        arrays = []
        waiting = job_arrays(cells, self.cfg, max_array_size())
        for number, array in enumerate(waiting):
            jobs = [
                Pack([str(cell.folder.path.resolve()) for cell in pack], self.cfg.threads,
                     self.cfg.max_requeues)
                for pack in array.packs
            ]  # fmt: skip
            try:
                ids = self._submit(self.cfg, array.name, jobs)
            except SlurmError as error:
                left = sum(len(pack) for late in waiting[number:] for pack in late.packs)
                raise UserError(
                    f"{error}; {left} of {len(cells)} runs were not submitted: "
                    "the same command submits them"
                ) from None
            for job_id, pack in zip(ids, array.packs, strict=True):
                for cell in pack:
                    record(cell.folder, self._submission(job_id, array.name))
            arrays.append(ids[0].split("_")[0])
        return arrays

    def follow_up(self, steps: Sequence[Step], after: Sequence[str], runs: list[str]) -> None:
        """Submit commands: the first when all jobs have ended, each other if the former was right.

        Scripts that only read runs get no GPU.
        """
        dependency = {"dependency": f"afterany:{':'.join(after)}"} if after else {}
        for step in steps:
            name = _job_name(step.experiment)
            job = FollowUp(
                step.command, str(step.record), runs, str(self.code), self.cfg.max_requeues
            )
            chain = {**dependency, "kill-on-invalid-dep": "yes"}
            cfg = self.cfg if step.computes else replace(self.cfg, gpus=0)
            (job_id,) = self._submit(cfg, name, [job], **chain)
            step.submitted(self._submission(job_id, name))
            dependency = {"dependency": f"afterok:{job_id}"}
            self.say(f"then, as job {job_id}: {' '.join(step.command)}")

    def _submission(self, job_id: str, name: str) -> Submission:
        return Submission(job_id, name, str(self.folder / name), str(self.code))

    def _submit(
        self, cfg: SlurmCfg, name: str, jobs: Sequence[Callable[[], Any]], **options: str
    ) -> list[str]:
        executor = make_executor(cfg, self.folder / name, name, self.code, **options)
        for pause in _pauses(cfg.patience):
            try:
                return [job.job_id for job in _call(executor, jobs)]
            except SlurmError as error:
                if pause is None or _is_permanent(str(error)):
                    raise
                self.say(f"{error}; trying again in {pause:.0f} s")
            time.sleep(pause)
            # It may have been accepted all the same, with the answer lost on its way.
            with suppress(SlurmError):
                ask("scancel", f"--name={name}")
        raise AssertionError("the last pause is None")


def _call(executor: "SlurmExecutor", jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    try:
        return executor.submit_array(list(jobs)) if len(jobs) > 1 else [executor.submit(jobs[0])]
    except (FailedJobError, FailedSubmissionError) as error:
        raise SlurmError(f"sbatch: {complaint(str(error))}") from None


def _pauses(patience: float) -> Iterator[float | None]:
    """Yield pauses that double, up to `patience` in all, and then None: give up."""
    pause, spent = 1.0, 0.0
    while spent + pause <= patience:
        yield pause
        spent += pause
        pause = min(2 * pause, 30.0)
    yield None


def _is_permanent(message: str) -> bool:
    text = message.lower()
    return any(word in text for word in PERMANENT) and not any(word in text for word in TEMPORARY)
