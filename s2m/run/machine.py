"""What a run is computed on and with: bits are only the same where these are.

Libraries choose their kernels by the processor, and another kernel sums in another order.
"""

import platform
from functools import cache
from importlib import metadata
from pathlib import Path

PACKAGES = ("torch", "mujoco", "numpy", "rsl-rl-lib", "mujoco-warp", "warp-lang", "isaaclab")
"""Those whose version may change the numbers of a run; only the installed ones are told."""

_FIELDS = {"model name": "", "cpu family": "family ", "model": "model ", "stepping": "stepping "}


@cache
def processor(info: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name and, where the kernel tells them, family, model and stepping."""
    try:
        first = info.read_text().split("\n\n")[0]
    except OSError:
        return platform.processor() or platform.machine()
    said = dict(line.split(":", 1) for line in first.splitlines() if ":" in line)
    told = {name.strip(): value.strip() for name, value in said.items()}
    words = [f"{word}{told[name]}" for name, word in _FIELDS.items() if told.get(name)]
    return ", ".join(words) or platform.machine()


@cache
def packages() -> dict[str, str]:
    """Return the versions of the installed packages that compute, without importing any."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
