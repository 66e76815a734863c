"""Checkpoints, data sets and configs of others are loaded without running or resolving anything."""

import shutil

import numpy as np
import pytest

from s2m.cluster.distill import compose_student
from s2m.config.compose import from_dict
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.learning.dataset import DataSet
from s2m.policy.stored import open_policy
from s2m.replay import main as replay
from s2m.run import checkpoint
from s2m.run.folder import RunFolder
from tests.analysis.synthetic import Spec, write_run
from tests.security.hostile import configure, object_array, sealed, torch_pickle


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A finished run; at the end no payload may have run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANDB_API_KEY", "canary")
    yield write_run(tmp_path / "runs", Spec(iterations=50, budget="demo", rates={5: (1, 1)}))
    assert not list(tmp_path.rglob("harm"))


@pytest.mark.parametrize("content", [torch_pickle, object_array])
def test_no_command_unpickles_a_checkpoint(run, content, capsys):
    path = run.checkpoints / "000000050-final.pt"
    path.write_bytes(sealed(content()))
    with pytest.raises(checkpoint.CheckpointError, match="refused|is not a checkpoint"):
        checkpoint.load(path)
    with pytest.raises(UserError, match="its checkpoint is damaged"):
        _ = open_policy(run.path).actor
    with pytest.raises(UserError, match="its checkpoint is damaged"):
        replay([f"run={run.path}", "out=film.mp4"])


def test_no_data_set_is_unpickled(run, tmp_path):
    path = tmp_path / "steps.npy"
    path.write_bytes(object_array())
    with pytest.raises(UserError, match="is damaged"):
        DataSet([path])
    np.savez(tmp_path / "steps.npz", a=np.zeros(1))
    shutil.move(tmp_path / "steps.npz", path)
    with pytest.raises(UserError, match="is damaged|does not hold"):
        DataSet([path])


def test_a_config_of_others_reads_no_environment(run):
    configure(run, tracking={"project": "${oc.env:WANDB_API_KEY}"})
    folder = RunFolder.open(run.path)
    with pytest.raises(UserError, match=r"tracking|project = \$\{oc.env") as error:
        from_dict(RunCfg, folder.config())
    assert "canary" not in str(error.value)
    (run.checkpoints / "000000050-final.pt").write_bytes(sealed(b"x"))
    with pytest.raises(UserError, match="a resolved config has no"):
        compose_student([f"teacher={run.path}"])


@pytest.mark.parametrize(
    "strange", [r"a b,c=d [e] {f: g} 'h' \i $(touch harm) # %", r"\\", r"\'", "'", r"a\'b\\'\\\\"]
)
def test_settings_of_a_teacher_are_taken_as_they_are(run, strange):
    configure(run, tracking={"project": strange})
    (run.checkpoints / "000000050-final.pt").write_bytes(sealed(b"x"))
    cfg = compose_student([f"teacher={RunFolder.open(run.path).path}"])
    assert cfg.tracking.project == strange


@pytest.mark.parametrize("path", ["../../etc", "/etc", "harm\n"])
def test_a_teacher_file_leads_to_run_folders_only(run, tmp_path, path):
    import json

    (tmp_path / "teacher.json").write_text(json.dumps({"path": path, "run": "x"}))
    with pytest.raises(UserError, match="is not a run folder|no such folder"):
        compose_student([f"teacher={tmp_path / 'teacher.json'}"])


@pytest.mark.parametrize("name", ["../x", "a/b", "$(touch harm)", "-rf", "a b", "", "x\ny"])
def test_an_experiment_is_a_plain_name(name, tmp_path):
    from s2m.run.identity import check_experiment

    with pytest.raises(UserError, match="experiment = "):
        check_experiment(name)
