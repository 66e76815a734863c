"""Full disks, folders without rights, jumping clocks, second writers, things that are no number."""

import os
import random
import resource
import signal
import subprocess
import sys

import pytest

from s2m.env.episodes import run_episodes
from s2m.monitor.survey import survey
from s2m.run import checkpoint
from s2m.run.lock import Busy, RunLock, Superseded
from s2m.run.status import BUSY, CODES
from s2m.run.stopping import StopRequest
from s2m.stages.evaluate import evaluate
from s2m.stages.execute import execute
from s2m.stages.progress import Progress
from s2m.stages.train import train
from tests.faults.kills import ended_by, in_child, striking_at
from tests.faults.numbers import SOURCES, diverge
from tests.faults.runs import TEACHER, differences, finish, kinds, student, teacher
from tests.faults.surroundings import small_disk, until_full, with_jumping_clock, without_rights


@pytest.mark.parametrize("size", [3_000, 30_000])
def test_a_full_disk_ends_the_attempt_and_nothing_else(tmp_path, calm, size):
    folder = teacher(tmp_path)
    assert until_full(folder, size) == 1
    for path in checkpoint.saved(folder):
        checkpoint.load(path)
    assert folder.result("train") is None
    assert survey(tmp_path)[0].state.status in ("failed", "stopped")
    assert differences(finish(folder), calm[1]) == []


@pytest.mark.parametrize("size", [4_000, 20_000])
def test_a_command_on_a_full_disk_ends_with_one_line(tmp_path, size):
    """The first size has no room for the rows of the journal, the second none for a checkpoint."""
    folder = teacher(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "s2m.launch", *TEACHER, f"root={tmp_path}"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
        env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"},  # it would leave halves of it
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert str(folder.path) in line
    (entry,) = survey(tmp_path)
    assert entry.state.status == "failed" and str(folder.path) in entry.state.failure


def test_a_full_file_system(tmp_path, calm):
    try:
        with small_disk(tmp_path / "disk", 256) as disk:
            folder = teacher(disk)
            assert until_full(folder, 1 << 30) == 1
            assert folder.result("train") is None
            assert not list(folder.checkpoints.glob(".*.tmp"))
    except PermissionError:
        pytest.skip("needs the right to mount")


def test_a_folder_nobody_may_write_to_is_left_as_it_is(calm, half, copy_of):
    run = copy_of(half)
    for path in run.path.parents:  # Others must be able to reach it.
        if path.stat().st_uid == os.getuid() and path.stat().st_mode & 0o005 != 0o005:
            path.chmod(path.stat().st_mode | 0o055)
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    assert without_rights(run) in (1, 2)
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == before
    assert differences(finish(run), calm[1]) == []


def test_a_jumping_clock_changes_no_number(tmp_path, calm):
    folder = teacher(tmp_path)
    with_jumping_clock(lambda: finish(folder))
    assert differences(folder, calm[1]) == []


def test_of_two_writers_one_leaves(tmp_path, calm):
    folder = teacher(tmp_path)

    def work():
        try:
            return execute(folder)
        except Busy:
            return BUSY

    ends = sorted(ended_by(child) for child in [in_child(work) for _ in range(3)])
    assert ends == [0, CODES[BUSY], CODES[BUSY]]
    assert differences(folder, calm[1]) == []


def test_a_thief_takes_over_and_the_orphan_spoils_nothing(tmp_path, calm):
    folder = teacher(tmp_path)
    orphan = striking_at(folder, 5, lambda: os.kill(os.getpid(), signal.SIGSTOP))
    assert os.WIFSTOPPED(os.waitpid(orphan, os.WUNTRACED)[1])
    RunLock.acquire(folder, steal=True).release()
    finish(folder)
    os.kill(orphan, signal.SIGCONT)
    assert ended_by(orphan) == 1
    assert differences(folder, calm[1]) == []


def taken_over(folder, moment, monkeypatch):
    """Let a run lose its folder just before it leaves, ends training or has been judged."""
    stop, calls = StopRequest(), []

    def lose(*_):
        RunLock.acquire(folder, steal=True).release()

    def watch():
        calls.append(1)
        if moment == "leave" and len(calls) == 8:
            lose()
            stop.reason = "SIGTERM"

    def judge(*given):
        lose()
        return run_episodes(*given)

    progress = Progress.silent()
    if moment == "finish":
        monkeypatch.setattr(progress, "iteration", lambda at, *_: lose() if at == 24 else None)
    monkeypatch.setattr("s2m.stages.evaluate.run_episodes", judge)
    with RunLock.acquire(folder) as lock:
        train(folder, lock, stop, progress, watch=watch)
        evaluate(folder, lock, stop, progress)


@pytest.mark.parametrize("moment", ["leave", "finish", "judged"])
def test_an_orphan_asks_before_whatever_it_writes_last(tmp_path, calm, moment, monkeypatch):
    folder = teacher(tmp_path)
    with pytest.raises(Superseded, match="was taken over by a later attempt"):
        taken_over(folder, moment, monkeypatch)
    monkeypatch.undo()
    assert "stopped" not in kinds(folder)
    if moment == "leave":
        assert folder.checkpoints / "000000007.pt" not in checkpoint.saved(folder)
    assert (folder.result("train") is None) == (moment != "judged")
    assert folder.result("evaluate") is None and not (folder.path / "episodes.parquet").exists()
    assert differences(finish(folder), calm[1]) == []


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_no_number_ends_the_run_with_one_line(tmp_path, calm, calm_student, source):
    of_student = source.startswith("student")
    folder = student(tmp_path, calm[0]) if of_student else teacher(tmp_path)
    said = diverge(folder, source, random.Random(source).randint(2, 6))
    assert "diverged at iteration" in said and "\n" not in said
    assert kinds(folder)[-1] == "diverged" and folder.result(folder.kind.stage) is None
    # Without the cause the run goes on from the last checkpoint, which is sound.
    assert differences(finish(folder), (calm_student if of_student else calm)[1]) == []
