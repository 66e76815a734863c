"""What a run's folder and SLURM's queue say about it."""

import json
import os
import time
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from unittest import mock

import pytest

from s2m import status
from s2m.cluster.commands import Job
from s2m.cluster.manifest import Ledger
from s2m.cluster.queue import Queue
from s2m.cluster.state import RunState, glance, inspect
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.run.events import Events
from s2m.run.files import write_sealed
from s2m.run.folder import RunFolder
from s2m.run.identity import run_path
from s2m.run.journal import Journal
from s2m.run.kind import total_iterations
from s2m.run.lock import RunLock, current_attempt
from s2m.run.silence import START
from tests.cluster.jobs import submit

TINY = ["sim=dummy", "budget=demo"]


@pytest.fixture
def folder(tmp_path):
    cfg = load(RunCfg, [*TINY, f"root={tmp_path}"])
    return RunFolder.create(run_path(tmp_path, cfg.experiment, asdict(cfg)), asdict(cfg))


def die_on(host, folder):
    """Let a process of a host have died without a word."""
    with mock.patch("socket.gethostname", return_value=host):
        os.close(RunLock.acquire(folder)._descriptor)


def test_who_is_only_thought_to_be_at_a_run_is_told(folder, tmp_path, capsys):
    die_on("container-1", folder)
    words = ["-m", *TINY, f"root={tmp_path}"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "1 of 1 runs running, skipped" in out
    assert "assumed to be running: attempt 1 (host container-1, pid" in out
    advice = f"delete {folder.attempt}"
    assert advice in out
    status.main([str(tmp_path)])
    assert advice in capsys.readouterr().out
    main([*words, "dry=true"])
    assert "container-1" in capsys.readouterr().out
    folder.attempt.unlink()
    assert inspect(folder, 1).status == "pending"


def test_a_job_that_slurm_could_tell_of_is_not_doubted(folder, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    die_on("n1", folder)
    assert "SLURM job 7" in inspect(folder, 1).doubt
    assert inspect(folder, 1, Queue([], silent=True)).doubt == ""
    known = inspect(folder, 1, Queue([]))
    assert (known.status, known.doubt) == ("stopped", "")


def in_state(folder, state, number="70"):
    """Inspect a run whose job, 7, is in a state of SLURM's."""
    ledger = Ledger.read(folder.path.parent.parent)
    name = ledger.entries[-1].manifest.name
    return inspect(
        folder, 1, Queue([Job("7", number, name, state, "None")], ledgers=[ledger])
    ).status


def running(folder, elapsed):
    """Inspect a run whose job, 7, has been running for so many seconds."""
    ledger = Ledger.read(folder.path.parent.parent)
    job = Job("7", "70", ledger.entries[-1].manifest.name, "RUNNING", "None", elapsed)
    return inspect(folder, 1, Queue([job], ledgers=[ledger]))


def last_touched(folder, ago):
    """Let all that tells of life be so many seconds old."""
    for path in (folder.journal, folder.attempt, folder.log):
        if path.exists():
            os.utime(path, (time.time() - ago,) * 2)


def began(folder, ago, ended=True):
    """Let an attempt in job 70 have begun so many seconds ago."""
    RunLock.acquire(folder).release()
    attempt = current_attempt(folder)
    assert attempt is not None
    started = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat()
    ends = attempt.ended if ended else None
    known = replace(attempt, started=started, host="n1", job="70", ended=ends)
    write_sealed(folder.attempt, asdict(known))


@pytest.mark.parametrize("requeued", [False, True])
def test_a_job_that_does_not_come_to_its_run_is_silent(folder, requeued):
    """An import that hangs on a file server: no process of it has signed for the run."""
    submit([[folder]], job="7")
    if requeued:  # its first start has ended long ago, or was killed
        began(folder, 9999)
        Journal(folder).append(1, {"time/iteration": 1.0})
    last_touched(folder, 9999)
    for elapsed, silent in ((START / 2, None), (START + 9, START + 9)):
        found = running(folder, elapsed)
        assert (found.status, found.age, found.silent) == ("running", elapsed, silent)
        assert found.pid == 0 and found.host == ""
    folder.log.write_text("loading extensions ...")
    last_touched(folder, 30)
    found = running(folder, START + 9)
    assert found.age == pytest.approx(30, abs=9) and found.silent is None


def test_an_attempt_of_this_start_has_begun(folder):
    submit([[folder]], job="7")
    began(folder, 100, ended=False)
    last_touched(folder, 50)
    found = running(folder, START + 9)
    assert found.host == "n1" and found.silent is None and found.age is None  # no row yet
    began(folder, 100)  # cancelled in its pack, where others go on
    assert running(folder, 2 * START).age is None


def test_an_evaluation_has_an_age_and_no_bound(folder):
    submit([[folder]], job="7")
    began(folder, 5000, ended=False)
    folder.write_result("train", {"iterations": 1})
    folder.log.write_text("evaluating 2 sets of episodes\n")
    last_touched(folder, 3000)
    found = running(folder, 6000)
    assert found.stage == "evaluate" and found.silent is None
    assert found.age == pytest.approx(3000, abs=30)


def test_a_finished_control_was_evaluated(folder):
    """It learns nothing: its attempt is its only event."""
    RunLock.acquire(folder).release()
    assert inspect(folder, 1).last_event == "attempt 1 began"
    folder.write_result("train", {"iterations": 0})
    folder.write_result("evaluate", {})
    found = inspect(folder, 0)
    assert (found.status, found.last_event) == ("finished", "evaluated")


def test_a_run_that_failed_in_a_pack_does_not_wait_for_the_others(folder, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "70")
    submit([[folder]], job="7")
    with RunLock.acquire(folder) as lock:
        assert in_state(folder, "RUNNING") == "running"
    # Stopped: its job may be about to be requeued, or have begun again.
    assert in_state(folder, "RUNNING") == "running"
    Events(folder, lock.attempt.number).append("failed", reason="it diverged")
    assert in_state(folder, "RUNNING") == "failed"
    # A job that is to try it again must not be submitted once more.
    assert in_state(folder, "PENDING") == "queued"
    assert in_state(folder, "RUNNING", number="80") == "running"


def test_status_names_runs_alike_from_wherever_it_is_called(folder, tmp_path, capsys, monkeypatch):
    for place in (tmp_path, folder.path.parent, folder.path):
        monkeypatch.chdir(place)
        status.main(["."])
        assert "default/pfds s40  pending" in capsys.readouterr().out


def test_a_file_that_cannot_be_opened_is_named_and_not_called_damaged(folder):
    folder.journal.mkdir()
    assert glance(folder, 1, None).failure == f"cannot open {folder.journal}: Is a directory"


@pytest.mark.parametrize("epochs", ["x", 10**12])
def test_a_budget_that_is_none_is_refused(epochs):
    with pytest.raises(UserError, match="the config asks for"):
        total_iterations({"distill": {"rounds": 10**12, "epochs": epochs}})


def test_a_watch_that_cannot_redraw_prints_the_table_again(folder, tmp_path, capsys, monkeypatch):
    waits = iter([None, KeyboardInterrupt])

    def wait(seconds):
        if error := next(waits):
            raise error

    monkeypatch.setattr("s2m.monitor.table.time", SimpleNamespace(sleep=wait))
    with pytest.raises(KeyboardInterrupt):
        status.main([str(tmp_path), "--watch"])
    assert capsys.readouterr().out.count("default/pfds s40") == 2


def test_the_columns_tell_what_matters_in_each_state():
    state = RunState("running", iteration=20, total=50, level=3, seconds=2.0, failure="broken")
    shown = ["running", "3", "20/50", "2.00", "1 min 00 s", "", ""]
    assert list(state.columns().values()) == shown
    quiet = replace(state, age=90.0, silent=90.0).columns()
    assert list(quiet.values())[-2:] == ["1 min 30 s ago", "silent for 1 min 30 s"]
    ended = replace(state, status="failed", stage="evaluate", last_event="failed")
    assert ended.columns() | {"state": "failed (evaluate)", "end": "", "last event": "broken"} == (
        ended.columns()
    )
    # The failure of an earlier attempt is of no use to whoever waits for the next one.
    waits = replace(state, status="queued", last_event="waits in the queue: Priority")
    assert waits.columns()["last event"] == "waits in the queue: Priority"


def test_the_place_of_a_run_is_told_where_it_has_a_gpu(folder, tmp_path, capsys):
    status.main([str(tmp_path)])
    assert "where" not in capsys.readouterr().out
    with RunLock.acquire(folder, gpu="1 (NVIDIA <L40S>)") as lock:
        host = lock.attempt.host
        status.main([str(tmp_path)])
        head, row, *_ = capsys.readouterr().out.splitlines()
        place = f"{host}, GPU 1 (NVIDIA <L40S>)"
        assert head.index("where") == row.index(place) and "last event" in head
        status.main([str(tmp_path), "--json"])
        (told,) = json.loads(capsys.readouterr().out)
        assert (told["host"], told["gpu"]) == (host, "1 (NVIDIA <L40S>)")
        status.main([str(tmp_path), "--html", str(tmp_path / "page.html")])
        text = (tmp_path / "page.html").read_text()
        assert ">where<" in text and f">{host}, GPU 1 (NVIDIA &lt;L40S&gt;)<" in text
    status.main([str(tmp_path)])
    assert "where" not in capsys.readouterr().out
    assert inspect(folder, 1).place == place
