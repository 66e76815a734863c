"""The single checks of `python -m s2m.doctor`, which take only the standard library for granted."""

import fcntl
import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from s2m.cluster.commands import NO_CONTROLLER, complaint, is_unconfigured
from s2m.config.sim import INSTALL_ISAAC
from s2m.console.text import one_line
from s2m.run.cards import VISIBLE, installed
from s2m.tracking.key import has_key

ISAACSIM, ISAACLAB = "5.1.", "2.3.2"
PACKAGES = (
    "torch", "numpy", "mujoco", "rsl-rl-lib", "tensordict", "hydra-core", "pandas", "pyarrow",
    "psutil", "scipy", "statsmodels", "submitit",
)  # fmt: skip
SHARED = (
    "nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "panfs", "wekafs", "glusterfs", "afs",
    "cifs", "smb3", "9p", "virtiofs", "fuse",
)  # fmt: skip
"""File systems that more than one machine can see."""
LEAST_FREE = 10e9
"""Bytes that should be free where runs are kept: a run of the paper's size keeps some 0.3 GB."""
GRAPH_CUDA = (12, 4)
"""The CUDA that a driver must support for loops inside captured graphs, as MuJoCo Warp has."""
WARP_BYTES = 48e3
"""Memory that MuJoCo Warp takes per environment at five balls; what learning takes is not in it."""
PATIENCE = 60


@dataclass(frozen=True)
class Result:
    """The outcome of one check."""

    good: bool
    found: str
    fix: str = ""
    hint: bool = False
    """The fix is worth telling although all is well."""


def _run(command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
    )


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def interpreter(root: Path, cluster: bool) -> Result:
    """Python 3.11 or later; Isaac Lab's wheel wants 3.11 exactly, on Linux with glibc 2.35."""
    version = ".".join(map(str, sys.version_info[:3]))
    library, number = platform.libc_ver()
    libc = f"{library} {number}" if library else "unknown C library"
    found = f"Python {version}, {platform.system()} {platform.machine()}, {libc}"
    if not cluster:
        good = sys.version_info >= (3, 11)
        return Result(good, found, "install Python 3.11 or later and make a new environment")
    recent = library == "glibc" and tuple(map(int, number.split(".")[:2])) >= (2, 35)
    good = sys.version_info[:2] == (3, 11) and platform.machine() == "x86_64" and recent
    return Result(
        good, found,
        "Isaac Lab 2.3.2 needs Python 3.11 on x86_64 Linux with glibc 2.35 or later "
        "(Ubuntu 22.04): use the container of slurm/isaaclab.def",
    )  # fmt: skip


def packages(root: Path, cluster: bool) -> Result:
    """The libraries of the project."""
    versions = {name: _version(name) for name in PACKAGES}
    absent = [name for name, version in versions.items() if version is None]
    found = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    return Result(not absent, found or "none", f"missing {', '.join(absent)}: pip install -e .")


def assets(root: Path, cluster: bool) -> Result:
    """Configs, and the robot as MJCF and URDF, read back by MuJoCo."""
    fix = "install the project from its repository: pip install -e ."
    try:
        import mujoco

        from s2m.config.search import CONF
        from s2m.config.sim import MujocoCfg
        from s2m.robot.mjcf import mjcf
        from s2m.robot.model import ROBOT
        from s2m.robot.urdf import urdf
    except ImportError as error:
        return Result(False, str(error), fix)
    conf = CONF / "config.yaml"
    if not conf.is_file():
        return Result(False, f"no {conf}", fix)
    built = mujoco.MjModel.from_xml_string(mjcf(ROBOT, 5, MujocoCfg()))
    imported = mujoco.MjModel.from_xml_string(urdf(ROBOT))
    return Result(
        built.nu == len(ROBOT.joints) == imported.njnt,
        f"robot of {ROBOT.mass:.1f} kg with {imported.njnt} joints, configs in {conf.parent}",
        "MJCF and URDF disagree: pytest tests/robot/test_models_agree.py",
    )


def _file_system(path: Path) -> str:
    """Kind of the file system of a path, from the longest mount point above it."""
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, point, name, *_ = line.split()
        inside = path == Path(point) or Path(point) in path.parents
        if inside and len(point) >= len(best):
            best, kind = point, name
    return kind


def files(root: Path, cluster: bool) -> Result:
    """The folder of runs: writable, with locks and renames; for a cluster also shared."""
    there = root.absolute()
    while not there.is_dir():
        if there.exists():
            return Result(False, f"{there} is a file", "name a folder to keep runs in: root=DIR")
        there = there.parent
    try:
        with tempfile.TemporaryDirectory(dir=there, prefix=".s2m-doctor-") as folder:
            first, second = Path(folder) / "a", Path(folder) / "b"
            with first.open("w") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.fsync(file.fileno())
            first.rename(second)
    except OSError as error:
        return Result(
            False, f"{there}: {error.strerror}",
            "choose a folder that you can write and that has file locks: root=DIR",
        )  # fmt: skip
    kind = _file_system(there.resolve())
    found = f"{there} is writable, on {kind}"
    if shutil.disk_usage(there).free < LEAST_FREE:
        return Result(False, f"{found}, almost full", "free 10 GB or choose another root=DIR")
    if cluster and not kind.startswith(SHARED):
        advice = "if the nodes do not all see it, choose a folder they share: root=DIR"
        return Result(True, f"{found}, which nodes rarely share", advice, hint=True)
    return Result(True, found)


def gpu(root: Path, cluster: bool) -> Result:
    """A GPU that the driver knows and torch can use."""
    cards = installed()
    if not cards.found:
        fix = "none is needed: sim=mujoco runs on the cores, as does sim.device=cpu"
        if cluster:
            fix = (
                "call this where jobs run: srun --gres=gpu:1 python -m s2m.doctor --cluster; "
                "without a GPU use sim=mujoco"
            )
        return Result(False, f"no NVIDIA GPU ({one_line(cards.trouble)})", fix)
    version = _cuda_version()
    cuda = "an unknown CUDA" if version is None else f"CUDA {version[0]}.{version[1]}"
    told = [f"driver {cards.found[0].driver} for {cuda}"]
    told += [f"GPU {card}{_gigabytes(card.memory)}" for card in cards.found]
    if (listed := os.environ.get(VISIBLE)) is not None:
        told.append(f"{VISIBLE}={listed} is set")
    found = one_line("; ".join(told))
    try:
        import torch
    except ImportError:
        return Result(False, f"{found}, but no torch", "pip install -e .")
    if not torch.cuda.is_available():
        return Result(
            False, f"{found}, but torch {torch.__version__} cannot use it",
            "install torch with CUDA: "
            "pip install torch==2.7.0 --index-url https://download.pytorch.org/whl/cu128",
        )  # fmt: skip
    return Result(True, found)


def _gigabytes(mebibytes: int) -> str:
    return f", {mebibytes * 2**20 / 1e9:.0f} GB" if mebibytes else ""


def _cuda_version() -> tuple[int, int] | None:
    """Return the newest CUDA that the driver supports, from the head of what nvidia-smi prints."""
    said = re.search(r"CUDA (?:\w+ )?Version\s*:\s*(\d+)\.(\d+)", _run(["nvidia-smi"]).stdout)
    return (int(said[1]), int(said[2])) if said else None


def warp(root: Path, cluster: bool) -> Result:
    """MuJoCo Warp, a driver that can capture its steps as graphs, and what a card has room for."""
    version = _version("mujoco-warp")
    if version is None:
        return Result(
            False, "no mujoco-warp; only sim=warp needs it", "pip install -e '.[warp]'"
        )  # fmt: skip
    found = f"mujoco-warp {version}, warp-lang {_version('warp-lang') or 'absent'}"
    cards = installed().found
    if not cards:
        return Result(True, f"{found}; without a GPU only sim.device=cpu")
    if least := min((card.memory for card in cards if card.memory), default=0):
        room = least * 2**20 / WARP_BYTES
        each = f"{WARP_BYTES / 1e3:.0f} kB each at five balls, without learning"
        found += f"; a GPU holds some {float(f'{room:.1g}'):,.0f} environments ({each})"
    driver, (major, minor) = _cuda_version(), GRAPH_CUDA
    if driver is None or driver < GRAPH_CUDA:
        known = "an unknown CUDA" if driver is None else f"CUDA {driver[0]}.{driver[1]}"
        return Result(
            driver is None,
            f"{found}; the driver is for {known}, captured graphs need {major}.{minor}",
            "install an NVIDIA driver of 550.54 or later, or use sim.graph=false", hint=True,
        )  # fmt: skip
    return Result(True, f"{found}; steps can be captured as graphs")


def isaac(root: Path, cluster: bool) -> Result:
    """Isaac Sim and Isaac Lab in the versions the adapter was written for."""
    sim, lab = _version("isaacsim"), _version("isaaclab")
    found = f"isaacsim {sim or 'absent'}, isaaclab {lab or 'absent'}"
    if not (sim or "").startswith(ISAACSIM) or not (lab or "").startswith(ISAACLAB):
        return Result(False, found, INSTALL_ISAAC)
    if not os.environ.get("OMNI_KIT_ACCEPT_EULA"):
        return Result(
            False, f"{found}, licence not accepted",
            "read NVIDIA's licence, then export OMNI_KIT_ACCEPT_EULA=YES in jobs; "
            "otherwise the first start waits for an answer",
        )  # fmt: skip
    return Result(True, found)


def slurm(root: Path, cluster: bool) -> Result:
    """The commands that submit jobs, and partitions to submit to."""
    absent = [name for name in ("sbatch", "sinfo") if shutil.which(name) is None]
    if absent:
        return Result(
            False, f"no {' and no '.join(absent)}",
            "log in to the cluster, or try SLURM here: slurm/README.md; "
            "without SLURM use cluster=local",
        )  # fmt: skip
    listing = _run(["sinfo", "--noheader", "--format=%P %a %l %G"])
    partitions = [line.split() for line in listing.stdout.splitlines() if line.strip()]
    if listing.returncode or not partitions:
        message = listing.stderr.strip().splitlines()
        if is_unconfigured(listing.stderr):
            return Result(
                False, f"{NO_CONTROLLER}: sinfo: {complaint(listing.stderr)}",
                "log in to a node of the cluster, or set SLURM_CONF; to try SLURM here: "
                "slurm/README.md",
            )  # fmt: skip
        return Result(
            False, message[0] if message else "sinfo lists no partition",
            "ask who runs the cluster: sinfo must list partitions here",
        )  # fmt: skip
    told = [f"{name} ({state}, up to {limit}, {gres})" for name, state, limit, gres in partitions]
    return Result(True, "partitions " + "; ".join(told))


def wandb(root: Path, cluster: bool) -> Result:
    """The mirror on wandb.ai: whether the client is there and somebody is logged in."""
    version = _version("wandb")
    if version is None:
        return Result(False, "not installed; training works without it", "pip install wandb")
    if has_key():
        return Result(True, f"wandb {version}, logged in")
    return Result(
        False, f"wandb {version}, not logged in; runs stay on disk",
        "wandb login, on any machine with internet",
    )  # fmt: skip


def gl(root: Path, cluster: bool) -> Result:
    """Off-screen rendering, in a process of its own: a bad driver may end it."""
    if importlib.util.find_spec("mujoco") is None:
        return Result(False, "no mujoco", "pip install -e .")
    program = (
        "import os; os.environ.setdefault('MUJOCO_GL', 'egl'); import mujoco; "
        "mujoco.GLContext(64, 64).make_current(); print(os.environ['MUJOCO_GL'])"
    )
    done = _run([sys.executable, "-c", program])
    if done.returncode:
        return Result(
            False, "cannot render; only s2m.replay needs it",
            "apt-get install libegl1 libgl1, or set MUJOCO_GL=glfw on a desktop",
        )  # fmt: skip
    return Result(True, f"off-screen rendering by {done.stdout.strip()}")
