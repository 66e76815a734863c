"""The table and figure of policies under shifts, from records written by hand."""

import csv
import io

import numpy as np
import pytest

from analysis import robustness
from analysis.robustness import load, make_figure, make_table, publish, write
from analysis.tables.write import to_csv
from s2m.console.errors import UserError
from s2m.run.files import write_sealed

SETTINGS = {"levels": [1, 5], "episodes": 10, "seed": 1000, "slots": "as_trained"}
OWN = {"sim.ball.rolling": 0.0008, "delay.action": 0, "slots": "as_trained"}


def record(folder, run, shift, kept, variant="pfds", **changes):
    """Write the record of a policy that kept its balls in so many episodes of 10, for 1 and 5."""
    place = folder / "evaluations"
    place.mkdir(parents=True, exist_ok=True)
    successes = {k: {"n": 10, "strict": 0, "no_drop": n} for k, n in zip("15", kept, strict=True)}
    content = {
        "run": f"x/{run}", "signature": "a" * 64, "variant": variant, "seed": 40, "label": "",
        "group": "", "colour": "", "iteration": 600, "shift": shift, "settings": SETTINGS,
        "own": {key: OWN[key] for key in shift}, "sim": "mujoco", "successes": successes,
    }  # fmt: skip
    write_sealed(place / f"{len(list(place.iterdir()))}.json", content | changes)


@pytest.fixture
def folder(tmp_path):
    """Two policies of pfds and one student under six shifts; the student lacks some."""
    for seed, lost in ((40, 0), (41, 2)):
        record(tmp_path, f"pfds-s{seed}", {}, (10 - lost, 6))
        for value, kept in {"0.0004": 4, "0.0016": 8, "0.0001": 1}.items():
            record(tmp_path, f"pfds-s{seed}", {"sim.ball.rolling": value}, (9 - lost, kept))
        record(tmp_path, f"pfds-s{seed}", {"slots": "fixed"}, (10, 5))
        both = {"delay.action": "2", "sim.ball.rolling": "0.0004"}
        record(tmp_path, f"pfds-s{seed}", both, (5, 0))
    for value in ({}, {"sim.ball.rolling": "0.0004"}):
        record(tmp_path, "tactset-s40", value, (8, 2), variant="tactset")
    return tmp_path


def test_cells_pool_seeds_and_levels_and_name_what_is_missing(folder):
    table = make_table(load(folder))
    heads = [column.head.text for column in table.columns]
    assert heads == ["shift", "PFDS", "TactSet"]
    assert [[cell.text for cell in line.cells] for line in table.lines] == [
        ["as trained", "75 (60)", "50 (20)"],
        ["sim.ball.rolling=0.0001", "45 (10)", "—"],
        ["sim.ball.rolling=0.0004", "60 (40)", "50 (20)"],
        ["sim.ball.rolling=0.0016", "80 (80)", "—"],
        ["slots=fixed", "75 (50)", "—"],
        ["delay.action=2 sim.ball.rolling=0.0004", "25 (0)", "—"],
    ]
    assert table.caption.endswith("with 1 and 5 balls pooled; in round brackets 5 balls.")
    assert "10 episodes per number of balls" in table.notes[0]
    assert "95 % Wilson half-widths are at most 23 points;" in table.notes[0]
    assert "Policies: 2 of PFDS, 1 of TactSet." in table.notes
    rows = list(csv.DictReader(io.StringIO(to_csv(table))))
    assert len(rows) == 14 * 2
    first = {name: rows[1][name] for name in ("run", "shift", "k", "n", "no_drop")}
    assert first == {
        "run": "x/pfds-s40",
        "shift": "as trained",
        "k": "5",
        "n": "10",
        "no_drop": "6",
    }


def test_one_number_of_balls_and_one_episode_are_singular(tmp_path):
    once = {"1": {"n": 1, "strict": 1, "no_drop": 1}}
    settings = SETTINGS | {"levels": [1], "episodes": 1}
    record(tmp_path, "pfds-s40", {}, (1, 1), successes=once, settings=settings)
    table = make_table(load(tmp_path))
    assert table.caption == (
        "Robustness: no-drop rate under shifted physics, commands, noise and delays. Policies are "
        "evaluated without retraining. In %, with 1 ball."
    )
    assert table.notes[0].startswith("1 episode per number of balls")
    assert [cell.text for cell in table.lines[0].cells] == ["as trained", "100"]


def test_the_figure_has_a_panel_per_setting_with_the_value_of_training(folder):
    figure = make_figure(load(folder)).paint()
    panels = {axes.get_xlabel(): axes for axes in figure.axes if axes.get_visible()}
    assert list(panels) == ["sim.ball.rolling", "slots", "several settings"]
    (_, pfds, student) = panels["sim.ball.rolling"].get_lines()
    assert np.asarray(pfds.get_xdata()).tolist() == [0.0001, 0.0004, 0.0008, 0.0016]
    assert np.asarray(pfds.get_ydata()).tolist() == pytest.approx([45, 60, 75, 80])
    assert np.asarray(student.get_xdata()).tolist() == [0.0004, 0.0008]
    names = [label.get_text() for label in panels["slots"].get_xticklabels()]
    assert names == ["as trained", "slots=fixed"]


def test_files_are_written_and_published(folder, monkeypatch):
    page, figures = folder / "docs" / "results.md", folder / "docs" / "figures"
    figures.mkdir(parents=True)
    page.write_text("<!-- robustness -->\n<!-- /robustness -->\n")
    monkeypatch.setattr(robustness, "PAGE", page)
    monkeypatch.setattr(robustness, "FIGURES", figures)
    assert write(folder).startswith("## Robustness")
    publish(folder)
    assert "| as trained | 75 (60) | 50 (20) |" in page.read_text()
    assert (figures / "robustness.svg").read_bytes() == (folder / "robustness.svg").read_bytes()


def test_an_empty_folder_is_told(tmp_path):
    with pytest.raises(UserError, match="has no evaluations: python -m s2m.evaluate -m makes"):
        load(tmp_path)
