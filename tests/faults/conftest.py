"""Undisturbed runs to compare with, and copies of runs that were killed half way."""

import shutil

import pytest

from s2m.run.folder import find_runs
from tests.faults.kills import killed_at
from tests.faults.runs import fingerprint, finish, student, teacher


@pytest.fixture(scope="session")
def calm(tmp_path_factory):
    """A run that nothing disturbed, and its fingerprint."""
    folder = finish(teacher(tmp_path_factory.mktemp("calm")))
    return folder, fingerprint(folder)


@pytest.fixture(scope="session")
def calm_student(calm, tmp_path_factory):
    """A student that nothing disturbed, and its fingerprint."""
    folder = finish(student(tmp_path_factory.mktemp("calm-student"), calm[0]))
    return folder, fingerprint(folder)


@pytest.fixture(scope="session")
def half(calm, tmp_path_factory):
    """The folder of runs with one that was killed half way."""
    root = tmp_path_factory.mktemp("half")
    killed_at(teacher(root), 14)
    return root


@pytest.fixture(scope="session")
def half_student(calm, tmp_path_factory):
    """The folder of runs with a student that was killed in its second round."""
    root = tmp_path_factory.mktemp("half-student")
    killed_at(student(root, calm[0]), 5)
    return root


@pytest.fixture
def copy_of(tmp_path):
    """Return a function that copies a folder of runs and returns the one run in it."""

    def copy(root):
        target = tmp_path / "runs"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(root, target)
        (run,) = find_runs(target)
        return run

    return copy
