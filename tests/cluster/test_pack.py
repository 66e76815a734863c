"""What a job does before and after its runs: whose work it is, what it leaves out, how it ends."""

from dataclasses import asdict
from typing import Any

import pytest

from s2m.cluster import pack
from s2m.cluster.manifest import new_submission
from s2m.cluster.pack import FollowUp, Pack, main
from s2m.cluster.script import REQUEUE
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.status import FAILED, FINISHED, STOPPED
from s2m.run.stopping import STOP_FILE


@pytest.fixture(autouse=True)
def job(monkeypatch):
    """Be job 7, which was never requeued; return a function that says how often it was."""
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.delenv("SLURM_ARRAY_JOB_ID", raising=False)
    monkeypatch.delenv("SLURM_ARRAY_TASK_ID", raising=False)
    return lambda n: monkeypatch.setattr(pack, "slurm_restarts", lambda: n)


@pytest.fixture
def ended(monkeypatch):
    """Return a function that lets a pool end at once, its runs as they are said to."""

    def let(interrupted=False, **outcomes):
        class Ended:
            def __init__(self, due, **_):
                self.ended = {folder.path.name: outcomes[folder.path.name] for folder, _ in due}
                self.interrupted = interrupted

            def run(self):
                pass

        monkeypatch.setattr(pack, "Pool", Ended)

    return let


@pytest.fixture
def runs(tmp_path):
    config = asdict(load(RunCfg, ["sim=dummy", "budget=demo"]))
    folders = [RunFolder.create(tmp_path / "exp" / name, config) for name in ("good", "bad")]
    return [str(folder.path) for folder in folders]


def test_a_job_whose_manifest_was_withdrawn_leaves(tmp_path, capsys):
    assert main([str(tmp_path)]) == 0
    assert "the launch has withdrawn this job" in capsys.readouterr().out


def test_a_job_leaves_the_work_to_the_one_that_was_noted(tmp_path, capsys):
    content = {"code": "", "cluster": "", "packs": [["exp/a"]], "attempts": [[0]], "job": "8"}
    entry = new_submission(tmp_path, 1, "exp", **content)
    entry.write()
    entry.exit_file(0).write_text("0")
    assert main([str(entry.folder)]) == 0
    assert capsys.readouterr().out == "job 8 does this work\n" and entry.exit_code(0) == 0


def test_a_folder_that_cannot_be_read_fails_the_job_and_not_the_others(runs, ended, capsys):
    (RunFolder(runs[1]).path / "config.yaml").write_text("a: [")
    ended(good=FINISHED)
    with pytest.raises(UserError, match="^failed: bad$"):
        Pack(runs, 1, 3)()
    assert "bad: " in capsys.readouterr().out


@pytest.mark.parametrize("restarts, requeued", [(0, True), (2, True), (3, False)])
def test_a_job_that_must_leave_is_requeued_as_often_as_allowed(
    runs, ended, job, restarts, requeued
):
    job(restarts)
    ended(interrupted=True, good=STOPPED, bad=FAILED)
    if requeued:
        with pytest.raises(SystemExit) as left:
            Pack(runs, 1, 3)()
        assert left.value.code == REQUEUE
    else:
        with pytest.raises(UserError, match="was requeued 3 times"):
            Pack(runs, 1, 3)()


def test_a_job_whose_runs_had_ended_is_not_requeued(runs, ended):
    ended(interrupted=True, good=FINISHED, bad=FINISHED)
    Pack(runs, 1, 3)()


def test_a_requeued_job_does_not_repeat_what_was_cancelled_in_it(runs, job, monkeypatch):
    class Attempted:
        job, number = "7", 1

    monkeypatch.setattr(pack, "current_attempt", lambda _: Attempted)
    Events(RunFolder(runs[0]), attempt=1).append("stopped", reason=STOP_FILE)
    Events(RunFolder(runs[1]), attempt=1).append("stopped", reason="SIGTERM")
    kept = lambda: [folder.path.name for folder, _ in Pack(runs, 1, 3)._sort()[0]]  # noqa: E731
    job(0)
    assert kept() == ["good", "bad"]  # launched anew: the user wants them
    job(1)
    assert kept() == ["bad"]
    monkeypatch.setattr(Attempted, "job", "6")  # cancelled in an earlier job
    assert kept() == ["good", "bad"]


class Done:
    """A command after a sweep that notes whether it succeeded."""

    def __init__(self, code):
        self.command, self.results = ["-c", f"raise SystemExit({code})"], None

    def succeeded(self, results):
        self.results = results


@pytest.mark.parametrize("code, outcome", [(0, True), (REQUEUE, False), (1, None)])
def test_a_command_succeeds_is_asked_to_leave_or_fails(tmp_path, code, outcome):
    step: Any = Done(code)
    follow = FollowUp(step, [], str(tmp_path), max_requeues=0)
    if outcome is None:
        with pytest.raises(UserError, match="failed with exit code 1"):
            follow.run()
    else:
        assert follow.run() is outcome
    assert (step.results is not None) == (outcome is True)
    if outcome is False:
        with pytest.raises(UserError, match="was requeued 0 times"):
            follow()


def test_a_command_runs_in_the_copy_of_the_code(tmp_path):
    step: Any = Done(0)
    step.command = ["-c", "import os, pathlib; pathlib.Path('where').write_text(os.getcwd())"]
    FollowUp(step, [], str(tmp_path))()
    assert (tmp_path / "where").read_text() == str(tmp_path)
