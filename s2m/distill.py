"""Distil a tactile student from a teacher, and evaluate it.

    python -m s2m.distill teacher=runs/encoders/pfds-s40-01e39876
    python -m s2m.distill teacher=tables/teacher.json              the one the analysis chose
    python -m s2m.distill teacher=lqr distill=demo                 a reference agent in its place
    python -m s2m.distill teacher=RUN cluster=slurm                ... as a job of a cluster

The budget (distill=paper, desktop or demo) and the evaluation are the teacher's unless given. The
same command again goes on where it was; dry=true only prints the plan.
"""

import sys

from s2m.cluster.launch import launch
from s2m.cluster.student import compose_student
from s2m.config.compose import describe
from s2m.config.distill import StudentCfg
from s2m.console.errors import run_command
from s2m.launch import foreground


def main(words: list[str]) -> int:
    """Compose and check the student, then teach it here or submit it."""
    if "--help" in words or "-h" in words:
        about = (sys.modules[__name__].__doc__ or "").strip()
        print("\n".join([about, "", "Settings (the paper's; a budget sets its own):"]))
        print("\n".join(describe(StudentCfg)))
        return 0
    return launch([compose_student(words)], [], foreground=foreground)


if __name__ == "__main__":
    run_command(main)
