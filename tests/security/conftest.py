"""A folder of hostile runs, in which whatever they do would be seen."""

import os
from pathlib import Path

import pytest

from tests.security import hostile


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Where the hostile runs lie, beside what they are after."""
    folder, before = tmp_path_factory.mktemp("trap"), Path.cwd()
    os.chdir(folder)
    hostile.trap(folder)
    os.chdir(before)
    return folder


@pytest.fixture
def runs(place, monkeypatch):
    """The hostile runs, which find a secret in the environment; nothing may come of them."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("WANDB_API_KEY", "canary")
    yield place / "runs"
    assert not list(place.rglob("harm"))
    assert (place / "treasure").read_text() == "a secret\n"
