"""What is written before SLURM hears of a job, and read back whoever wrote it."""

import os
from pathlib import Path

import pytest

from s2m.cluster.manifest import FOLDER, Ledger, Submission, me, new_submission, roots_of
from s2m.console.errors import UserError
from s2m.run.files import read_json, write_sealed

PACKS = [["exp/a", "exp/b"], ["exp/c"]]


def submission(root, number=1, **content):
    known = {"code": "", "cluster": "c", "packs": PACKS, "attempts": [[0, 0], [0]]}
    entry = new_submission(root, number, "exp", **(known | content))
    entry.write()
    return entry


@pytest.mark.parametrize(
    "job, packs, ids",
    [("", PACKS, ["", ""]), ("7", PACKS, ["7_0", "7_1"]), ("7", PACKS[:1], ["7"]), ("7", [], [])],
)
def test_elements_of_an_array_have_ids_and_a_job_alone_has_its_own(tmp_path, job, packs, ids):
    entry = submission(tmp_path, job=job, packs=packs)
    assert [entry.manifest.element(index) for index in range(len(packs))] == ids
    logs = [f"{found}_0_log.out" for found in ids if found]
    assert [entry.logs(i)[0].name for i in range(len(packs)) if entry.logs(i)] == logs


def test_what_was_written_is_read_back(tmp_path):
    entry = submission(tmp_path)
    entry.note(job="12", over=True)
    again = Submission.open(entry.folder).manifest
    assert again == entry.manifest and again.job == "12" and again.over
    assert again.runs == ["exp/a", "exp/b", "exp/c"]


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"name": "s2m-a --uid=root"}, "name is"),
        ({"name": "x"}, "name is"),
        ({"job": "7;8"}, "job is '7;8'"),
        ({"job": "7" * 13}, "job is"),
        ({"user": "a,b"}, "user is 'a,b'"),
        ({"user": ""}, "user is ''"),
        ({"cluster": "a b"}, "cluster is"),
        ({"packs": [["exp/a"]]}, "its lists are none of a job"),
        ({"packs": [["exp/a", 3], ["exp/c"]]}, "its lists are none of a job"),
        ({"attempts": [["0", 0], [0]]}, "its lists are none of a job"),
        ({"command": ["-m", None]}, "its lists are none of a job"),
    ],
)
def test_what_would_become_words_of_slurm_is_checked_though_its_sum_is_right(
    tmp_path, changes, said
):
    entry = submission(tmp_path)
    content = read_json(entry.file) | changes
    content.pop("sha256")
    write_sealed(entry.file, content)
    with pytest.raises(UserError, match=said):
        Submission.open(entry.folder)
    assert Ledger.read(tmp_path).entries == []


def test_what_was_withdrawn_leaves_only_logs_behind(tmp_path):
    silent, begun = submission(tmp_path), submission(tmp_path, 2)
    (begun.folder / "notes_log.out").touch()
    assert begun.traces() == ""
    (begun.folder / "31_0_log.out").touch()
    assert begun.traces() == "31"
    for entry in (silent, begun):
        entry.withdraw()
        entry.withdraw()
    assert not silent.folder.exists()
    assert begun.folder.exists() and not begun.file.exists()


@pytest.mark.parametrize("text, code", [("0\n", 0), ("143", 143), ("", None), ("seven", None)])
def test_an_exit_code_that_cannot_be_read_is_none(tmp_path, text, code):
    entry = submission(tmp_path)
    assert entry.exit_code(1) is None
    entry.exit_file(1).write_text(text)
    assert entry.exit_code(1) == code and entry.exit_code(0) is None


def test_the_ledger_has_the_order_of_submission_and_finds_runs_and_commands(tmp_path):
    late = submission(tmp_path, 9)
    early = submission(tmp_path, 2, packs=[["exp/c"]], attempts=[[1]])
    step = submission(tmp_path, 5, packs=[], attempts=[], command=["-m", "x"], record="x.json")
    ledger = Ledger.read(tmp_path)
    assert [entry.manifest.number for entry in ledger.entries] == [2, 5, 9]
    found = [(entry.folder, index) for entry, index in ledger.of_run("exp/c")]
    assert found == [(early.folder, 0), (late.folder, 1)]
    assert ledger.of_run("exp/d") == []
    (command,) = ledger.of_command(tmp_path / "exp" / ".then" / "x.json")
    assert command.folder == step.folder and [*ledger.commands()] == [step.manifest]
    assert ledger.of_command(tmp_path / "other" / ".then" / "x.json") == []


def test_a_folder_of_runs_is_found_from_a_run_an_experiment_and_itself(tmp_path):
    run = tmp_path / "exp" / "run"
    assert roots_of([run, tmp_path]) == []
    (tmp_path / FOLDER).mkdir()
    assert roots_of([run, run.parent, tmp_path]) == [tmp_path]
    assert roots_of([run / "checkpoints"]) == []


def test_a_user_without_a_name_is_known_by_number(monkeypatch):
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    monkeypatch.setenv("USER", "somebody else")
    assert me() == str(os.getuid())


def test_submissions_have_names_of_their_own_and_nothing_is_written(tmp_path):
    names = {new_submission(tmp_path, 1, "exp", code="", cluster="").folder for _ in range(20)}
    assert len(names) == 20 and not [*Path(tmp_path).iterdir()]
