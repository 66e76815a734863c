"""Whoever is killed, whenever: runs end bit-equal to undisturbed ones, every iteration once."""

import random

import pytest

from s2m.run.folder import find_runs
from tests.faults.kills import STOPS, kill_at_random, kill_in_a_write, storm
from tests.faults.launches import kill_launcher, kill_siblings, launch
from tests.faults.runs import differences, fingerprint, finish, kinds, student, teacher

KILLS = 6


def disturbed(folder, fault, chance, amount):
    """Repeat a fault until it has struck so often or the run is done, and finish the run."""
    struck = 0
    while struck < KILLS and fault(folder, chance, amount):
        struck += 1
    return finish(folder), struck


@pytest.mark.parametrize(("fault", "amount"), [(kill_at_random, 0.4), (kill_in_a_write, 60)])
def test_training(tmp_path, calm, fault, amount):
    folder, struck = disturbed(teacher(tmp_path), fault, random.Random(1), amount)
    assert struck >= 2
    assert differences(folder, calm[1]) == []
    assert kinds(folder).count("died") >= kinds(folder).count("attempt") - 1


@pytest.mark.parametrize(("fault", "amount"), [(kill_at_random, 0.3), (kill_in_a_write, 40)])
def test_distilling(tmp_path, calm, calm_student, fault, amount):
    folder, struck = disturbed(student(tmp_path, calm[0]), fault, random.Random(2), amount)
    assert struck >= 2
    assert differences(folder, calm_student[1]) == []
    assert kinds(folder).count("died") >= kinds(folder).count("attempt") - 1


def test_storms_of_signals(tmp_path, calm):
    folder, chance = teacher(tmp_path), random.Random(3)
    ends = [storm(folder, chance, 60) for _ in range(3)]
    # Signals that come when it has left, or not yet begun, end the process as they end any other.
    assert set(ends) <= {0, 75, *(-number for number in STOPS)}
    assert "stopped" in kinds(finish(folder))
    assert differences(folder, calm[1]) == []


@pytest.mark.slow
def test_the_launcher_and_its_processes(tmp_path, calm):
    chance = random.Random(4)
    assert kill_launcher(tmp_path / "runs", chance, "seed=40,41")
    assert kill_siblings(tmp_path / "runs", chance, 1, "seed=40,41") == 1
    assert launch(tmp_path / "runs", "seed=40,41").wait() == 0
    first, second = find_runs(tmp_path / "runs")
    assert differences(first, calm[1]) == []
    assert differences(second, fingerprint(finish(teacher(tmp_path / "other", "seed=41")))) == []
    assert "killed" in {*kinds(first), *kinds(second)}
