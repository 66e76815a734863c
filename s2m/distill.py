"""Distil a tactile student from a teacher, and evaluate it.

    python -m s2m.distill teacher=runs/encoders/pfds-s40-01e39876
    python -m s2m.distill teacher=tables/teacher.json              the one the analysis chose
    python -m s2m.distill teacher=lqr distill=demo                 a reference agent as teacher
    python -m s2m.distill teacher=RUN cluster=slurm                ... as a job of a cluster

The budget (distill=paper, workstation, desktop or demo) and the evaluation are the teacher's unless
given. The same command resumes; dry=true only prints the plan. A teacher.json that was written
before all runs had ended is refused, unless --partial is given.
"""

import sys

from s2m.cluster.distill import compose_student, own_of
from s2m.cluster.launch import launch
from s2m.config.compose import describe, load
from s2m.config.distill import StudentCfg
from s2m.config.overrides import with_root
from s2m.config.search import take_search
from s2m.console.errors import run_command
from s2m.launch import foreground

PARTIAL = "--partial"


def main(words: list[str]) -> int:
    """Compose and check the student, then teach it here or submit it."""
    search, words = take_search(words)
    if "--help" in words or "-h" in words:
        words = [word for word in words if word not in ("-h", "--help")]
        budget = [word for word in words if word.startswith("distill")] or ["distill=desktop"]
        about = (sys.modules[__name__].__doc__ or "").strip()
        print("\n".join([about, "", f"Settings, with the values of {' '.join(budget)}:"]))
        lines = describe(load(StudentCfg, budget, search))
        # Which teacher it is follows from teacher=.
        print("\n".join(line for line in lines if not line.startswith("  taught_by.")))
        return 0
    given = with_root([word for word in words if word != PARTIAL])
    cfg = compose_student(given, search, partial=PARTIAL in words)
    return launch([cfg], [], own=[own_of(cfg, search)], foreground=foreground)


if __name__ == "__main__":
    run_command(main)
