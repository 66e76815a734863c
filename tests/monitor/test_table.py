"""The survey of runs as text and as JSON."""

import json
import os
import sys
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest

from s2m import status
from s2m.cluster.commands import Job
from s2m.cluster.manifest import Ledger
from s2m.cluster.queue import Queue
from s2m.console.errors import UserError
from s2m.monitor import table
from s2m.monitor.page import build, read_all
from s2m.monitor.survey import WHERE, survey
from s2m.monitor.table import HEAD, as_json, as_screen, as_text, print_table
from s2m.run.files import write_sealed
from s2m.run.journal import Journal
from s2m.run.lock import current_attempt
from tests.analysis.synthetic import Spec, write_run
from tests.cluster.jobs import submit
from tests.faults.surroundings import FOREIGNER

RATES = {k: (10 - k, 12 - k) for k in range(1, 6)}


@pytest.fixture(autouse=True)
def no_queue(monkeypatch):
    monkeypatch.setattr(Queue, "read", lambda *_: None)


def test_a_row_tells_where_a_run_stands(tmp_path):
    write_run(tmp_path, Spec(state="running", iteration=50, iterations=200, levels={3: 40}))
    head, row = as_text(tmp_path).splitlines()[:2]
    assert head.split() == " ".join(name for name in HEAD if name != WHERE).split()
    assert row.startswith("encoders/pfds s40 ") and " running " in row and " 50/200 " in row
    assert " at 40 " in row and " 1.50 " in row


def test_what_did_not_end_well_is_explained_with_the_end_of_its_log(tmp_path):
    run = write_run(tmp_path, Spec(state="failed", iteration=5, reason="no such sensor"))
    run.log.write_text("".join(f"line {i}\n" for i in range(9)))
    text = as_text(tmp_path)
    assert f"encoders/{run.path.name}: code error\nno such sensor\n  | line 4\n" in text
    assert "line 3" not in text and text.endswith("  | line 8")


def test_a_run_that_hangs_is_told_with_what_to_do(tmp_path):
    run = write_run(tmp_path, Spec(state="running", iteration=50, iterations=200, seconds=1.4))
    attempt = current_attempt(run)
    assert attempt is not None
    now = datetime.now(UTC)
    started = (now - timedelta(hours=1)).isoformat()
    write_sealed(run.attempt, asdict(replace(attempt, started=started)))
    Journal(run).append(51, {"time/iteration": 1.4})
    for age, hangs in ((10, False), (90, True)):
        written = now.timestamp() - age
        os.utime(run.journal, (written, written))
        text, (found,) = as_text(tmp_path), json.loads(as_json(tmp_path))
        assert ("silent for" in text) is hangs and found["age"] >= age
        assert (found["silent"] is not None) is hangs
        kill = f"kill -9 {attempt.pid} on {attempt.host}, and the same launch resumes it"
        assert (kill in text and f"s2m.logs {run.path} " in text) is hangs
        assert ("silent for" in build(read_all(survey(tmp_path)), "", str)) is hangs


def test_a_job_that_does_not_come_to_its_run_is_told_with_what_to_do(tmp_path, monkeypatch):
    run = write_run(tmp_path, Spec(state="pending"))
    name = submit([[run]], job="7").manifest.name
    job = Job("7", "7", name, "RUNNING", "None", 3600.0)
    queue = Queue([job], ledgers=[Ledger.read(tmp_path)])
    monkeypatch.setattr(Queue, "read", lambda *_: queue)
    text, (found,) = as_text(tmp_path), json.loads(as_json(tmp_path))
    assert "silent for 1 h" in text and "if it hangs, scancel 7, and the same launch" in text
    assert (found["status"], found["age"], found["silent"]) == ("running", 3600.0, 3600.0)
    assert "silent for 1 h" in build(read_all(survey(tmp_path)), "", str)


def test_a_folder_that_this_user_may_not_read_is_told(tmp_path):
    """With umask 077 a colleague sees folders and nothing in them."""
    write_run(tmp_path, Spec(state="pending"))
    closed = write_run(tmp_path, Spec(state="pending", experiment="private")).path.parent
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o055)
    for place, others_are_shown in ((closed, True), (tmp_path, False)):
        mode = place.stat().st_mode
        place.chmod(0o700 if os.getuid() == 0 else 0)
        output = as_somebody_else(lambda: print(as_text(tmp_path)))
        place.chmod(mode)
        assert f"cannot read {place}, which belongs to " in output and "chmod -R g+rX" in output
        assert (" pending " in output) is others_are_shown


def test_a_closed_folder_that_is_named_itself_is_told(tmp_path, monkeypatch):
    monkeypatch.undo()  # the queue is looked up there, too
    closed = write_run(tmp_path, Spec(state="pending")).path.parent
    for path in (tmp_path, *tmp_path.parents[:3]):
        path.chmod(path.stat().st_mode | 0o055)
    mode = closed.stat().st_mode
    closed.chmod(0o700 if os.getuid() == 0 else 0)
    output = as_somebody_else(lambda: status.main([str(closed)]))
    closed.chmod(mode)
    assert output.startswith(f"cannot read {closed}, which belongs to ")
    assert "ask for chmod -R g+rX" in output


def as_somebody_else(work):
    """Return what work prints in a process of another user; of the same one if there is no root."""
    ours, theirs = os.pipe()
    if (pid := os.fork()) == 0:
        os.dup2(theirs, 1)
        sys.stdout = os.fdopen(1, "w")
        try:
            if os.getuid() == 0:
                os.setuid(FOREIGNER)
            work()
        except UserError as error:
            print(error)
        sys.stdout.flush()
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as file:
        output = file.read()
    os.waitpid(pid, 0)
    return output


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


def test_a_watch_of_many_runs_looks_more_rarely(tmp_path, monkeypatch):
    monkeypatch.setattr(table, "SECONDS_PER_RUN", 3.0)
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 4:
            raise KeyboardInterrupt
        write_run(tmp_path, Spec(state="pending", seed=len(pauses)))

    monkeypatch.setattr(table.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        print_table(tmp_path, watch=True)
    assert pauses == [table.WATCH_SECONDS, table.WATCH_SECONDS, 6.0, 9.0]


@pytest.fixture
def mixed(tmp_path):
    """Thirty finished runs, a failed one and one that is running, which comes last by name."""
    for seed in range(30):
        write_run(tmp_path, Spec(seed=seed, iterations=20, rates=RATES, episodes=20))
    write_run(tmp_path, Spec(seed=1, variant="dshc", state="failed", iteration=5, reason="no disk"))
    write_run(tmp_path, Spec(seed=9, variant="set_transformer", state="running", iteration=7))
    return tmp_path


@pytest.mark.parametrize("width", [20, 40, 79, 200])
@pytest.mark.parametrize("height", [3, 10, 24, 60])
def test_a_watched_table_fits_every_screen(mixed, width, height):
    lines = as_screen(mixed, width, height).splitlines()
    assert len(lines) < height or height == 1
    assert max(map(len, lines)) <= width
    assert lines[0] == "32 runs: 1 running, 1 failed, 30 finished"[:width]
    assert "running" in as_screen(mixed, max(width, 40), max(height, 6)).splitlines()[2]


def test_what_does_not_fit_is_counted_and_narrow_screens_keep_the_seed(mixed):
    lines = as_screen(mixed, 60, 10).splitlines()
    assert lines[-1] == "... and 26 more: 26 finished"
    assert " s9 " in lines[2] and " s1 " in lines[3]
    assert "…" in as_screen(mixed, 30, 10) and " running" in as_screen(mixed, 30, 10)
    assert "code error: no disk" in as_screen(mixed, 200, 60)
