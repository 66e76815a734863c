"""The doctor is right about this machine and about pretended ones, and its JSON keeps its shape."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from s2m import doctor
from s2m.console.errors import UserError
from s2m.monitor import checks, examination

ROOT = Path(__file__).parents[2]
NAMES = ["interpreter", "packages", "assets", "files", "gpu", "isaac", "slurm", "wandb", "gl"]


def told(capsys, *words):
    code = doctor.main([*words, "--json"])
    return code, json.loads(capsys.readouterr().out)


def finding(report, name):
    return next(check for check in report["checks"] if check["name"] == name)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put pretended programs onto an otherwise empty PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def write(name, says, code=0):
        path = folder / name
        path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
        path.chmod(0o755)

    return write


def test_the_json_keeps_its_shape(capsys, tmp_path):
    code, report = told(capsys, str(tmp_path))
    assert list(report) == ["schema", "purpose", "ready", "missing", "checks"]
    assert report["schema"] == 1 and report["purpose"] == "local"
    assert [check["name"] for check in report["checks"]] == NAMES
    for check in report["checks"]:
        assert list(check) == ["name", "status", "needed", "found", "fix"]
        assert check["status"] in ("ok", "missing", "absent")
        assert check["status"] == "ok" or (check["found"] and check["fix"])
        assert "\n" not in check["found"] + check["fix"]
    assert told(capsys, str(tmp_path)) == (code, report)


def test_this_machine_can_train_on_its_cores(capsys, tmp_path):
    code, report = told(capsys, str(tmp_path))
    assert (code, report["ready"], report["missing"]) == (0, True, [])


def test_a_machine_without_anything_is_not_a_cluster(capsys, tmp_path, program, monkeypatch):
    monkeypatch.setattr(checks, "_version", {"torch": "2.7"}.get)
    code, report = told(capsys, str(tmp_path), "--cluster")
    assert code == 1 and not report["ready"]
    assert {"gpu", "isaac", "slurm"} <= set(report["missing"])
    assert "sim=mujoco" in finding(report, "gpu")["fix"]
    assert "docs/isaaclab.md" in finding(report, "isaac")["fix"]
    assert finding(report, "slurm")["found"] == "no sbatch and no sinfo"


def test_partitions_are_listed(capsys, tmp_path, program):
    program("sbatch", "")
    program("sinfo", "gpu* up 1-00:00:00 gpu:a100:4\nlow up infinite (null)")
    _, report = told(capsys, str(tmp_path), "--cluster")
    found = finding(report, "slurm")
    assert found["status"] == "ok"
    assert "gpu* (up, up to 1-00:00:00, gpu:a100:4); low" in found["found"]


def test_a_controller_that_does_not_answer(capsys, tmp_path, program):
    program("sbatch", "")
    program("sinfo", "", code=1)
    _, report = told(capsys, str(tmp_path), "--cluster")
    assert finding(report, "slurm")["status"] == "missing"


def test_a_gpu_without_a_fitting_torch(capsys, tmp_path, program, monkeypatch):
    program("nvidia-smi", "NVIDIA L40S, 580.65.06, 46068 MiB")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    _, report = told(capsys, str(tmp_path), "--cluster")
    assert "L40S" in finding(report, "gpu")["found"] and "whl/cu" in finding(report, "gpu")["fix"]
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert finding(told(capsys, str(tmp_path), "--cluster")[1], "gpu")["status"] == "ok"


def test_isaac_must_be_of_the_right_version_and_accepted(capsys, tmp_path, monkeypatch):
    installed = {"isaacsim": "5.1.0.0", "isaaclab": "3.0.0"}
    monkeypatch.setattr(checks, "_version", lambda name: installed.get(name, "1"))
    monkeypatch.delenv("OMNI_KIT_ACCEPT_EULA", raising=False)
    fix = finding(told(capsys, str(tmp_path), "--cluster")[1], "isaac")["fix"]
    assert fix == checks.INSTALL_ISAAC
    installed["isaaclab"] = "2.3.2.post1"
    found = finding(told(capsys, str(tmp_path), "--cluster")[1], "isaac")
    assert found["status"] == "missing" and "OMNI_KIT_ACCEPT_EULA" in found["fix"]
    monkeypatch.setenv("OMNI_KIT_ACCEPT_EULA", "YES")
    assert finding(told(capsys, str(tmp_path), "--cluster")[1], "isaac")["status"] == "ok"


def test_a_folder_that_cannot_be_written(capsys):
    code, report = told(capsys, "/proc/runs")
    assert code == 1 and report["missing"] == ["files"]
    assert "root=DIR" in finding(report, "files")["fix"]


@pytest.mark.parametrize("below", ["", "runs"])
def test_a_file_is_no_folder_of_runs(capsys, tmp_path, below):
    (tmp_path / "file").touch()
    code, report = told(capsys, str(tmp_path / "file" / below))
    assert code == 1 and finding(report, "files")["found"] == f"{tmp_path / 'file'} is a file"


def test_a_folder_of_one_machine_is_no_folder_of_a_cluster(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "_file_system", lambda path: "ext4")
    assert "root=DIR" in finding(told(capsys, str(tmp_path), "--cluster")[1], "files")["fix"]
    assert not finding(told(capsys, str(tmp_path))[1], "files")["fix"]
    monkeypatch.setattr(checks, "_file_system", lambda path: "nfs4")
    assert not finding(told(capsys, str(tmp_path), "--cluster")[1], "files")["fix"]


def test_another_interpreter_cannot_run_isaac_lab(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 13, 1))
    assert finding(told(capsys, str(tmp_path))[1], "interpreter")["status"] == "ok"
    assert (
        finding(told(capsys, str(tmp_path), "--cluster")[1], "interpreter")["status"] == "missing"
    )


def test_a_check_that_breaks_down_is_a_finding(capsys, tmp_path, monkeypatch):
    def broken(root, cluster):
        raise OSError("no such luck")

    monkeypatch.setitem(examination.CHECKS, "wandb", (broken, ()))
    code, report = told(capsys, str(tmp_path))
    assert code == 0 and finding(report, "wandb")["found"] == "OSError: no such luck"


def test_the_text_says_what_to_do(capsys, tmp_path, program):
    assert doctor.main([str(tmp_path), "--cluster"]) == 1
    text = capsys.readouterr().out
    assert "missing  gpu" in text and "-> call this where jobs run: srun" in text
    assert "not ready for sim=isaaclab cluster=slurm:" in text


def test_wrong_words():
    with pytest.raises(UserError, match="usage"):
        doctor.main(["--clutser"])


def test_a_setting_is_not_taken_for_a_folder(tmp_path, capsys):
    with pytest.raises(UserError, match="root=/x is no folder; .* python -m s2m.doctor /x$"):
        doctor.main(["root=/x"])
    (tmp_path / "a=b").mkdir()
    told(capsys, str(tmp_path / "a=b"))


def test_it_works_where_nothing_is_installed(tmp_path):
    """-S leaves all packages away."""
    done = subprocess.run(
        [sys.executable, "-S", "-m", "s2m.doctor", str(tmp_path), "--json"],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    report = json.loads(done.stdout)
    assert done.returncode == 1 and report["missing"] == ["packages", "assets"]
    assert "pip install -e ." in finding(report, "packages")["fix"]
