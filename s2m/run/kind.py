"""What kind of run a config means: a teacher learns, a control only acts, a student is taught."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from s2m.config.distill import DistillCfg, StudentCfg
from s2m.config.run import ACTING, LEARNER, RunCfg
from s2m.console.errors import UserError
from s2m.run.files import is_count

TACTSET = "tactset"
"""The variant of every student."""


@dataclass(frozen=True)
class Kind:
    """What all runs of one kind share."""

    name: str
    schema: type[RunCfg] | type[StudentCfg]
    stage: str
    """The stage in which it learns, or would; its result has the iterations done."""
    budget: str
    """The section of its config that says how much it may spend."""


TEACHER = Kind("teacher", RunCfg, "train", "budget")
CONTROL = Kind("control", RunCfg, "train", "budget")
STUDENT = Kind("student", StudentCfg, "distill", "distill")


def kind_of(config: Mapping[str, Any]) -> Kind:
    """Return the kind of a resolved config."""
    if STUDENT.budget in config:
        return STUDENT
    return TEACHER if config.get("agent", LEARNER) == LEARNER else CONTROL


def kind_of_variant(variant: str) -> Kind:
    """Return the kind of a run by its variant, as `run.json` has it."""
    if variant == TACTSET:
        return STUDENT
    return CONTROL if variant in ACTING else TEACHER


def total_iterations(config: dict[str, Any]) -> int:
    """Return the budget of a run: iterations of training, or epochs of a student."""
    cfg = DistillCfg(**config["distill"]) if kind_of(config) is STUDENT else None
    parts: list[Any] = [config["budget"]["iterations"]] if cfg is None else cfg.schedule
    # Looked at before they are multiplied, too: words times a number would be many words.
    if all(map(is_count, parts)):
        total = cfg.total_epochs() if cfg else parts[0]
        if is_count(total):
            return total
    raise UserError(f"the config asks for {str(parts)[:40]} iterations")
