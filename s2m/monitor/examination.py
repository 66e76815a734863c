"""What the checks find on this machine, for a purpose: what is missing, and how to get it.

It takes only the standard library for granted, as it must work where nothing is installed.
"""

import json
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from s2m.monitor import checks
from s2m.monitor.checks import Result

SCHEMA = 1
"""Raised whenever the JSON changes its shape."""
OK, MISSING, ABSENT = "ok", "missing", "absent"
LOCAL, CLUSTER = "local", "cluster"
CHECKS: dict[str, tuple[Callable[[Path, bool], Result], tuple[str, ...]]] = {
    "interpreter": (checks.interpreter, (LOCAL, CLUSTER)),
    "packages": (checks.packages, (LOCAL, CLUSTER)),
    "assets": (checks.assets, (LOCAL, CLUSTER)),
    "files": (checks.files, (LOCAL, CLUSTER)),
    "gpu": (checks.gpu, (CLUSTER,)),
    "warp": (checks.warp, ()),
    "isaac": (checks.isaac, (CLUSTER,)),
    "slurm": (checks.slurm, (CLUSTER,)),
    "wandb": (checks.wandb, ()),
    "gl": (checks.gl, ()),
}
"""Each check and for which purposes it must be passed."""


@dataclass(frozen=True)
class Checked:
    """One check, with what it found."""

    name: str
    status: str
    """ok; missing: needed for the purpose; absent: works without."""
    needed: bool
    found: str
    fix: str
    """What to do; empty if all is well."""


@dataclass(frozen=True)
class Examination:
    """What all checks found."""

    purpose: str
    findings: list[Checked]

    @property
    def missing(self) -> list[str]:
        """The checks that must be passed for the purpose and were not."""
        return [finding.name for finding in self.findings if finding.status == MISSING]

    def as_text(self) -> str:
        """Tell it to a person."""
        lines = [f"{platform.node()}, {sys.executable}", ""]
        for finding in self.findings:
            lines.append(f"{finding.status:<8} {finding.name:<12} {finding.found}")
            if finding.fix:
                lines.append(f"{'':<21} -> {finding.fix}")
        what = "sim=isaaclab cluster=slurm"
        if self.purpose == LOCAL:
            what = "sim=mujoco cluster=local"
        verdict = f"ready for {what}"
        if self.missing:
            verdict = f"not ready for {what}: {', '.join(self.missing)}"
        return "\n".join([*lines, "", verdict])

    def as_json(self) -> str:
        """Tell it to a program."""
        told = {
            "schema": SCHEMA,
            "purpose": self.purpose,
            "ready": not self.missing,
            "missing": self.missing,
            "checks": [asdict(finding) for finding in self.findings],
        }
        return json.dumps(told, indent=1)


def examine(root: Path, purpose: str) -> Examination:
    """Run all checks; a check that breaks down is a finding too."""
    findings = []
    for name, (check, purposes) in CHECKS.items():
        needed = purpose in purposes
        try:
            result = check(root, purpose == CLUSTER)
        except Exception as error:
            result = Result(False, f"{type(error).__name__}: {error}", "see the message")
        status = OK if result.good else MISSING if needed else ABSENT
        fix = "" if result.good and not result.hint else result.fix
        findings.append(Checked(name, status, needed, result.found, fix))
    return Examination(purpose, findings)
