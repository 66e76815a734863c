"""What a launch does with its cells and the commands after them, without executing any run."""

import pytest

from s2m.cluster import feed
from s2m.cluster.cells import expand
from s2m.cluster.commands import SlurmError
from s2m.cluster.followup import make_steps
from s2m.cluster.launch import launch
from s2m.cluster.local import INTERRUPTED_CODE
from s2m.cluster.queue import Queue
from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.lock import RunLock


@pytest.fixture
def cells(tmp_path):
    words = ["sim=dummy", "tracking=disabled", f"root={tmp_path}", "experiment=x", "seed=1,2"]
    return expand(words).compose()


@pytest.fixture
def pool(monkeypatch):
    """A pool that notes what it is given; `pool.code` is how it ends."""

    class Noting:
        code, given = 0, []

        def __init__(self, runs, workers, console, dealer):
            Noting.given = [folder for folder, _ in runs]

        def run(self):
            for folder in Noting.given:
                folder.write_result("train", {"iterations": 1, "once": len(Noting.given)})
                folder.write_result("evaluate", {})
            return Noting.code

    monkeypatch.setattr("s2m.cluster.local.Pool", Noting)
    return Noting


def steps(tmp_path, *lines):
    return make_steps(lines or [f"-c \"open('{tmp_path}/done', 'a').write('x')\""], tmp_path, "x")


def count(tmp_path):
    return len((tmp_path / "done").read_text()) if (tmp_path / "done").exists() else 0


def test_all_that_is_due_is_executed_then_the_commands(cells, pool, tmp_path):
    assert launch(cells, steps(tmp_path)) == 0
    assert len(pool.given) == 2 and all(folder.run_file.exists() for folder in pool.given)
    assert count(tmp_path) == 1


def test_commands_come_again_exactly_when_results_have_changed(cells, pool, tmp_path):
    launch(cells, steps(tmp_path))
    folders = pool.given
    launch(cells, steps(tmp_path))
    assert count(tmp_path) == 1 and pool.given == []
    folders[0].write_result("evaluate", {})  # at another time, but the same
    launch(cells, steps(tmp_path))
    assert count(tmp_path) == 1
    folders[0].write_result("evaluate", {"better": True})
    launch(cells, steps(tmp_path))
    assert count(tmp_path) == 2
    launch(cells[:1], steps(tmp_path))
    assert count(tmp_path) == 3


def test_commands_wait_for_runs_that_somebody_else_is_at(cells, pool, tmp_path, capsys):
    launch(cells, [])
    folder = pool.given[0]
    folder.result_file("evaluate").unlink()
    with RunLock.acquire(folder):
        assert launch(cells, steps(tmp_path)) == 0
        out = capsys.readouterr().out
        assert f"1 command waits for runs ({folder.path.name} is running): launch again" in out
    assert count(tmp_path) == 0
    launch(cells, steps(tmp_path))
    assert count(tmp_path) == 1


def test_after_an_interruption_no_command_follows(cells, pool, tmp_path):
    pool.code = INTERRUPTED_CODE
    assert launch(cells, steps(tmp_path)) == INTERRUPTED_CODE
    assert count(tmp_path) == 0


def test_a_run_that_failed_holds_no_command_up_and_is_the_exit_code(cells, pool, tmp_path):
    pool.code = 1
    assert launch(cells, steps(tmp_path)) == 1
    assert count(tmp_path) == 1


def test_a_damaged_run_is_told_left_alone_and_the_exit_code(cells, pool, tmp_path, capsys):
    launch(cells, [])
    damaged = pool.given[0]
    damaged.run_file.write_text("{")
    assert launch(cells, []) == 1
    assert pool.given == []
    out = capsys.readouterr().out
    assert "1 of 2 runs unreadable, skipped" in out and "run.json" in out


def test_a_run_that_failed_before_is_the_exit_code_until_it_is_tried_again(cells, pool, capsys):
    launch(cells, [])
    failed = pool.given[0]
    for stage in ("train", "evaluate"):
        failed.result_file(stage).unlink()
    attempt = RunLock.acquire(failed)
    Events(failed, attempt.attempt.number).append("failed", reason="no reason")
    attempt.release()
    assert launch(cells, []) == 1
    said = "1 of 2 runs failed, skipped (retry_failed=true reruns them)"
    assert said in capsys.readouterr().out
    for cfg in cells:
        cfg.retry_failed = True
    assert launch(cells, []) == 0 and failed.path in [folder.path for folder in pool.given]


def test_a_dry_launch_writes_nothing(cells, pool, tmp_path, capsys):
    for cfg in cells:
        cfg.dry = True
    assert launch(cells, steps(tmp_path)) == 0
    assert "2 of 2 runs would be executed" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == [] and pool.given == []


def test_in_the_foreground_the_one_run_is_handed_over(cells, capsys):
    given = []

    def foreground(folder: RunFolder) -> int:
        given.append(folder)
        return 75

    assert launch(cells[:1], [], foreground=foreground, note="mirrored nowhere") == 75
    assert given[0].run_file.exists() and "mirrored nowhere" in capsys.readouterr().out
    given[0].run_file.write_text("{")
    with pytest.raises(UserError, match="run.json"):
        launch(cells[:1], [], foreground=foreground)


@pytest.mark.parametrize("queue", [None, Queue([], silent=True)])
def test_without_an_answer_of_slurm_nothing_is_submitted(monkeypatch, tmp_path, queue):
    monkeypatch.setattr(Queue, "read", lambda *_: queue)
    with pytest.raises(SlurmError, match="squeue does not answer: nothing was submitted"):
        feed.read_queue(tmp_path)


def test_a_command_whose_record_is_of_other_runs_is_due(tmp_path):
    (step,) = steps(tmp_path)
    step.succeeded({"a": "1", "b": "2"})
    assert step.has_read({"a": "1", "b": "2"})
    assert not step.has_read({"a": "1"}) and not step.has_read({"a": "1", "b": "3"})
    step.record.write_text("{")
    assert not step.has_read({"a": "1", "b": "2"})
