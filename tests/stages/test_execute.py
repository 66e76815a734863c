"""What is left of a run is done once, by one process, and a failure is told to its folder."""

import shutil
from dataclasses import asdict, replace

import pytest

from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.files import write_sealed
from s2m.run.folder import RunFolder, saved
from s2m.run.lock import Busy, RunLock, current_attempt
from s2m.run.status import FAILED, FINISHED, status_of
from s2m.stages import execute as module
from s2m.stages.execute import attempt, execute
from s2m.stages.progress import Progress
from tests.faults.runs import kinds


class Onlooker:
    """A mirror that only counts."""

    def __init__(self):
        self.attempts, self.looks = [], 0

    def start(self, attempt):
        self.attempts.append(attempt)

    def check(self):
        self.looks += 1


@pytest.fixture
def trained(teacher, tmp_path):
    """A copy of a finished run."""
    return RunFolder(shutil.copytree(teacher.path, tmp_path / teacher.path.name))


@pytest.fixture
def fresh(teacher, tmp_path):
    return RunFolder.create(tmp_path / "fresh", teacher.config())


def test_a_finished_run_is_left_alone(trained):
    mirror, before = Onlooker(), current_attempt(trained)
    assert execute(trained, mirror=mirror) == FINISHED
    assert mirror.attempts == [] and current_attempt(trained) == before


def test_only_what_has_no_result_is_done(trained):
    weights = saved(trained)[-1].read_bytes()
    episodes = (trained.path / "episodes.parquet").read_bytes()
    (trained.path / "evaluate.json").unlink()
    assert execute(trained) == FINISHED
    assert saved(trained)[-1].read_bytes() == weights
    assert (trained.path / "episodes.parquet").read_bytes() == episodes
    assert "policy_lost" not in kinds(trained)


def test_a_policy_that_was_lost_before_it_was_judged_is_learnt_again(trained):
    weights = saved(trained)[-1].read_bytes()
    (trained.path / "evaluate.json").unlink()
    for path in saved(trained):
        path.unlink()
    assert execute(trained) == FINISHED
    assert "policy_lost" in kinds(trained)
    assert saved(trained)[-1].read_bytes() == weights


def test_nobody_comes_between_a_run_and_its_process(fresh):
    mirror = Onlooker()
    with RunLock.acquire(fresh), pytest.raises(Busy):
        execute(RunFolder(fresh.path), mirror=mirror)
    assert mirror.attempts == []


def test_a_mirror_begins_with_the_attempt_and_is_looked_after(fresh):
    mirror = Onlooker()
    assert execute(fresh, last="train", mirror=mirror) == FINISHED
    assert mirror.attempts == [1] and mirror.looks >= 2
    assert fresh.result("evaluate") is None


def failing(monkeypatch, error, first=lambda: None):
    def fail(*_, **__):
        first()
        raise error

    monkeypatch.setattr(module, "_due", fail)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UserError("no such sensor"), "no such sensor"),
        (RuntimeError("out of memory\nTried to allocate"), "RuntimeError: out of memory"),
        (ValueError(), "ValueError: "),
    ],
)
def test_a_failure_is_kept_in_one_line_and_raised(fresh, monkeypatch, error, reason):
    failing(monkeypatch, error)
    with pytest.raises(type(error)):
        attempt(fresh, Progress.silent(), Onlooker())
    assert Events(fresh).read()[-1]["reason"] == reason
    assert status_of(fresh) == FAILED


def test_a_failure_means_nothing_to_whoever_took_the_folder_over(fresh, monkeypatch):
    def take_over():
        mine = current_attempt(fresh)
        assert mine is not None
        other = replace(mine, number=2, token="1" * 16, host="far")
        write_sealed(fresh.attempt, asdict(other))

    failing(monkeypatch, RuntimeError("late"), first=take_over)
    with pytest.raises(RuntimeError, match="late"):
        attempt(fresh, Progress.silent(), Onlooker())
    assert "failed" not in kinds(fresh)


def test_that_another_process_is_at_it_is_no_failure(fresh):
    with RunLock.acquire(fresh), pytest.raises(Busy):
        attempt(RunFolder(fresh.path), Progress.silent(), Onlooker())
    assert "failed" not in kinds(fresh)


@pytest.mark.parametrize(
    ("job", "restarts", "taken"), [("7", "1", True), ("7", "0", False), ("8", "1", False)]
)
def test_only_a_later_start_of_the_same_job_takes_a_folder_over(
    fresh, monkeypatch, job, restarts, taken
):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    with RunLock.acquire(fresh) as lock:
        write_sealed(fresh.attempt, asdict(replace(lock.attempt, host="lost", pid=1)))
        monkeypatch.setenv("SLURM_JOB_ID", job)
        monkeypatch.setenv("SLURM_RESTART_COUNT", restarts)
        assert module._orphaned(fresh) is taken
