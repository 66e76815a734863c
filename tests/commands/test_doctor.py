"""The doctor is right about this machine and about pretended ones, and its JSON keeps its shape."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from s2m import doctor
from s2m.cluster.commands import SlurmError, partitions
from s2m.console.errors import UserError
from s2m.monitor import checks, examination

ROOT = Path(__file__).parents[2]
NAMES = [
    "interpreter", "packages", "assets", "files", "gpu", "warp", "isaac", "slurm", "wandb", "gl",
]  # fmt: skip


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

    def write(name, says, code=0, to=1):
        path = folder / name
        path.write_text(f"#!/bin/sh\necho '{says}' >&{to}\nexit {code}\n")
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


def test_commands_without_a_configuration_are_told_by_what_is_missing(capsys, tmp_path, program):
    program("sbatch", "")
    program(
        "sinfo",
        "sinfo: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n"
        "sinfo: error: _establish_config_source: failed to fetch config\n"
        "sinfo: fatal: Could not establish a configuration source",
        code=1, to=2,
    )  # fmt: skip
    said = (
        "SLURM's commands are here, but no controller answers (no slurm.conf?): sinfo: "
        "_establish_config_source: failed to fetch config"
    )
    _, report = told(capsys, str(tmp_path), "--cluster")
    found = finding(report, "slurm")
    assert found["status"] == "missing" and found["found"] == said
    with pytest.raises(SlurmError) as error:
        partitions()
    assert str(error.value) == said


def test_a_gpu_without_a_fitting_torch(capsys, tmp_path, pretended_cards, monkeypatch):
    pretended_cards(2)
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    _, report = told(capsys, str(tmp_path), "--cluster")
    found = finding(report, "gpu")
    card = "(NVIDIA L40S), 48 GB"
    assert f"driver 580.65.06 for CUDA 13.0; GPU 0 {card}; GPU 1 {card}, but" in found["found"]
    assert "whl/cu" in found["fix"]
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    found = finding(told(capsys, str(tmp_path), "--cluster")[1], "gpu")
    assert found["status"] == "ok" and found["found"].endswith("; CUDA_VISIBLE_DEVICES=1 is set")


def test_a_machine_without_a_gpu_is_told_so_and_can_train(capsys, tmp_path, program):
    program("nvidia-smi", "No devices were found", code=6)
    code, report = told(capsys, str(tmp_path))
    found = finding(report, "gpu")
    assert (code, found["status"]) == (0, "absent")
    assert found["found"] == "no NVIDIA GPU (No devices were found)"
    assert found["fix"].startswith("none is needed: sim=mujoco")


@pytest.mark.parametrize(
    ("cuda", "status", "words"),
    [
        ("13.0", "ok", "steps can be captured as graphs"),
        ("12.4", "ok", "steps can be captured as graphs"),
        ("12.2", "absent", "the driver is for CUDA 12.2, captured graphs need 12.4"),
        ("N/A", "ok", "the driver is for an unknown CUDA, captured graphs need 12.4"),
    ],
)
def test_graphs_of_warp_need_a_recent_driver(
    capsys, tmp_path, pretended_cards, monkeypatch, cuda, status, words
):
    pretended_cards(1, cuda=cuda)
    installed = {"mujoco-warp": "4.0.0", "warp-lang": "1.19.0"}
    monkeypatch.setattr(checks, "_version", lambda name: installed.get(name, "1"))
    found = finding(told(capsys, str(tmp_path))[1], "warp")
    assert found["status"] == status and found["found"].endswith(words)
    room = "a GPU holds some 1,000,000 environments (48 kB each at five balls"
    assert f"mujoco-warp 4.0.0, warp-lang 1.19.0; {room}" in found["found"]
    assert ("sim.graph=false" in found["fix"]) == ("graphs need" in words)


def test_warp_is_only_needed_for_warp(capsys, tmp_path, program, monkeypatch):
    monkeypatch.setattr(checks, "_version", {"torch": "2.7"}.get)
    found = finding(told(capsys, str(tmp_path))[1], "warp")
    assert found["status"] == "absent" and found["fix"] == "pip install -e '.[warp]'"
    monkeypatch.setattr(checks, "_version", lambda name: "1")
    found = finding(told(capsys, str(tmp_path))[1], "warp")
    assert (found["status"], found["fix"]) == ("ok", "")
    assert found["found"].endswith("without a GPU only sim.device=cpu")


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
    with pytest.raises(UserError, match="roots=/x: not a directory; name it alone, or write root="):
        doctor.main(["roots=/x"])
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
