"""The environment of `make`: which torch is installed, and what replaces a missing ensurepip."""

import hashlib
import importlib.util
import json
import sys
import zipfile
from pathlib import Path

import pytest

FILE = Path(__file__).parents[1] / ".ci" / "environment.py"
CUDA = "nvidia-cudnn-cu13==9.20; platform_system == 'Linux'"


@pytest.fixture
def environment(monkeypatch):
    """The script as a module, on a Linux machine without a card."""
    spec = importlib.util.spec_from_file_location("environment", FILE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "has_card", lambda: False)
    monkeypatch.setattr(module, "is_linux", lambda: True)
    monkeypatch.delenv("CUDA", raising=False)
    return module


@pytest.fixture
def pip(tmp_path):
    """Return a function that stands in for a pip that would install a wheel."""

    def make(*requirements):
        report = {"install": [{
            "download_info": {"url": "https://index/torch.whl"},
            "metadata": {"version": "2.13.0+cpu", "requires_dist": list(requirements)},
        }]}  # fmt: skip
        program = tmp_path / "pip.py"
        program.write_text(
            "import sys; from pathlib import Path; words = sys.argv\n"
            f"Path(words[words.index('--report') + 1]).write_text({json.dumps(report)!r})\n"
        )
        return [sys.executable, str(program)]

    return make


def test_without_a_card_torch_is_the_build_for_the_cpu(environment, pip, capsys):
    words = environment.choose_torch(pip("sympy", "optree; extra == 'nvidia'"), "torch==2.13.0")
    assert words == ["--no-deps", "torch==2.13.0"]
    assert capsys.readouterr().out == "torch: 2.13.0+cpu for the CPU, no NVIDIA card found\n"


def test_where_only_cuda_is_configured_the_index_of_torch_is_asked(environment, tmp_path):
    plain = {"metadata": {"version": "2.13.0", "requires_dist": [CUDA]}}
    light = {"metadata": {"version": "2.13.0+cpu"}}
    program = tmp_path / "pip.py"
    program.write_text(
        "import sys; from pathlib import Path; words = sys.argv\n"
        f"found = {light!r} if {environment.CPU_INDEX!r} in words else {plain!r}\n"
        "import json\n"
        "text = json.dumps({'install': [found]})\n"
        "Path(words[words.index('--report') + 1]).write_text(text)\n"
    )
    words = environment.choose_torch([sys.executable, str(program)], "torch==2.13.0")
    assert words[-1] == "torch==2.13.0" and environment.CPU_INDEX in words


def test_cuda_never_comes_by_surprise(environment, pip, monkeypatch):
    with pytest.raises(SystemExit, match="gigabytes of CUDA .nvidia-cudnn-cu13, .*"):
        environment.choose_torch(pip("sympy", CUDA), "torch==2.13.0")
    monkeypatch.setenv("CUDA", "1")
    assert environment.choose_torch(pip("sympy", CUDA), "torch==2.13.0") == ["torch==2.13.0"]


def test_a_card_gets_the_build_with_cuda(environment, pip, monkeypatch):
    monkeypatch.setattr(environment, "has_card", lambda: True)
    assert environment.choose_torch(pip(CUDA), "torch==2.13.0") == ["torch==2.13.0"]


def test_without_ensurepip_pip_installs_itself(environment, tmp_path, monkeypatch):
    """Debian keeps ensurepip in a package of its own. This wheel keeps its arguments."""
    wheel = tmp_path / "pip-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(
            "pip/__main__.py",
            f"""
import sys; from pathlib import Path
Path({str(tmp_path / "asked")!r}).write_text(" ".join(sys.argv[1:]))
""",
        )
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    monkeypatch.setattr(environment, "PIP", f"{wheel.as_uri()}#sha256={digest}")
    real = environment.subprocess.run

    def run(words, **options):
        if "ensurepip" in words:
            return environment.subprocess.CompletedProcess(words, 1)
        return real(words, **options)

    monkeypatch.setattr(environment.subprocess, "run", run)
    python = environment.make(tmp_path / "venv")
    asked = (tmp_path / "asked").read_text().split()
    assert python.exists()
    assert asked[:3] == ["install", "-qq", "--no-index"] and asked[3].endswith(wheel.name)


def test_another_file_than_pip_is_not_executed(environment, tmp_path):
    (tmp_path / "pip.whl").write_text("something else")
    (tmp_path / "to").mkdir()
    with pytest.raises(SystemExit, match="another checksum than expected: nothing was installed"):
        environment.download(f"{(tmp_path / 'pip.whl').as_uri()}#sha256=00", tmp_path / "to")


def test_where_pip_cannot_be_fetched_it_says_what_to_install(environment, tmp_path):
    with pytest.raises(SystemExit, match="cannot be reached .*apt-get install python3-venv"):
        environment.download(f"{(tmp_path / 'gone').as_uri()}#sha256=00", tmp_path)
