"""The data behind the figures, and that every study can be drawn."""

import numpy as np
import pytest
from matplotlib.text import Text

from analysis.cohort import Cohort
from analysis.figures.curves import criteria, representative, symmetry, threshold_steps, training
from analysis.figures.draw import half_width, is_narrow, level_curve, level_grid, render
from analysis.figures.every import every_figure
from analysis.figures.levels import progression
from analysis.figures.success import success
from analysis.measure import parse
from analysis.rows import PAPER, row
from analysis.stats.survival import median
from analysis.tables.headline import reached
from tests.analysis.synthetic import Spec

NARROWEST = 0.39 * 5.5
"""Inches of the smallest place that the paper has for a figure."""
MARKS = {"pdf": b"%PDF-", "svg": b"<?xml", "png": b"\x89PNG"}


def runs(study, variant="pfds"):
    return study.cohorts[variant].runs


def test_a_level_curve_ends_where_the_run_does(study_of):
    study = study_of(
        Spec(seed=1, levels={2: 10, 3: 40}),
        Spec(seed=2, levels={2: 20}, state="running", iteration=25),
    )
    first, second = runs(study)
    assert level_curve(first) == ([0, 10, 40, 30_000], [1, 2, 3, 3])
    assert level_curve(second) == ([0, 20, 25], [1, 2, 2])


def test_levels_of_several_runs_on_one_grid(study_of):
    study = study_of(Spec(seed=1, levels={2: 10, 3: 40}), Spec(seed=2, levels={2: 20}))
    at, levels = level_grid(runs(study), study.budget)
    assert at.tolist() == [0, 10, 20, 40, 30_000]
    assert levels.tolist() == [[1, 2, 2, 3, 3], [1, 1, 2, 2, 2]]


def test_the_representative_run_is_the_one_in_the_middle(study_of):
    study = study_of(
        *(
            Spec(seed=s, levels={2: 1, 3: 2, 4: 3, 5: at})
            for s, at in ((1, 900), (2, 500), (3, 700))
        ),
        Spec(seed=4, state="running", iteration=5),
    )
    found = representative(study.cohorts["pfds"])
    assert found is not None
    assert found.seed == 3
    assert representative(Cohort(row("dshc"), [])) is None
    more = study_of(Spec(seed=5, levels={2: 1, 3: 2, 4: 3, 5: 800})).cohorts["pfds"]
    found = representative(more)
    assert found is not None and found.began(5) == median(more.times(5)) == 800


def test_medians_of_levels_and_of_times_do_not_contradict_each_other(study_of):
    specs = [Spec(seed=s, levels={2: 10 * s, 3: 100 * s}) for s in (1, 2)]
    study = study_of(*specs, Spec(seed=3, levels={2: 30}), Spec(seed=4))
    cohort = study.cohorts["pfds"]
    assert reached(cohort, 5).text == "2 (1–3)"
    at, levels = level_grid(cohort.finished, study.budget)
    middle = np.percentile(levels, 50, axis=0, method="lower")
    assert median(cohort.times(3)) is None and middle.max() == 2
    assert median(cohort.times(2)) == at[np.argmax(middle == 2)] == 30


def test_thresholds_follow_the_level_and_end_at_the_top(study_of):
    study = study_of(
        Spec(seed=1, levels={2: 10, 3: 20, 4: 30, 5: 40}), Spec(seed=2, levels={2: 10})
    )
    done, stuck = runs(study)
    assert threshold_steps(done, "margin") == ([0, 10, 20, 30, 40], [0.3, 0.25, 0.2, 0.15, 0.15])
    assert threshold_steps(stuck, "margin") == ([0, 10, 30_000], [0.3, 0.25, 0.25])
    assert threshold_steps(done, "length_ratio") == ([0, 10, 20, 30, 40], [0.85] * 5)


def test_every_figure_of_the_stored_runs_is_written_in_three_formats(stored, made):
    for drawing in every_figure(stored):
        for kind, mark in MARKS.items():
            assert (made[1] / "figures" / f"{drawing.name}.{kind}").read_bytes().startswith(mark)
        half = made[1] / "figures" / f"{drawing.name}-half.pdf"
        assert half.read_bytes().startswith(MARKS["pdf"])


def test_at_half_width_all_text_can_be_read_and_is_inside(stored):
    assert not is_narrow()
    for drawing in every_figure(stored):
        with half_width():
            figure = drawing.paint()
            figure.draw_without_rendering()
            width, height = figure.get_size_inches()
            assert width == 2.65, drawing.name
            for text in figure.findobj(Text):
                said = f"{drawing.name}: {text.get_text()}"
                assert float(text.get_fontsize()) * NARROWEST / width >= 6, said
            box = figure.get_tightbbox()
            assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.02, drawing.name


def test_a_study_with_one_pending_run_has_no_empty_axes(study_of):
    drawings = every_figure(study_of(Spec(state="pending")))
    assert [drawing.name for drawing in drawings] == [
        "progression", "survival", "framework", "architecture"
    ]  # fmt: skip
    for drawing in drawings:
        assert render(drawing)["png"]


def test_figures_show_what_is_missing_by_name(made):
    """Text is drawn as glyphs; the comments in the SVG tell which."""
    bars, levels = (
        (made[1] / "figures" / name).read_text() for name in ("success.svg", "progression.svg")
    )
    for word in ("pending", "failed", "running", "evaluation pending"):
        assert f"<!-- {word} -->" in bars
    assert "<!-- Flat-MLP: pending -->" in levels


def test_nan_in_a_curve_is_left_out(study_of):
    study = study_of(Spec(levels={2: 10}))
    x, y = runs(study)[0].curves.get("symmetry/frame_mean")
    assert len(x) == len(y) == np.isfinite(y).sum() < len(runs(study)[0].curves.iteration)


def test_lines_of_criteria_are_broken_where_a_window_had_no_value(study_of):
    study = study_of(*(Spec(seed=s, levels={2: 9}) for s in (1, 2, 3)))
    name, gap = "criteria/margin", slice(100, 120)
    for run in runs(study)[:2]:
        run.curves.metrics[name][gap] = np.nan
    for drawing in (criteria(study), training(study, parse(name))):
        assert drawing
        lines = [line for axes in drawing.paint().axes for line in axes.lines]
        drawn = [np.asarray(line.get_ydata(), dtype=float) for line in lines]
        broken = [y for y in drawn if np.isnan(y).any()]
        assert len(broken) == (1 if drawing.name == "criteria" else 3)  # two runs and the median
        assert all(np.flatnonzero(np.isnan(y)).tolist() == [*range(100, 120)] for y in broken)
    drawing = symmetry(study)  # audits are made at checkpoints: lines join them
    assert drawing
    lines = [line for axes in drawing.paint().axes for line in axes.lines]
    assert not any(np.isnan(np.asarray(line.get_ydata(), dtype=float)).any() for line in lines)


def test_the_lowest_panel_of_each_column_has_the_numbers_of_balls(study_of):
    study = study_of(*(Spec(v, rates={5: (1, 1)}) for v in (*PAPER, "flat_mlp_off")))
    drawing = success(study)
    assert drawing
    figure = drawing.paint()
    shown = [axes for axes in figure.axes if axes.get_visible()]
    labelled = [axes.get_title() for axes in shown if axes.get_xlabel() == "balls"]
    ticked = [axes.get_title() for axes in shown if axes.xaxis.get_tick_params()["labelbottom"]]
    assert labelled == ticked and len(labelled) == 4
    assert labelled[-1] == "Flat-MLP_OFF"


def test_rows_without_runs_do_not_lift_the_curves_of_others(study_of):
    study = study_of(*(Spec(v, levels={2: 9}) for v in ("pfds", "flat_mlp_off")))
    axes = progression(study).paint().axes[0]
    thick = [np.asarray(line.get_ydata()) for line in axes.lines if line.get_linewidth() > 1]
    thick = [y for y in thick if len(y)]
    assert len(thick) == 2
    assert np.mean([y[0] for y in thick]) == pytest.approx(1)
    assert abs(thick[0][0] - thick[1][0]) == pytest.approx(0.04)
