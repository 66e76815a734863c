"""What of a run folder goes to W&B."""

import json
import math
from dataclasses import asdict

import pyarrow
import pytest

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.folder import FILES, RunFolder
from s2m.run.lock import RunLock
from s2m.tracking.contents import (
    description,
    digest,
    files,
    full_name,
    run_id,
    stamp,
    summary,
)
from tests.analysis.synthetic import Spec, write_run

RATES = {k: (k, 2 * k) for k in range(1, 6)}


@pytest.fixture
def folder(tmp_path):
    return write_run(tmp_path, Spec(iterations=9, episodes=10, levels={2: 4, 3: 7}, rates=RATES))


def test_a_run_is_known_by_its_signature_and_its_experiment(tmp_path, folder):
    moved = write_run(tmp_path / "elsewhere", Spec(iterations=9, episodes=10))
    other = write_run(tmp_path, Spec(iterations=9, experiment="again"))
    assert run_id(folder) == run_id(moved) != run_id(other)
    assert run_id(folder).startswith(folder.identity.signature[:24])
    assert full_name(folder) == f"encoders/{folder.path.name}"


def test_a_run_is_found_by_its_row_budget_and_slots(tmp_path):
    told = description(write_run(tmp_path, Spec("pfds_off", experiment="e" * 90)))
    assert told["group"] == "pfds_off" and told["job_type"] == "train"
    assert told["tags"] == sorted(["e" * 64, "paper", "mujoco", "fixed slots"])


def test_name_group_tags_and_notes_can_be_chosen(tmp_path):
    folder = write_run(tmp_path, Spec())
    plain = description(folder)
    assert plain["name"] == "pfds s40" and plain["notes"] is None
    words = ["group=mine", "tags=[paper 2]", "notes=a try", 'name="{variant} {seed} wide"']
    config = asdict(load(RunCfg, [f"tracking.{word}" for word in words]))
    folder = RunFolder.create(tmp_path / "again", config)
    told = description(folder)
    seed = folder.identity.seed
    assert (told["name"], told["group"], told["notes"]) == (f"pfds {seed} wide", "mine", "a try")
    assert "paper 2" in told["tags"] and len(told["tags"]) == 5


def test_a_name_with_an_unknown_part_is_refused():
    with pytest.raises(UserError, match="allowed are text and {run}, {experiment}, {variant}"):
        load(RunCfg, ['tracking.name="{run} {size}"'])


def test_names_groups_and_tags_show_what_differs(tmp_path):
    runs = [
        write_run(tmp_path, Spec(iterations=9, changes={"ppo": {"gamma": gamma}}))
        for gamma in (0.97, 0.99)
    ]
    told = [description(run) for run in runs]
    assert [one["name"] for one in told] == ["pfds γ=0.97 s40", "pfds γ=0.99 s40"]
    assert [one["group"] for one in told] == ["pfds γ=0.97", "pfds γ=0.99"]
    assert "γ=0.97" in told[0]["tags"] and "γ=0.97" not in told[1]["tags"]


def test_the_summary_has_levels_rates_and_parameters(folder):
    found = summary(folder)
    assert found["run/state"] == "finished" and found["run/encoder_parameters"] > 0
    assert (found["reached/level_2"], found["reached/level_3"]) == (4, 7)
    assert (found["evaluate/strict_k3"], found["evaluate/no_drop_k3"]) == (0.3, 0.6)


def test_the_summary_of_a_run_that_has_just_begun_is_its_state(tmp_path):
    assert summary(write_run(tmp_path, Spec(state="pending"))) == {"run/state": "pending"}


def test_small_files_are_sent_as_they_are(folder):
    found = files(folder)
    assert {"run.json", "config.yaml", "events.jsonl", "train.json"} <= set(found) <= set(FILES)
    assert all((folder.path / name).read_bytes() == content for name, content in found.items())


def test_of_an_attempt_that_nobody_here_can_see_the_end_is_told(tmp_path):
    run = write_run(tmp_path, Spec(state="running", iteration=3))
    assert json.loads(files(run)["attempt.json"])["ended"] is None
    ended = json.loads(files(run, ended=True)["attempt.json"])["ended"]
    assert ended == Events(run).read()[-1]["time"]


def test_the_end_of_an_attempt_that_lives_is_not_made_up(tmp_path):
    run = write_run(tmp_path, Spec(state="pending"))
    with RunLock.acquire(run):
        assert files(run)["attempt.json"] == run.attempt.read_bytes()


def test_a_file_of_a_folder_that_leads_elsewhere_is_refused(folder, tmp_path):
    (tmp_path / "secret").write_text("x")
    folder.patch.unlink(missing_ok=True)
    folder.patch.symlink_to(tmp_path / "secret")
    with pytest.raises(Exception, match="code.patch"):
        files(folder)


def test_a_stamp_changes_with_the_files_only(folder):
    before = stamp(folder)
    folder.log.write_text("printed\n")
    assert stamp(folder) == before
    Events(folder, 1).append("note")
    assert stamp(folder) != before


def test_equal_tables_have_one_digest_and_others_another():
    table = pyarrow.table({"a": [1.0, None], "b": [0.0, 2.0]})
    others = [
        pyarrow.table({"a": [1.0, math.nan], "b": [0.0, 2.0]}),
        pyarrow.table({"a": [1.0, None], "c": [0.0, 2.0]}),
        pyarrow.table({"b": [0.0, 2.0], "a": [1.0, None]}),
        table.slice(0, 1),
    ]
    assert digest(table) == digest(pyarrow.table({"a": [1.0, None], "b": [0.0, 2.0]}))
    assert len({digest(one) for one in [table, *others]}) == 5
