"""ONNX: what is exported acts as the policy does, over an episode and with its memory."""

import sys
from dataclasses import asdict

import numpy as np
import onnxruntime
import pytest

from s2m import export
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.policy.onnx import Exported
from s2m.run.files import read_json
from s2m.run.folder import RunFolder
from s2m.stages.execute import execute
from tests.taught import TEACHER

ENCODERS = ("flat_mlp", "branch_mlp", "dshc", "set_transformer", "pfds", "set_transformer_pf")


def exported(folder, out, capsys):
    assert export.main([str(folder.path), str(out)]) == 0
    assert "largest difference to torch over 500 steps" in capsys.readouterr().out
    return read_json(out / f"{folder.path.name}.json")


@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_teacher_is_the_same_in_onnx_over_500_steps(tmp_path, encoder, capsys):
    words = [*TEACHER, f"encoder={encoder}", "encoder.width=8", "budget.iterations=1"]
    folder = RunFolder.create(tmp_path / encoder, asdict(load(RunCfg, words)))
    execute(folder, last="train")
    told = exported(folder, tmp_path / "out", capsys)
    assert told["checked"]["max_difference"] < 1e-4
    assert list(told["inputs"]) == ["proprio", "command", "balls"]


def test_a_student_is_the_same_in_onnx_over_500_steps_with_its_memory(student, tmp_path, capsys):
    folder = student("one")
    execute(folder, last="distill")
    told = exported(folder, tmp_path / "out", capsys)
    assert told["checked"]["max_difference"] < 1e-4 and told["rate_hz"] == 50
    assert told["inputs"]["memory"]["shape"] == [1, 16]
    assert len(set(told["outputs"]["actions"]["joints"])) == 12
    session = onnxruntime.InferenceSession(str(tmp_path / "out" / told["model"]))
    feed = {
        name: np.ones(entry["shape"], dtype=np.float32) for name, entry in told["inputs"].items()
    }
    first, memory = session.run(None, feed)
    second, _ = session.run(None, feed | {"memory": memory})
    assert not np.array_equal(np.asarray(first), np.asarray(second))


def test_a_difference_is_noticed(student, tmp_path, monkeypatch, capsys):
    folder = student("one")
    execute(folder, last="distill")
    write = Exported.write

    def spoil(self, path):
        write(self, path)
        self.module.clip = 0.01

    monkeypatch.setattr(Exported, "write", spoil)
    assert export.main([str(folder.path), str(tmp_path / "out"), "episode_steps=5"]) == 1


@pytest.mark.parametrize("words", [[], ["a", "b", "c"], ["a", "episode_steps=0"], ["a", "steps=5"]])
def test_bad_words_are_one_line(words):
    with pytest.raises(UserError, match="usage: python -m s2m.export RUN_FOLDER"):
        export.main(words)


def test_a_missing_library_is_named(student, monkeypatch):
    folder = student("one")
    execute(folder, last="distill")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UserError, match="exporting needs onnxruntime: pip install -e"):
        export.main([str(folder.path)])
