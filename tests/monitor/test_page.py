"""The page of `s2m.status --html`: the views of the workspace, without the network."""

import math
import re
from typing import Any

import pytest

from s2m.config.curriculum import CRITERIA
from s2m.console.errors import UserError
from s2m.monitor.charts import Bar, Trace, bar_chart, line_chart
from s2m.status import main
from s2m.tracking.panels import derived, sections
from tests.analysis import browser
from tests.analysis.synthetic import Spec, write_run

LEVELS = {2: 100, 3: 220, 4: 350, 5: 420}


@pytest.fixture
def page(tmp_path):
    """The page of three runs, one of which has failed."""
    rates = {k: (10 - k, 12 - k) for k in range(1, 6)}
    small: dict[str, Any] = {"iterations": 2000, "episodes": 20}
    write_run(tmp_path / "runs", Spec(levels=LEVELS, rates=rates, **small))
    write_run(tmp_path / "runs", Spec(variant="dshc_off", levels={2: 300}, rates=rates, **small))
    write_run(tmp_path / "runs", Spec(variant="flat_mlp", state="failed", iteration=5, **small))
    assert main([str(tmp_path / "runs"), "--html", str(tmp_path / "page" / "runs.html")]) == 0
    return tmp_path / "page" / "runs.html"


def test_every_view_has_its_panel(page):
    text = page.read_text()
    titles = [view.title for views in sections().values() for view in views]
    assert text.count("<h3>") == len(titles)
    for name in ("pfds-s40-", "dshc_off-s40-", "flat_mlp-s40-"):
        assert name in text
    assert text.count('class="limit"') >= len(CRITERIA)  # thresholds beside the criteria
    assert "http://" not in text and "https://" not in text and "<script" not in text
    assert 'http-equiv="refresh"' not in text


@pytest.mark.browser
@pytest.mark.skipif(browser.find() is None, reason="Chromium is not installed")
def test_a_browser_shows_it_without_a_complaint(page, tmp_path):
    with browser.chromium(tmp_path / "profile") as tab:
        tab.open(page, width=1300)
        assert tab.evaluate("document.querySelectorAll('svg polyline').length") > 10
        assert tab.evaluate("document.documentElement.scrollWidth") <= 1300
        assert not tab.complaints()
        assert all(url.startswith(("file:", "data:")) for url in tab.requests())


def test_names_from_outside_cannot_break_the_page(tmp_path):
    folder = write_run(tmp_path / "runs", Spec(state="failed", iteration=5))
    events = folder.events.read_text()
    folder.events.write_text(re.sub(r'"reason":"[^"]*"', '"reason":"<script>x</script>"', events))
    main([str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")])
    assert "<script" not in (tmp_path / "page.html").read_text()


def test_of_many_runs_some_are_drawn_and_all_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("s2m.monitor.page.DRAWN", 2)
    for seed in range(5):
        write_run(tmp_path / "runs", Spec(seed=seed, iterations=50, state="running", iteration=9))
    main([str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")])
    text = (tmp_path / "page.html").read_text()
    assert all(f">encoders/pfds-s{seed}-" in text for seed in range(5))
    assert [f"<title>encoders/pfds-s{s}-" in text for s in range(5)] == [1, 0, 1, 0, 0]
    assert "2 runs of each variant, evenly chosen" in text


def test_a_run_that_never_began_is_on_the_page(tmp_path):
    write_run(tmp_path / "runs", Spec(state="pending"))
    assert main([str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")]) == 0
    assert "pfds-s40-" in (tmp_path / "page.html").read_text()


def test_an_empty_folder_gives_a_page_and_a_bad_place_one_line(tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "file").touch()
    assert main([str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")]) == 0
    assert "none yet" in (tmp_path / "page.html").read_text()
    with pytest.raises(UserError, match="cannot write .*/file/page.html"):
        main([str(tmp_path / "runs"), "--html", str(tmp_path / "file" / "page.html")])
    for place in ("", str(tmp_path)):
        with pytest.raises(UserError, match="is a folder: allowed is a file"):
            main([str(tmp_path / "runs"), "--html", place])


def test_thresholds_follow_the_level_and_throughput_the_time():
    curriculum = {"margin": [0.3, 0.25, 0.2, 0.15], "length_ratio": 0.85}
    config = {"curriculum": curriculum, "budget": {"num_envs": 256, "steps": 24}}
    at = [derived(config, {"curriculum/level": level}) for level in (1.0, 4.0, 5.0)]
    assert [row["threshold/margin"] for row in at] == [0.3, 0.15, 0.15]
    assert at[0]["threshold/length_ratio"] == 0.85
    row = derived(config, {"time/iteration": 2.0})
    assert row == {"throughput/samples_per_s": 3072.0}


def test_charts_survive_values_that_cannot_be_drawn():
    nothing = [Trace("a", "#000", [(1, math.nan)]), Trace("b", "#000", [(1, -1.0), (2, 0.0)])]
    assert "no data yet" in line_chart(nothing[:1])
    assert "no data yet" in line_chart(nothing, log=True)
    assert "polyline" in line_chart([Trace("a", "#000", [(0, 3.0), (5, 3.0)])])  # a flat curve
    assert "no data yet" in bar_chart([])
    assert bar_chart([Bar("a", "#000", "k1", 0.0)]).count("<rect") == 1
    same = Trace("limit", "", [(0, 1.0), (5, 2.0)], dashed=True)
    assert line_chart([same, same]).count("<polyline") == 1
