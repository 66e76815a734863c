"""The survey of runs as text and as JSON."""

import json

import pytest

from s2m.cluster.queue import Queue
from s2m.monitor import table
from s2m.monitor.table import HEAD, as_json, as_text, print_table
from tests.analysis.synthetic import Spec, write_run


@pytest.fixture(autouse=True)
def no_queue(monkeypatch):
    monkeypatch.setattr(Queue, "read", lambda: None)


def test_a_row_tells_where_a_run_stands(tmp_path):
    write_run(tmp_path, Spec(state="running", iteration=50, iterations=200, levels={3: 40}))
    head, row = as_text(tmp_path).splitlines()[:2]
    assert head.split() == " ".join(HEAD).split()
    assert row.startswith("encoders/pfds-s40-") and " running " in row and " 50/200 " in row
    assert " at 40 " in row and " 1.50 " in row


def test_what_did_not_end_well_is_explained_with_the_end_of_its_log(tmp_path):
    run = write_run(tmp_path, Spec(state="failed", iteration=5, reason="no such sensor"))
    run.log.write_text("".join(f"line {i}\n" for i in range(9)))
    text = as_text(tmp_path)
    assert f"encoders/{run.path.name}: code error\nno such sensor\n  | line 4\n" in text
    assert "line 3" not in text and text.endswith("  | line 8")


def test_a_folder_that_cannot_be_read_holds_no_other_up(tmp_path):
    broken = write_run(tmp_path, Spec(seed=1, state="pending"))
    broken.config_file.write_text("rubbish: [")
    write_run(tmp_path, Spec(seed=2, state="pending"))
    text = as_text(tmp_path)
    assert f"{broken.path.name}: unreadable\n" in text and " pending " in text


def test_many_runs_are_counted_by_their_states(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "MANY", 2)
    for seed, state in enumerate(("pending", "failed")):
        write_run(tmp_path, Spec(seed=seed, state=state))
    assert " runs: " not in as_text(tmp_path)
    write_run(tmp_path, Spec(seed=9, state="failed"))
    assert as_text(tmp_path).endswith("\n3 runs: 2 failed, 1 pending")


def test_a_place_without_runs_is_told(tmp_path):
    assert as_text(tmp_path) == f"no runs in {tmp_path}"
    assert json.loads(as_json(tmp_path)) == []


def test_lines_are_cut_at_the_width_of_the_terminal(tmp_path):
    write_run(tmp_path, Spec(state="pending"))
    assert max(map(len, as_text(tmp_path, 30).splitlines())) == 30


def test_programs_get_the_whole_state(tmp_path):
    run = write_run(tmp_path, Spec(state="failed", iteration=5, reason="no such sensor"))
    (found,) = json.loads(as_json(tmp_path))
    assert found["run"] == str(run.path) and found["status"] == "failed"
    assert (found["failure"], found["verdict"]) == ("no such sensor", "code error")


def test_a_watch_renews_the_table_until_it_is_interrupted(tmp_path, monkeypatch, capsys):
    looks = iter(range(9))

    def sleep(seconds):
        assert seconds == table.WATCH_SECONDS
        if next(looks) == 1:
            raise KeyboardInterrupt
        write_run(tmp_path, Spec(state="pending"))

    monkeypatch.setattr(table.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        print_table(tmp_path, watch=True)
    first, second = capsys.readouterr().out.split("\n\n")[:2]
    assert first.startswith("no runs in") and " pending " in second
