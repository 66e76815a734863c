"""Studies made of synthetic run folders."""

from pathlib import Path

import pytest

from analysis.sources.local import load
from analysis.study import Study, make_study
from tests.analysis.synthetic import DATA, Spec, write_run


@pytest.fixture(scope="session")
def stored() -> Study:
    """The study of the stored folders, which have every kind of trouble once."""
    return make_study(load(DATA / "runs"))


@pytest.fixture
def study_of(tmp_path):
    """Return a function that writes runs and makes their study."""

    def make(*specs: Spec, root: Path = tmp_path / "runs", **options) -> Study:
        root.mkdir(exist_ok=True)
        for spec in specs:
            write_run(root, spec)
        return make_study(load(root), **options)

    return make
