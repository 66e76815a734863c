"""Why a run is not finished, in two or three words, from the traces that its end has left."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

from s2m.cluster.commands import final_states
from s2m.cluster.queue import Place
from s2m.console.text import harmless
from s2m.run.folder import RunFolder

TAIL = 12
"""Lines of a log that tell about its end."""
BLOCK = 16 * 1024

GPU_LOST = "GPU lost"
CODE_CHANGED = "code changed"
DEAD = "dead on arrival"
"""The verdict on a job that ended before its run began."""
SIGNS = {
    CODE_CHANGED: r"the copy of the code .* (?:is not the code that|is gone|cannot be read)",
    "out of memory": r"out of memory|OutOfMemoryError|MemoryError|oom.?kill|OUT_OF_ME",
    GPU_LOST: (
        r"device-side assert|unspecified launch failure|illegal memory access|uncorrectable ECC"
        r"|no CUDA-capable device|No CUDA GPUs are available|GPU is lost|fallen off the bus|\bXid\b"
    ),
    "not a number": r"diverged at iteration",
    "node lost": r"DUE TO NODE FAIL|NODE_FAIL|BOOT_FAIL",
    "preempted": r"DUE TO PREEMPTION|PREEMPTED",
    "time limit": r"DUE TO TIME LIMIT|TIMEOUT|DEADLINE",
    "cancelled": r"\*\*\* (?:JOB|STEP) .* CANCELLED AT|^CANCELLED",
    "disk full": r"No space left on device|Disk quota exceeded|no room for a whole line",
    "file size limit": r"File too large",
    "killed": r"^killed by",
    "stopped": r"^stopped by",
}
"""What gives each verdict away; the first that is found counts."""
ADVICE = {
    DEAD: (
        "check cluster.python (is it there on the node, with all packages?), cluster.setup and "
        "the --export of your site; then retry_failed=true"
    ),
    GPU_LOST: (
        "look for the card in nvidia-smi and for its Xid in dmesg; retry_failed=true resumes, with "
        "cluster.gpus=[0,2] on cards of your choice; if every card fails, the code is wrong"
    ),
}
"""What to do about a verdict that does not say so by itself."""
SRUN = ("srun:", "slurmstepd: error: *** STEP")
"""How lines begin that only say that something else has ended."""
ABORTED = re.compile(r"killed by SIG(?:ABRT|SEGV|BUS)\b")
"""The end of a process that a library has given up, which its log may explain."""


def judge(
    folder: RunFolder, failure: str, last_event: str, final: str = "", place: Place | None = None
) -> str:
    """Judge the end of a run by the reason it gave itself, or else by SLURM's and its log's words.

    `final` is the state in which SLURM's accounting has its job, `place` where it was submitted.
    """
    if failure:
        return _sign(failure) or _sign(tail(folder.log)) or "code error"
    logs = place.logs() if place else []
    log = tail(logs[1]) if logs else ""
    if ABORTED.match(last_event):
        log += f"\n{tail(folder.log)}"
    return _sign(final) or _sign(log) or _sign(last_event) or "ended, cause unknown"


def _sign(text: str) -> str:
    return next((name for name, sign in SIGNS.items() if re.search(sign, text, re.M)), "")


def final_states_of(places: Iterable[Place]) -> dict[str, str]:
    """Ask the accounting once how jobs ended, by their ids."""
    return final_states((p.id, p.submission.manifest.name) for p in places if p.id)


def last_words(path: Path) -> str:
    """Return the last line of a log in which somebody else than srun says something."""
    lines = [line.strip() for line in tail(path).splitlines()]
    told = [line for line in lines if line and not line.startswith(SRUN)]
    return told[-1] if told else ""


def tail(path: Path, lines: int = TAIL, most: float = BLOCK) -> str:
    """Return the last lines of a log, harmless; empty if there is none, or the path can be none.

    Only the last `most` bytes are looked at: somebody else's log may be one endless line.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            block = BLOCK
            while True:
                file.seek(max(0, size - block))
                found = file.read().decode("utf-8", "replace").rstrip().splitlines()
                # One more than asked for, as the first of them may have been cut.
                if len(found) > lines or block >= min(size, most):
                    return harmless("\n".join(found[-lines:]))
                block *= 4
    except (OSError, ValueError):
        return ""
