"""Let the chosen teacher teach, through the launcher of all runs, and make the tables again."""

import argparse
import shlex
from pathlib import Path

from analysis.teacher import Choice
from s2m.config.distill import StudentCfg
from s2m.console.errors import UserError


def request(choice: Choice, chosen: argparse.Namespace) -> StudentCfg:
    """Return the student that --distill asks for, checked before anything is made."""
    # Hydra is only needed now; whoever just wants tables does not wait for it.
    from s2m.cluster.distill import compose_student, refuse_partial
    from s2m.config.search import search_in

    words = chosen.distill
    refuse_partial("--distill", choice.partial, chosen.partial)
    for word in words:
        if word.startswith("teacher="):
            line = f"'{word}': --distill takes the chosen teacher; choose it with --teacher RUN"
            raise UserError(line)
    return compose_student([f"teacher={choice.teacher.link}", *words], search_in(chosen.config_dir))


def distil(cfg: StudentCfg | None, choice: Choice | None, chosen: argparse.Namespace) -> int:
    """Launch the student of the chosen teacher, and a report that shows both after it.

    On a cluster both are submitted and the command returns at once; here it waits for them.
    """
    from s2m.cluster.distill import own_of
    from s2m.cluster.followup import make_steps
    from s2m.cluster.launch import launch
    from s2m.config.search import search_in
    from s2m.tracking.mode import choose

    if cfg is None or choice is None:
        raise UserError("--distill: there is no teacher yet, no run has been evaluated")
    steps = make_steps([again(chosen, choice)], Path(cfg.root), cfg.experiment)
    own = own_of(cfg, search_in(chosen.config_dir))
    return launch([cfg], steps, own=[own], note=choose(cfg.tracking).note)


def again(chosen: argparse.Namespace, choice: Choice) -> str:
    """Return the command that makes the same tables, wherever it is started."""
    words = ["--runs", str(chosen.runs.resolve()), "--out", str(chosen.out.resolve())]
    for name in ("experiment", "budget", "baseline"):
        if getattr(chosen, name):
            words += [f"--{name}", getattr(chosen, name)]
    for name in ("by", "only", "exclude", "factorial", "metric"):
        if getattr(chosen, name):
            words += [f"--{name}", *getattr(chosen, name)]
    words += ["--paper"] * chosen.paper + ["--pdf"] * chosen.pdf
    if chosen.teacher is not None:  # It may have been named by a path from here.
        words += ["--teacher", choice.teacher.id]
    words += ["--mix-code"] * chosen.mix_code + ["--strip"] * chosen.strip
    line = shlex.join(["analysis/make_tables.py", *words])
    return line.replace("{", "{{").replace("}", "}}")
