"""Distil a tactile student from a teacher, and evaluate it.

    python -m s2m.distill teacher=runs/encoders/pfds-s40-01e39876
    python -m s2m.distill teacher=tables/teacher.json              the one the analysis chose
    python -m s2m.distill teacher=lqr distill=demo                 a reference agent as teacher
    python -m s2m.distill teacher=RUN cluster=slurm                ... as a job of a cluster

The budget (distill=paper, workstation, desktop or demo) and the evaluation are the teacher's unless
given. The same command resumes; dry=true only prints the plan, --cfg job the composed config,
--info also where it comes from and its folder. A teacher.json that was written
before all runs had ended is refused, unless --partial is given.
"""

import sys

from s2m.cluster.distill import compose_student, own_of
from s2m.cluster.launch import launch
from s2m.cluster.shown import place, searched, show_config
from s2m.config.compose import describe, load
from s2m.config.distill import StudentCfg
from s2m.config.overrides import take_flags, with_root
from s2m.config.search import take_search
from s2m.console.errors import run_command
from s2m.launch import foreground

FLAGS = ("--help", "--cfg", "--info", "--partial")


def main(words: list[str]) -> int:
    """Compose and check the student, then teach it here or submit it."""
    search, words = take_search(words)
    flags, words = take_flags(with_root(words), FLAGS)
    if flags.help:
        budget = [word for word in words if word.startswith("distill")] or ["distill=desktop"]
        about = (sys.modules[__name__].__doc__ or "").strip()
        print("\n".join([about, "", f"Settings, with the values of {' '.join(budget)}:"]))
        lines = describe(load(StudentCfg, budget, search))
        # Which teacher it is follows from teacher=.
        print("\n".join(line for line in lines if not line.startswith("  taught_by.")))
        return 0
    cfg = compose_student(words, search, partial=flags.partial)
    if flags.cfg or flags.info:
        show_config(cfg, [*searched(search), place(cfg)] if flags.info else [])
        return 0
    return launch([cfg], [], own=[own_of(cfg, search)], foreground=foreground)


if __name__ == "__main__":
    run_command(main)
