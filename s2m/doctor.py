"""What is missing on this machine and how to get it.

    python -m s2m.doctor [FOLDER] [--cluster] [--json]

FOLDER is where runs are to be kept. Without --cluster the question is whether runs can be trained
here on the cores; with it, on SLURM with Isaac Lab: then call it where jobs run, e.g. by
`srun --gres=gpu:1 python -m s2m.doctor --cluster`. The exit code is 0 if nothing needed is missing.
"""

import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from s2m.console.errors import UserError, run_command
from s2m.monitor import checks as checkup
from s2m.monitor.checks import Result

SCHEMA = 1
"""Raised whenever the JSON changes its shape."""
LOCAL, CLUSTER = "local", "cluster"
CHECKS: dict[str, tuple[Callable[[Path, bool], Result], tuple[str, ...]]] = {
    "interpreter": (checkup.interpreter, (LOCAL, CLUSTER)),
    "packages": (checkup.packages, (LOCAL, CLUSTER)),
    "assets": (checkup.assets, (LOCAL, CLUSTER)),
    "files": (checkup.files, (LOCAL, CLUSTER)),
    "gpu": (checkup.gpu, (CLUSTER,)),
    "isaac": (checkup.isaac, (CLUSTER,)),
    "slurm": (checkup.slurm, (CLUSTER,)),
    "wandb": (checkup.wandb, ()),
    "gl": (checkup.gl, ()),
}
"""Each check and for which purposes it must be passed."""


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    name: str
    status: str
    """ok; missing: needed for the purpose; absent: works without."""
    needed: bool
    found: str
    fix: str
    """What to do; empty if all is well."""


def examine(root: Path, purpose: str) -> list[Finding]:
    """Run all checks; a check that breaks down is a finding too."""
    findings = []
    for name, (check, purposes) in CHECKS.items():
        needed = purpose in purposes
        try:
            result = check(root, purpose == CLUSTER)
        except Exception as error:
            result = Result(False, f"{type(error).__name__}: {error}", "see the message")
        status = "ok" if result.good else "missing" if needed else "absent"
        fix = "" if result.good and not result.hint else result.fix
        findings.append(Finding(name, status, needed, result.found, fix))
    return findings


def _report(findings: list[Finding], purpose: str) -> str:
    lines = [f"{platform.node()}, {sys.executable}", ""]
    for finding in findings:
        lines.append(f"{finding.status:<8} {finding.name:<12} {finding.found}")
        if finding.fix:
            lines.append(f"{'':<21} -> {finding.fix}")
    missing = [finding.name for finding in findings if finding.status == "missing"]
    what = "sim=isaaclab cluster=slurm" if purpose == CLUSTER else "sim=mujoco cluster=local"
    verdict = f"not ready for {what}: {', '.join(missing)}" if missing else f"ready for {what}"
    return "\n".join([*lines, "", verdict])


def main(words: list[str]) -> int:
    """Print what was found, as text or as JSON."""
    if "--help" in words or "-h" in words:
        print((__doc__ or "").strip())
        return 0
    flags = {word for word in words if word.startswith("-")}
    paths = [word for word in words if not word.startswith("-")]
    if flags - {"--cluster", "--json"} or len(paths) > 1:
        raise UserError("usage: python -m s2m.doctor [FOLDER] [--cluster] [--json]")
    for path in paths:
        if "=" in path and not Path(path).is_dir():
            folder = path.partition("=")[2] or "runs"
            raise UserError(f"{path} is no folder; name it alone: python -m s2m.doctor {folder}")
    purpose = CLUSTER if "--cluster" in flags else LOCAL
    findings = examine(Path(paths[0] if paths else "runs"), purpose)
    missing = [finding.name for finding in findings if finding.status == "missing"]
    if "--json" in flags:
        told = {
            "schema": SCHEMA,
            "purpose": purpose,
            "ready": not missing,
            "missing": missing,
            "checks": [asdict(finding) for finding in findings],
        }
        print(json.dumps(told, indent=1))
    else:
        print(_report(findings, purpose))
    return 1 if missing else 0


if __name__ == "__main__":
    # A library that prints while it is imported must not spoil the JSON.
    os.environ.setdefault("WANDB_SILENT", "true")
    run_command(main)
