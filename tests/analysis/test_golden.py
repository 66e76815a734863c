"""All tables of the stored folders, byte for byte; S2M_WRITE_GOLDEN=1 writes them anew."""

import os
import random
from pathlib import Path

import pytest

from analysis.frames import Frames
from analysis.sources.local import load
from analysis.study import make_study
from analysis.tables.every import every_table
from analysis.tables.write import to_csv, to_latex, to_markdown
from tests.analysis.synthetic import DATA

GOLDEN = Path(__file__).parent / "golden"


def written(study) -> dict[str, str]:
    files = {}
    for table in every_table(study):
        files[f"{table.name}.tex"] = to_latex(table)
        files[f"{table.name}.md"] = to_markdown(table)
        files[f"{table.name}.csv"] = to_csv(table)
    return files


def test_the_stored_runs_give_the_golden_tables(stored):
    made = written(stored)
    if os.environ.get("S2M_WRITE_GOLDEN") == "1":
        GOLDEN.mkdir(exist_ok=True)
        for name, text in made.items():
            (GOLDEN / name).write_text(text)
    golden = {path.name: path.read_text() for path in GOLDEN.iterdir()}
    assert sorted(made) == sorted(golden)
    for name, text in made.items():
        assert text == golden[name], name


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_folders_does_not_matter(stored, seed):
    frames = load(DATA / "runs")
    runs, students = list(frames.runs), list(frames.students)
    random.Random(seed).shuffle(runs)
    students.reverse()
    assert [run.id for run in runs] != [run.id for run in frames.runs]
    assert written(make_study(Frames(runs, students=students))) == written(stored)
