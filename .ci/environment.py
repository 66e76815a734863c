"""Make the virtual environment that `make` uses: python3 .ci/environment.py FOLDER [EXTRA ...].

It needs Python 3.11 or later and a network, nothing else: neither Debian's python3-venv nor a pip.
Everything is installed at the version of constraints.txt. torch is the build for the CPU unless
there is an NVIDIA card; gigabytes of CUDA come only with a card or with CUDA=1.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
PATIENCE = ["--retries", "1", "--timeout", "15"]
"""For an index that a firewall may hide; pip goes on with the others."""
PIP = (
    "https://files.pythonhosted.org/packages/07/25/"
    "ee8c38ae72d66b844ce8eb9711ba905dba21ca1a8a0c960057c41cd23337/pip-26.3-py3-none-any.whl"
    "#sha256=f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"
)
"""pip's wheel on PyPI, which can install itself."""
CUDA_PARTS = re.compile(r"(nvidia|cuda|triton)", re.I)


def main(folder: Path, extras: str) -> None:
    """Make the environment, then install torch, then this project with its extras."""
    python = make(folder)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    torch = next(
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line.startswith("torch==")
    )
    subprocess.run([*pip, "install", "-qq", *choose_torch(pip, torch)], check=True)
    print("installing the versions of constraints.txt", flush=True)
    project = f"{ROOT}[{extras}]" if extras else str(ROOT)
    limits = ["--constraint", str(ROOT / "constraints.txt")]
    subprocess.run([*pip, "install", "-qq", *limits, "--editable", project], check=True)


def make(folder: Path) -> Path:
    """Make an environment with pip and return its interpreter."""
    if sys.version_info < (3, 11):  # noqa: UP036  what is checked here, by whoever has less
        sys.exit("needs Python 3.11 or later; PYTHON=python3.11 make ... chooses one")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    # Debian keeps ensurepip in a package of its own, python3-venv.
    bundled = [str(python), "-m", "ensurepip", "--default-pip"]
    if subprocess.run(bundled, capture_output=True, check=False).returncode:
        with tempfile.TemporaryDirectory() as place:
            wheel = download(PIP, Path(place))
            install = [str(python), f"{wheel}/pip", "install", "-qq", "--no-index", str(wheel)]
            subprocess.run(install, check=True)
    return python


def download(source: str, folder: Path) -> Path:
    """Fetch a file whose address ends with its checksum."""
    address, expected = source.split("#sha256=")
    path = folder / address.rpartition("/")[2]
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            path.write_bytes(answer.read())
    except OSError as error:
        sys.exit(
            f"{address} cannot be reached ({error}), and this Python has no ensurepip: "
            "apt-get install python3-venv, or PYTHON=... make with a Python that has it"
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != expected:
        sys.exit(f"{address} has another checksum than expected: nothing was installed")
    return path


def choose_torch(pip: list[str], torch: str) -> list[str]:
    """Return what pip is told to install, and say which build that is."""
    if has_card() or os.environ.get("CUDA"):
        print("torch: the build with CUDA, for the NVIDIA card", flush=True)
        return [torch]
    # What is configured here comes first: a mirror may have the build for the CPU. The other index
    # would take the place of one that is configured.
    heavy = []
    for words in ([torch], [*PATIENCE, "--extra-index-url", CPU_INDEX, torch]):
        found = look_up(pip, words)
        if found is None:
            return [torch]  # it is there already
        heavy = needs_cuda(found["metadata"].get("requires_dist", []))
        if not heavy:
            version = found["metadata"]["version"]
            print(f"torch: {version} for the CPU, no NVIDIA card found", flush=True)
            return ["--no-deps", *words]
    sys.exit(
        f"no NVIDIA card found, and {CPU_INDEX}, where torch for the CPU is, cannot be reached. "
        f"{torch} of other indexes brings gigabytes of CUDA ({', '.join(heavy[:3])}, ...).\n"
        "Set PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS to where torch for the CPU is, or CUDA=1 to "
        "install CUDA all the same."
    )


def look_up(pip: list[str], words: list[str]) -> dict | None:
    """Return what pip would install, without installing it; None if it is there already."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        asked = ["install", "-qq", "--dry-run", "--no-deps", "--report", str(report), *words]
        done = subprocess.run([*pip, *asked], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(done.stderr)
        wanted = json.loads(report.read_text())["install"]
    return wanted[0] if wanted else None


def needs_cuda(requirements: list[str]) -> list[str]:
    """Return the requirements of a torch that belong to CUDA and hold on this system."""
    plain = [line for line in requirements if "extra ==" not in line]
    return [
        re.split(r"[\s;=<>!\[]", line)[0] for line in plain if CUDA_PARTS.match(line) and is_linux()
    ]


def has_card() -> bool:
    """Tell whether this machine has an NVIDIA card with a driver."""
    return Path("/proc/driver/nvidia/version").exists() or bool(shutil.which("nvidia-smi"))


def is_linux() -> bool:
    """Tell whether PyPI's torch may be the one with CUDA."""
    return sys.platform == "linux"


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), ",".join(sys.argv[2:]))
