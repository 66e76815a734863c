"""The sbatch script of a job, written by submitit: what it asks for, what it runs, how it ends."""

import os
import re
import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from s2m.cluster.manifest import JOB_FILE, Submission
from s2m.cluster.snapshot import guarded
from s2m.config.cluster import SlurmCfg
from s2m.console.errors import UserError
from s2m.run.status import CODES, STOPPED

REQUEUE = CODES[STOPPED]
"""Exit code of a job that was asked to stop and can resume."""
WARNED = (REQUEUE, 128 + signal.SIGTERM, 128 + signal.SIGUSR2)
"""Exit codes of a job that was asked to leave; the signals kill a Python that still loads."""
TRIES = 10
"""How often a job asks to be requeued, three seconds apart: a preempted one is soon killed."""
PASSED = ("S2M_", "WANDB_", "MUJOCO_", "OMNI_", "SLURM_CONF")
"""How the variables begin that a job needs where sites pass none (--export=NONE)."""
SECRET = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""What the names of variables hold that are written nowhere."""
_OPTION = re.compile(r"--[a-z][a-z-]*")


def read_options(words: Sequence[str]) -> dict[str, Any]:
    """Read options of sbatch: --name=value, or --name alone."""
    options: dict[str, Any] = {}
    for word in words:
        name, _, value = word.partition("=")
        if not _OPTION.fullmatch(name):
            raise UserError(f"cluster.sbatch = {list(words)}: write each option as --name=value")
        options[name.removeprefix("--")] = value or True
    return options


def exports(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return shell lines that give a job the variables it needs, secrets left out."""
    return [
        f"export {name}={shlex.quote(value)}"
        for name, value in sorted(environment.items())
        if name.startswith(PASSED) and not any(word in name for word in SECRET)
    ]


def note_of(folder: Path) -> str:
    """Return, for the shell, the file in which an element notes its exit code."""
    return f"{shlex.quote(str(folder))}/${{SLURM_ARRAY_TASK_ID:-0}}.exit"


def ending(cfg: SlurmCfg, folder: Path, last: bool = True) -> list[str]:
    """Return the shell function with which a job's script ends, wherever it does.

    A job that was asked to leave is requeued; the exit code of any other is noted. Where jobs wait
    to resume, one that was asked to leave has done its part.
    """
    return [
        "# However the job ends, in its setup or after its work, this is its end.",
        "end_of_job() {",
        "  code=$?",
        '  [ -z "${ended:-}" ] || return',
        "  ended=yes; set +eu",
        *(f"  {line}" for line in _decision(cfg, folder, last)),
        "}",
        "trap end_of_job EXIT",
        # Killed by them, the shell would not know its own exit code.
        *(f"trap 'exit {code}' {signal.Signals(code - 128).name}" for code in WARNED[1:]),
    ]


def _decision(cfg: SlurmCfg, folder: Path, last: bool) -> list[str]:
    """Return the lines that leave with an exit code."""
    lines = ["# Record that the job ended, and how.",
             f"leave() {{ echo $code > {note_of(folder)}; exit $1; }}"]  # fmt: skip
    codes = "|".join(map(str, WARNED))
    if not cfg.requeue:
        if not last:
            lines += ["# Stopped before the end: the next job resumes.",
                      f"case $code in {codes}) leave 0; esac"]  # fmt: skip
        return [*lines, "leave $code"]
    return [
        *lines,
        "# Stopped before the end: resume later, unless SLURM has already decided otherwise.",
        # One element of every array has the array's own id, by which SLURM means all of them.
        "job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}",
        "job=${job:-$SLURM_JOB_ID}",
        f"case $code in {codes})",
        f"  [ ${{SLURM_RESTART_COUNT:-0}} -lt {cfg.max_requeues} ] || leave $code",
        "  # A controller that restarts or is busy answers later.",
        f"  for try in {{1..{TRIES}}}; do",
        "    if state=$(squeue -h -j $job -o %T); then",
        '      [ "$state" = RUNNING ] || exit $code',
        "      scontrol requeue $job && exit $code",
        "    fi",
        "    sleep 3",
        "  done",
        "esac",
        "leave $code",
    ]


def setup(cfg: SlurmCfg, submission: Submission, last: bool = True) -> list[str]:
    """Return what a job's script does before its work: the user's lines, and the check of its code.

    Those lines may end the script, or let it end at the first failure (set -e), which is undone
    after them: the work has exit codes that are no failures.
    """
    python = cfg.python or shlex.quote(sys.executable)
    return [
        *ending(cfg, submission.folder, last),
        *cfg.setup,
        "set +eu",
        *guarded(python, Path(submission.manifest.code), "end_of_job"),
        "# srun inherits neither the job's cores nor, after --export=NONE, its variables.",
        f"export SRUN_CPUS_PER_TASK={cfg.cpus} SLURM_EXPORT_ENV=ALL",
    ]


def parameters(
    cfg: SlurmCfg, submission: Submission, *, last: bool = True, dependency: str = ""
) -> dict[str, Any]:
    """Return submitit's parameters for the jobs of a submission."""
    manifest = submission.manifest
    extra: dict[str, Any] = {
        "chdir": manifest.code,
        "requeue" if cfg.requeue else "no-requeue": True,
        **read_options(cfg.sbatch),
    }
    if cfg.gpus:
        extra["gres"] = ":".join(filter(None, ["gpu", cfg.gpu_type, str(cfg.gpus)]))
    if dependency:
        extra |= {"dependency": dependency, "kill-on-invalid-dep": "yes"}
    named = {
        name: getattr(cfg, name) or None for name in ("partition", "account", "qos", "constraint")
    }
    memory = {"job": "mem", "cpu": "mem_per_cpu", "gpu": "mem_per_gpu"}[cfg.memory_per]
    several = {"map_count": len(manifest.packs)} if len(manifest.packs) > 1 else {}
    return named | several | {
        "job_name": manifest.name,
        "time": cfg.minutes,
        "cpus_per_task": cfg.cpus,
        memory: f"{round(1024 * cfg.memory)}MB" if cfg.memory else None,
        "signal_delay_s": cfg.signal_seconds,
        "array_parallelism": cfg.max_parallel or 1_000_000,
        "wckey": None,
        "setup": setup(cfg, submission, last),
        # A setup may have put a trap of its own in the place of ours.
        "teardown": ["end_of_job"],
        "srun_args": cfg.srun or None,
        "additional_parameters": extra,
    }  # fmt: skip


def script(
    cfg: SlurmCfg,
    submission: Submission,
    *,
    last: bool = True,
    dependency: str = "",
    environment: Mapping[str, str] = os.environ,
) -> str:
    """Return the text of a submission's script."""
    # The submitting half of submitit is left out: its jobs would wait for a pickle of its own.
    from submitit.slurm.slurm import _make_sbatch_string

    settings = parameters(cfg, submission, last=last, dependency=dependency)
    settings["setup"] = [*exports(environment), *settings["setup"]]
    command = [cfg.python or shlex.quote(sys.executable), "-u -m s2m.cluster.pack"]
    return _make_sbatch_string(
        command=" ".join([*command, shlex.quote(str(submission.folder))]),
        folder=submission.folder,
        **settings,
    )


def write_script(cfg: SlurmCfg, submission: Submission, **options: Any) -> Path:
    """Store the script beside the manifest."""
    path = submission.folder / JOB_FILE
    path.write_text(script(cfg, submission, **options))
    return path
