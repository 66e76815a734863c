import json
import shutil
from pathlib import Path

import pytest

from s2m.console.errors import UserError
from s2m.run.checkpoint import load_latest
from s2m.run.code import CodeState
from s2m.run.events import Events
from s2m.run.folder import SCHEMA, STAGES, RunFolder, find_runs
from s2m.run.identity import signature
from s2m.run.journal import Journal
from s2m.run.lock import current_attempt

STORED = Path(__file__).parent / "data"


def test_create_freezes_config_and_code(root, config):
    config["big"] = [1e-7, 2**60, float("inf"), "1e-3", "ja", "ü", None]
    code = CodeState("abc123", dirty=True, patch="--- a\n+++ b\nlatin \udce9\n")
    folder = RunFolder.create(root / "new" / "run", config, code)
    again = RunFolder.open(folder.path)
    assert again.config() == config
    assert again.identity.signature == signature(config)
    assert (again.identity.variant, again.identity.seed) == ("pfds", 40)
    assert (again.identity.commit, again.identity.dirty) == ("abc123", True)
    assert again.patch.read_bytes() == b"--- a\n+++ b\nlatin \xe9\n"


def test_no_patch_file_without_a_patch(folder):
    assert not folder.patch.exists()


def test_runs_of_a_launch_share_their_patch_until_one_is_written_anew(root, config):
    code = CodeState("a" * 40, True, "a patch")
    first = RunFolder.create(root / "a", config, code)
    second = RunFolder.create(root / "b", config, code, twin=first)
    assert second.patch.samefile(first.patch)
    second.run_file.unlink()  # a launch that was killed, and is given again with other code
    RunFolder.create(root / "b", config, CodeState("a" * 40, True, "another"))
    assert (first.patch.read_text(), second.patch.read_text()) == ("a patch", "another")


def test_second_create_changes_nothing(folder, config):
    before = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    RunFolder.create(folder.path, config | {"cluster": {"name": "slurm"}})
    after = {path: path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}
    assert after == before


def test_create_goes_on_where_a_kill_left_it(folder, config):
    folder.run_file.unlink()
    folder.config_file.write_text("half")
    assert RunFolder.create(folder.path, config).config() == config


def test_a_folder_of_another_config_is_refused_with_both_names(folder, config):
    other = config | {"seed": 41}
    with pytest.raises(UserError) as caught:
        RunFolder.create(folder.path, other)
    assert signature(config) in str(caught.value) and signature(other) in str(caught.value)
    assert folder.config() == config


def test_create_where_no_folder_can_be_is_one_line(root, config):
    (root / "file").write_text("")
    with pytest.raises(UserError, match="cannot create the run folder"):
        RunFolder.create(root / "file" / "run", config)


def test_a_changed_config_is_refused(folder):
    folder.config_file.write_text(folder.config_file.read_text().replace("0.2", "0.3"))
    with pytest.raises(UserError, match="was changed"):
        folder.config()


def test_open_tells_what_is_wrong(folder, root):
    with pytest.raises(UserError, match="not a run folder"):
        RunFolder.open(root)
    data = json.loads(folder.run_file.read_text())
    for change, message in [
        ({"schema": SCHEMA + 1}, f"schema version {SCHEMA + 1}.*reads up to {SCHEMA}"),
        ({"schema": None}, "damaged"),
        ({"surprise": 1}, "damaged"),
    ]:
        folder.run_file.write_text(json.dumps(data | change))
        with pytest.raises(UserError, match=message):
            RunFolder.open(folder.path)


def test_find_runs_is_sorted_and_shallow(root, config):
    for name in ["b/2", "b/10", "a/1", "c"]:
        RunFolder.create(root / name, config)
    (root / "b" / "empty").mkdir()
    RunFolder.create(root / "b" / "2" / "checkpoints" / "not-a-run", config)
    found = [folder.path.relative_to(root).as_posix() for folder in find_runs(root)]
    assert found == ["a/1", "b/10", "b/2", "c"]
    assert [folder.path for folder in find_runs(root / "c")] == [root / "c"]
    assert list(find_runs(root / "nowhere")) == []


@pytest.mark.parametrize("stage", STAGES)
def test_results_read_back(folder, stage):
    assert folder.result(stage) is None
    folder.write_result(stage, {"k_max": 5, "rate": 0.1 + 0.2, "worst": float("-inf"), "ü": []})
    result = RunFolder.open(folder.path).result(stage)
    assert result == {"k_max": 5, "rate": 0.1 + 0.2, "worst": float("-inf"), "ü": []}


def test_a_stage_must_be_known(folder):
    with pytest.raises(UserError, match="Allowed: train, evaluate, distill"):
        folder.write_result("../train", {})


@pytest.mark.parametrize("spoil", ["flip", "cut", "empty", "other stage", "other run"])
def test_an_unsound_result_counts_as_absent(folder, root, config, caplog, spoil):
    folder.write_result("train", {"k_max": 4})
    path = folder.result_file("train")
    if spoil == "flip":
        path.write_text(path.read_text().replace('"k_max": 4', '"k_max": 5'))
    elif spoil == "cut":
        path.write_text(path.read_text()[:40])
    elif spoil == "empty":
        path.write_text("")
    elif spoil == "other stage":
        folder.write_result("evaluate", {})
        shutil.copy(folder.result_file("evaluate"), path)
    else:
        other = RunFolder.create(root / "other", config | {"seed": 41})
        other.write_result("train", {})
        shutil.copy(other.result_file("train"), path)
    events = Events(folder, attempt=1)
    assert folder.result("train") is None
    assert "counts as absent" in caplog.text
    assert events.read() == []
    assert folder.result("train", events) is None
    assert [(e["kind"], e["stage"]) for e in events.read()] == [("corrupt_result", "train")]


@pytest.mark.parametrize("version", range(1, SCHEMA + 1))
def test_stored_folders_of_every_schema_version_are_readable(version):
    folder = RunFolder.open(STORED / f"schema-{version}")
    assert folder.identity.variant == "dshc_off"
    assert folder.config()["ppo"]["clip"] == 0.2
    assert folder.result("train") == {"iterations": 60, "k_max": 2}
    frame = Journal(folder).read()
    assert frame["iteration"].tolist() == list(range(60))
    assert frame["loss"].tolist() == [1 / (i + 1) for i in range(60)]
    assert Journal(folder).last() == (59, {"loss": 1 / 60, "time/step": 0.5})
    levels = [event for event in Events(folder).read() if event["kind"] == "level"]
    assert [(event["level"], event["iteration"]) for event in levels] == [(2, 30)]
    checkpoint = load_latest(folder)
    assert checkpoint is not None and checkpoint.iteration == 49
    assert checkpoint.state["weights"].tolist() == [0.0, 1.0, 2.0]
    attempt = current_attempt(folder)
    assert attempt is not None and attempt.number == 1 and attempt.ended is not None
