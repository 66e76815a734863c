"""What a launch does with its cells and the commands after them, without executing any run."""

import pytest

from s2m.cluster import launch as module
from s2m.cluster.cells import expand
from s2m.cluster.followup import make_steps
from s2m.cluster.launch import launch
from s2m.cluster.local import INTERRUPTED_CODE
from s2m.cluster.queue import Queue, SlurmError
from s2m.console.errors import UserError
from s2m.run.files import write_json
from s2m.run.folder import RunFolder


@pytest.fixture
def cells(tmp_path):
    words = ["sim=dummy", "tracking=disabled", f"root={tmp_path}", "experiment=x", "seed=1,2"]
    return expand(words).compose()


@pytest.fixture
def pool(monkeypatch):
    """A pool that notes what it is given; `pool.code` is how it ends."""

    class Noting:
        code, given = 0, []

        def __init__(self, runs, workers, console):
            Noting.given = [folder for folder, _ in runs]

        def run(self):
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


def test_commands_come_again_only_after_other_runs(cells, pool, tmp_path, monkeypatch):
    launch(cells, steps(tmp_path))
    monkeypatch.setattr(module, "_due", lambda *_: [])
    launch(cells, steps(tmp_path))
    assert count(tmp_path) == 1
    launch(cells[:1], steps(tmp_path))
    assert count(tmp_path) == 2


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
    assert [folder.path for folder in pool.given] != [] and damaged.path not in [
        folder.path for folder in pool.given
    ]
    out = capsys.readouterr().out
    assert "1 of 2 runs are unreadable and left alone" in out and "run.json" in out


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
def test_without_an_answer_of_slurm_nothing_is_submitted(monkeypatch, queue):
    monkeypatch.setattr(Queue, "read", lambda: queue)
    with pytest.raises(SlurmError, match="squeue does not answer: nothing was submitted"):
        module._queue(required=True)
    assert module._queue(required=False) is queue


def test_a_command_whose_record_is_of_other_runs_is_due(tmp_path):
    (step,) = steps(tmp_path)
    step.forget()
    write_json(step.record, {"runs": ["a", "b"]})
    assert module._settled(step, ["a", "b"], None)
    assert not module._settled(step, ["a"], None)
