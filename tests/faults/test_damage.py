"""A damaged file is made up for or refused in one line; nobody is ever given a wrong number."""

import random
from unittest import mock

import pytest

from s2m import cancel
from s2m.console.errors import UserError
from s2m.launch import main as launch
from s2m.policy.stored import open_policy
from s2m.run import checkpoint, journal
from s2m.run.folder import RunFolder, find_runs
from s2m.run.journal import Journal
from s2m.stages.execute import execute
from s2m.stages.progress import Progress
from tests.faults.damage import (
    KINDS,
    REFUSED,
    SURVIVED,
    damage,
    files,
    misread,
    one_line,
    outcome,
    read,
)
from tests.faults.runs import TEACHER, differences, finish, kinds, teacher


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_of_a_finished_run(calm, copy_of, kind):
    folder, expected = calm
    root = folder.path.parents[1]
    sound, _ = read(root)
    for path in files(folder):
        run = copy_of(root)
        damage(run.path / path.relative_to(folder.path), kind, random.Random(f"{path.name}{kind}"))
        assert misread(run.path.parents[1], sound) is None, path.name
        verdict = outcome(run, expected)
        assert verdict.outcome in (SURVIVED, REFUSED), (path.name, verdict)


@pytest.mark.parametrize("kind", ["flip", "gone"])
@pytest.mark.parametrize("which", ["half", "half_student"])
def test_every_file_of_an_interrupted_run(request, calm, calm_student, copy_of, which, kind):
    root = request.getfixturevalue(which)
    expected = (calm if which == "half" else calm_student)[1]
    original = copy_of(root)
    sound, _ = read(original.path.parents[1])
    for name in [path.relative_to(original.path) for path in files(original)]:
        run = copy_of(root)
        damage(run.path / name, kind, random.Random(f"{name}{kind}"))
        assert misread(run.path.parents[1], sound) is None, name
        verdict = outcome(run, expected)
        assert verdict.outcome in (SURVIVED, REFUSED), (name, verdict)


def test_a_lost_level_change_is_restored_from_the_metrics(half, calm, copy_of):
    run = copy_of(half)
    lines = run.events.read_bytes().splitlines(keepends=True)
    place = next(i for i, line in enumerate(lines) if b'"kind":"level"' in line)
    run.events.write_bytes(b"".join([*lines[:place], b"rubbish\n", *lines[place + 1 :]]))
    assert outcome(run, calm[1]).outcome == SURVIVED
    assert {"damaged_lines", "level_restored"} <= set(kinds(run))


def test_a_run_does_not_go_on_without_its_metrics(half, copy_of, monkeypatch):
    run = copy_of(half)
    monkeypatch.setattr(journal, "KEPT", 1)
    Journal(run).compact(12)
    run.metrics.unlink()
    with pytest.raises(UserError, match="has lost the metrics of 12 iterations from 1 on"):
        execute(run)


def disturbed(folder, moment, disturb):
    """Execute a run to whose files something happens after an iteration."""
    progress = Progress.silent()
    with mock.patch.object(
        progress, "iteration", lambda at, *_: disturb() if at == moment else None
    ):
        execute(folder, progress)


def refused(folder, moment, disturb):
    """Return what a run says to what happens to its files."""
    with pytest.raises(UserError) as caught:
        disturbed(folder, moment, disturb)
    return str(caught.value)


def test_a_run_whose_attempt_vanishes_goes_on(tmp_path, calm):
    folder = teacher(tmp_path)
    disturbed(folder, 10, folder.attempt.unlink)
    assert differences(folder, calm[1]) == []
    assert kinds(folder).count("attempt_restored") == kinds(folder).count("attempt") == 1


@pytest.mark.parametrize(("moment", "saved"), [(5, 4), (10, 8), (22, 20)])
def test_a_journal_that_vanishes_under_a_run_costs_an_attempt(tmp_path, calm, moment, saved):
    """Before the checkpoint of a level, a planned one and the final one."""
    folder = teacher(tmp_path)
    said = refused(folder, moment, folder.journal.unlink)
    assert f"from {saved + 1} on: the next attempt does them again" in said and one_line(said)
    assert checkpoint.load(checkpoint.saved(folder)[-1]).iteration == saved
    assert differences(finish(folder), calm[1]) == []


def test_a_late_row_of_an_orphan_costs_an_attempt(tmp_path, calm):
    folder = teacher(tmp_path)
    said = refused(folder, 11, lambda: Journal(folder).append(9, {"time/iteration": 1.0}))
    assert "lost the metrics of 2 iterations from 10 on: the next attempt does them again" in said
    assert differences(finish(folder), calm[1]) == []


@pytest.mark.parametrize("row", [1, 7, 8])
def test_a_row_of_an_orphan_older_than_the_checkpoint_costs_no_more(tmp_path, calm, row):
    """What was stored with the checkpoint of 8 is right, whatever the journal takes back."""
    folder = teacher(tmp_path)
    late = {"time/iteration": 1.0}
    said = refused(folder, 11, lambda: Journal(folder).append(row, late))
    assert f"from {row + 1} on" in said
    assert differences(finish(folder), calm[1]) == []
    assert kinds(folder).count("journal_dropped") == 1


def test_metrics_that_vanish_under_a_run_are_not_made_up(tmp_path, calm, monkeypatch):
    monkeypatch.setattr(journal, "KEPT", 4)
    folder = teacher(tmp_path)
    aside = folder.path / "elsewhere"
    said = refused(folder, 14, lambda: folder.metrics.rename(aside))
    assert "lost the metrics of 8 iterations from 1 on: put metrics.parquet back" in said
    with pytest.raises(UserError, match="8 iterations from 1 on: put metrics.parquet back"):
        execute(folder)
    assert not folder.metrics.exists()
    aside.rename(folder.metrics)
    assert differences(finish(folder), calm[1]) == []


def test_a_row_takes_back_what_came_later_even_if_its_rewind_is_lost(tmp_path):
    folder = RunFolder(tmp_path)
    metrics = Journal(folder)
    for iteration in range(1, 9):
        metrics.append(iteration, {"a": 1.0})
    metrics.compact(8)
    metrics.rewind(4)
    metrics.append(5, {"a": 2.0})
    metrics.close()
    lines = folder.journal.read_bytes().splitlines(keepends=True)
    folder.journal.write_bytes(b"".join([*lines[:-2], b"rubbish\n", lines[-1]]))
    assert Journal(folder).read()["iteration"].tolist() == [1, 2, 3, 4, 5]
    assert [iteration for iteration, _ in Journal(folder).tail(3)] == [3, 4, 5]


def test_only_the_final_policy_is_judged(calm, copy_of):
    run = copy_of(calm[0].path.parents[1])
    damage(sorted(run.checkpoints.iterdir())[-1], "flip", random.Random(1))
    with pytest.raises(UserError, match="has lost its final checkpoint"):
        open_policy(run.path).checkpoint  # noqa: B018
    run.result_file("evaluate").unlink()
    assert outcome(run, calm[1]).outcome == SURVIVED
    assert {"checkpoint_fallback", "policy_lost"} <= set(kinds(run))


def test_a_lost_result_is_made_again(calm, copy_of):
    run = copy_of(calm[0].path.parents[1])
    for stage in ("train", "evaluate"):
        damage(run.result_file(stage), "cut", random.Random(2))
    execute(run)
    assert kinds(run).count("corrupt_result") == 2
    assert differences(run, calm[1]) == []


def test_the_launcher_names_a_damaged_run_and_executes_the_others(calm, copy_of, capsys):
    run = copy_of(calm[0].path.parents[1])
    damage(run.run_file, "flip", random.Random(3))
    words = [*TEACHER, f"root={run.path.parents[1]}", "seed=40,41"]
    assert launch(["-m", *words, "dry=true"]) == 0
    assert "1 of 2 runs would be executed" in capsys.readouterr().out
    assert launch(["-m", *words[:-1], "seed=40"]) == 1
    assert f"unreadable: {run.run_file} is damaged" in capsys.readouterr().out
    assert cancel.main([str(run.path), "--yes"]) == 0
    assert "no run there is running or queued" in capsys.readouterr().out


def test_the_launcher_executes_what_stands_beside_a_damaged_config(half, copy_of, capsys):
    run = copy_of(half)
    damage(run.config_file, "flip", random.Random(3))
    before = run.attempt.read_bytes()
    words = [*TEACHER, f"root={run.path.parents[1]}"]
    assert launch(["-m", *words, "seed=40,41", "dry=true"]) == 0
    assert "1 of 2 runs would be executed" in capsys.readouterr().out
    assert launch(["-m", *words, "seed=40,41"]) == 1
    assert f"unreadable: {run.config_file} was changed" in capsys.readouterr().out
    (other,) = [folder for folder in find_runs(run.path.parents[1]) if folder.path != run.path]
    assert other.identity.seed == 41 and other.result("evaluate") is not None
    with pytest.raises(UserError, match="config.yaml was changed"):
        launch([*words, "seed=40"])
    assert run.attempt.read_bytes() == before
