"""What charts are made of: medians and bands over seeds, breaks, and nothing where nothing is."""

import base64

import numpy as np
import pytest

from s2m.web.charts import POINTS, Point, Series, Style, _summary, curves, points

STYLES = [Style("a", "#000000"), Style("b", "#ff0000", dashed=True), Style("unused", "#00ff00")]


def unpacked(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def series(row, values, first=1):
    y = np.array(values, dtype=float)
    return Series(row, f"{row}-{values[0]}", np.arange(first, first + len(y)), y)


def made(*found, **options):
    chart = curves("title", "value", STYLES, found, **options)
    assert chart is not None
    return chart.data


def test_a_row_has_median_band_and_every_run():
    data = made(series("a", [1, 2, 6]), series("a", [3, 4, 5]), series("a", [2, 9, 7]))
    (row,) = data["rows"]
    assert unpacked(data["x"]).tolist() == [1, 2, 3]
    assert unpacked(row["low"]).tolist() == [1, 2, 5]
    assert unpacked(row["middle"]).tolist() == [2, 4, 6]
    assert unpacked(row["high"]).tolist() == [3, 9, 7]
    assert [run["name"] for run in row["runs"]] == ["a-1", "a-3", "a-2"]


def test_rows_keep_their_looks_and_those_without_runs_are_absent():
    data = made(series("b", [1]), series("a", [1, 2]))
    assert [(row["row"], row["colour"], row["dashed"]) for row in data["rows"]] == [
        ("a", "#000000", False), ("b", "#ff0000", True),
    ]  # fmt: skip


def test_where_a_run_has_no_value_its_line_is_broken():
    data = made(series("a", [1, np.nan, 3]), series("b", [1, 2, 3]))
    assert np.isnan(unpacked(data["rows"][0]["middle"])).tolist() == [False, True, False]


def test_a_band_needs_half_of_the_runs():
    data = made(series("a", [1, 2, 3]), series("a", [1]), series("a", [1]))
    assert np.isnan(unpacked(data["rows"][0]["middle"])).tolist() == [False, True, True]


def test_long_curves_are_thinned_and_keep_their_ends():
    data = made(series("a", list(range(5000))))
    x, y = unpacked(data["x"]), unpacked(data["rows"][0]["middle"])
    assert len(x) == POINTS and (x[0], x[-1]) == (1, 5000) and (y[0], y[-1]) == (0, 4999)


def test_steps_hold_up_to_the_last_iteration_of_a_run_and_have_no_halves():
    level = Series("a", "", np.array([1.0, 4, 6]), np.array([1.0, 2, 2]))
    later = Series("a", "", np.array([1.0, 5, 10]), np.array([1.0, 2, 3]))
    data = made(level, later, step=True)
    x, y = unpacked(data["x"]), unpacked(data["rows"][0]["middle"])
    assert dict(zip(x, y, strict=True)) == {1: 1, 4: 1, 5: 2, 6: 2, 10: 3}


def test_limits_are_those_of_the_row():
    limits = [Series("b", "", np.array([1, 3]), np.array([5.0, 6.0]))]
    data = made(series("a", [1, 2, 3]), series("b", [1, 2, 3]), limits=limits)
    assert "limit" not in data["rows"][0]
    assert unpacked(data["rows"][1]["limit"]).tolist() == [5, 5, 6]


def test_nothing_to_draw_makes_no_chart():
    assert curves("", "", STYLES, []) is None
    assert curves("", "", STYLES, [series("a", [np.nan])]) is None
    assert curves("", "", STYLES, [series("a", [-1.0, 0.0])], log=True) is None
    assert points("", "", "", STYLES, []) is None


def test_points_have_the_median_and_the_range_of_their_group():
    found = [Point("b", f"b s{i}", "k5", value) for i, value in enumerate((0.2, 0.9, 0.4))]
    chart = points("", "balls", "success", STYLES, [Point("a", "a s0", "k1", 1.0), *found])
    assert chart.data["groups"] == ["k1", "k5"]
    row = chart.data["rows"][1]
    assert row["middles"] == [[1, 0.2, 0.4, 0.9, 3]]
    assert row["dots"][0] == [1, 0.2, "b s0"]


@pytest.mark.parametrize("step", [False, True])
def test_the_summary_of_the_seeds_is_numpys(step):
    generator = np.random.default_rng(0)
    values = generator.normal(size=(6, 200)).round(1)
    values[generator.random(values.shape) < 0.3] = np.nan
    values = values[:, np.isfinite(values).sum(axis=0) >= 3]
    ways = np.nanpercentile(values, [0, 50, 100], axis=0, method="lower" if step else "linear")
    np.testing.assert_allclose(_summary(values, step), ways, rtol=1e-12, atol=1e-12)
