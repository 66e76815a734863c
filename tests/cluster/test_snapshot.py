"""Copies of the code: made, checked by a job before it imports anything, and removed."""

import shutil
import subprocess
import sys

import pytest

from benchmarks.simulated import pretend_slurm
from s2m import launch
from s2m.cluster import snapshot
from s2m.cluster.manifest import new_submission
from s2m.cluster.slurm import place_of
from s2m.cluster.snapshot import PARTS, clean, freeze, guarded, source_files
from s2m.cluster.verdict import judge
from s2m.config.search import ROOT
from s2m.console.errors import UserError
from tests.analysis.synthetic import Spec, write_run

RATES = {k: (10 - k, 12 - k) for k in range(1, 6)}


@pytest.fixture
def project(tmp_path):
    """A project of three files."""
    for name in ("s2m/__init__.py", "s2m/a.py", "conf/c.yaml"):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    return tmp_path / "project"


def test_a_snapshot_is_named_by_its_content_and_has_all_that_jobs_need(tmp_path):
    project = tmp_path / "project"
    for name in ("s2m/a.py", "s2m/__pycache__/a.pyc", "conf/c.yaml", "conf/.hidden", "notes.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(name)
    assert [str(path) for path in source_files(project)] == ["conf/c.yaml", "s2m/a.py"]
    first = freeze(tmp_path / "code", project)
    assert freeze(tmp_path / "code", project) == first
    (project / "s2m" / "a.py").write_text("other")
    second = freeze(tmp_path / "code", project)
    assert second != first and (first / "s2m" / "a.py").read_text() == "s2m/a.py"
    assert sorted((tmp_path / "code").iterdir()) == sorted([first, second])


def test_a_snapshot_holds_no_secret_and_opens_no_file_to_others(tmp_path):
    project = tmp_path / "project"
    for name in ("conf/wandb_api_key.yaml", "conf/Secrets/a.yaml", "s2m/x.env", "s2m/monkey.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch(0o600)
    (project / "s2m" / "open.py").touch(0o644)
    assert [str(path) for path in source_files(project)] == ["s2m/monkey.py", "s2m/open.py"]
    frozen = freeze(tmp_path / "code", project) / "s2m"
    modes = [(frozen / name).stat().st_mode & 0o777 for name in ("monkey.py", "open.py")]
    assert modes == [0o600, 0o644]


def test_a_snapshot_of_this_project_has_all_its_code():
    project = ROOT
    modules = [path for part in PARTS for path in (project / part).rglob("*.py")]
    assert {path.relative_to(project) for path in modules} <= {*source_files(project)}


def run_guard(code):
    """Run the lines of a job's script up to its command."""
    text = "\n".join([*guarded(sys.executable, code), 'echo "imports from $PYTHONPATH"'])
    return subprocess.run(["bash", "-c", text], capture_output=True, text=True)


DAMAGE = {
    "a module is gone": lambda code: (code / "s2m/a.py").unlink(),
    "a setting was edited": lambda code: (code / "conf/c.yaml").write_text("# d"),
    "a module was added": lambda code: (code / "torch.py").write_text(""),
    "all is gone": lambda code: shutil.rmtree(code),
}


@pytest.mark.parametrize("harm", DAMAGE.values(), ids=DAMAGE)
def test_a_job_refuses_code_that_was_not_submitted_and_a_launch_copies_it_anew(
    project, tmp_path, harm
):
    code = freeze(tmp_path / "it's code", project)
    (code / "s2m/__pycache__").mkdir()
    (code / "s2m/__pycache__/a.cpython-311.pyc").touch()
    (code / "core.1234").touch()  # written by jobs, imported by nobody
    sound = run_guard(code)
    assert sound.returncode == 0 and f"imports from {code}" in sound.stdout
    harm(code)
    refused = run_guard(code)
    assert refused.returncode == 1 and refused.stdout == ""
    assert refused.stderr.startswith(f"error: the copy of the code {code} is ")
    assert len(refused.stderr.splitlines()) == 1
    assert freeze(tmp_path / "it's code", project) == code
    assert run_guard(code).returncode == 0


def test_a_refusal_is_a_verdict(tmp_path):
    run = write_run(tmp_path, Spec(state="pending"))
    refused = run_guard(tmp_path / "gone").stderr
    assert judge(run, refused, "") == "code changed"


def test_a_gap_in_the_code_is_not_filled_from_an_editable_install(tmp_path):
    """Whatever finder setuptools has installed maps s2m to the checkout, as this one does."""
    code = freeze(tmp_path / "code")
    (code / "s2m/doctor.py").unlink()
    (tmp_path / "editable.py").write_text(f"""
import sys
from importlib.machinery import PathFinder
MAPPING = {{"s2m": {str(ROOT / "s2m")!r}}}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        parent = name.rpartition(".")[0]
        return PathFinder.find_spec(name, [MAPPING[parent]]) if parent in MAPPING else None
sys.meta_path.append(Finder)
""")
    lines = "import editable, s2m.status; print(s2m.status.__file__); import s2m.doctor"
    done = subprocess.run(
        [sys.executable, "-c", lines], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONPATH": f"{code}:{tmp_path}", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.stdout.strip() == str(code / "s2m/status.py")
    assert "No module named 's2m.doctor'" in done.stderr


def test_a_launch_that_was_killed_leaves_nothing_for_long(project, tmp_path, monkeypatch):
    orphan = tmp_path / "code" / ".0a1b2c3d.tmp"
    orphan.mkdir(parents=True)
    freeze(tmp_path / "code", project)
    assert orphan.exists()  # somebody may be at it
    monkeypatch.setattr(snapshot, "ORPHANED", 0.0)
    freeze(tmp_path / "code", project)
    assert not orphan.exists()


def test_a_full_disk_is_one_line_and_leaves_nothing(project, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(snapshot.os, "fdopen", full)
    with pytest.raises(UserError, match="cannot copy the code to .*: No space left on device"):
        freeze(tmp_path / "code", project)
    assert list((tmp_path / "code").iterdir()) == []


def test_copies_that_nobody_needs_are_removed(tmp_path, monkeypatch, capsys):
    root = tmp_path / "runs"
    code = root / ".slurm" / "code"
    for name in ("queued", "unfinished", "follows", "finished", "unknown"):
        (code / name / "s2m").mkdir(parents=True)
        (code / name / "s2m/a.py").write_text("x = 1\n")
    for name, state in {"unfinished": "stopped", "finished": "finished"}.items():
        run = write_run(root, Spec(seed=len(name), state=state, rates=RATES))
        entry = new_submission(
            root, 1, "encoders", code=str(code / name), cluster="", packs=[[place_of(run)]],
            attempts=[[0]], over=True,
        )  # fmt: skip
        entry.write()
    new_submission(root, 2, "encoders", code=str(code / "follows"), cluster="").write()
    monkeypatch.setenv("PATH", pretend_slurm(tmp_path / "slurm")["PATH"])
    answer = tmp_path / "slurm/squeue"
    answer.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(UserError, match="squeue: .*: nothing was removed"):
        clean(root)
    answer.write_text(f"#!/bin/sh\necho {code}/queued\n")
    assert launch.main(["--clean", f"root={root}"]) == 0
    assert capsys.readouterr().out == "removed 2 of 5 copies of the code (0.0 MB)\n"
    assert {path.name for path in code.iterdir()} == {"queued", "unfinished", "follows"}
