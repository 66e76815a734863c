"""The page of `s2m.status --html`: the views of the workspace, without the network."""

import re
from typing import Any

import pytest

from s2m.console.errors import UserError
from s2m.status import main
from s2m.tracking.panels import derived
from tests.analysis import browser
from tests.analysis.synthetic import Spec, write_run

LEVELS = {2: 100, 3: 220, 4: 350, 5: 420}


@pytest.fixture
def page(tmp_path):
    """The page of four runs, one of which has failed."""
    rates = {k: (10 - k, 12 - k) for k in range(1, 6)}
    small: dict[str, Any] = {"iterations": 2000, "episodes": 20}
    folder = write_run(tmp_path / "runs", Spec(levels=LEVELS, rates=rates, **small))
    (folder.path / "demo.mp4").write_bytes(b"film")
    other: dict[str, Any] = {"changes": {"ppo": {"gamma": 0.9}}, "levels": LEVELS}
    write_run(tmp_path / "runs", Spec(rates=rates, **other, **small))
    write_run(tmp_path / "runs", Spec(variant="dshc_off", levels={2: 300}, rates=rates, **small))
    write_run(tmp_path / "runs", Spec(variant="flat_mlp", state="failed", iteration=5, **small))
    assert main([str(tmp_path / "runs"), "--html", str(tmp_path / "page" / "runs.html")]) == 0
    return tmp_path / "page" / "runs.html"


def test_rows_are_named_by_what_differs_and_have_colours_of_their_own(page):
    chips = re.findall(r'data-row="([^"]*)" data-colour="([^"]*)"', page.read_text())
    colours = dict(chips)
    assert list(colours) == [
        "dshc_off γ=0.99", "flat_mlp γ=0.99", "pfds γ=0.9", "pfds γ=0.99",
    ]  # fmt: skip
    assert len(set(colours.values())) == 4
    assert colours["dshc_off γ=0.99"] == "#D55E00"  # as the encoder's class says
    assert "encoders/pfds γ=0.9 s40</button>" in page.read_text()


def test_what_has_no_data_has_no_axes_and_the_film_is_linked(page):
    text = page.read_text()
    assert "<h3>number of balls</h3>" in text and "<h3>value loss</h3>" not in text
    (film,) = re.findall(r'href="([^"]*demo.mp4)"', text)
    assert (page.parent / film).read_bytes() == b"film"
    assert "data-refresh" not in text


@pytest.mark.browser
@pytest.mark.skipif(browser.find() is None, reason="Chromium is not installed")
def test_a_browser_shows_it_without_a_complaint(page, tmp_path):
    with browser.chromium(tmp_path / "profile") as tab:
        tab.open(page, width=1300)
        tab.wait("document.querySelector('.chart[data-drawn]')")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 1300
        assert not tab.complaints()
        assert all(url.startswith(("file:", "data:")) for url in tab.requests())


def test_names_from_outside_cannot_break_the_page(tmp_path):
    folder = write_run(tmp_path / "runs", Spec(state="failed", iteration=5))
    events = folder.events.read_text()
    folder.events.write_text(re.sub(r'"reason":"[^"]*"', '"reason":"<script>x</script>"', events))
    main([str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")])
    assert "<script>x" not in (tmp_path / "page.html").read_text()


def test_of_many_runs_some_are_drawn_and_all_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("s2m.monitor.page.DRAWN", 2)
    for seed in range(5):
        write_run(tmp_path / "runs", Spec(seed=seed, iterations=50, state="running", iteration=9))
    main([str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")])
    text = (tmp_path / "page.html").read_text()
    assert all(f">encoders/pfds s{seed}<" in text for seed in range(5))
    assert [f'"name":"encoders/pfds s{s}"' in text for s in range(5)] == [1, 0, 1, 0, 0]
    assert "2 runs of each row, evenly chosen" in text


def test_a_run_that_never_began_is_on_the_page(tmp_path):
    write_run(tmp_path / "runs", Spec(state="pending"))
    assert main([str(tmp_path / "runs"), "--html", str(tmp_path / "page.html")]) == 0
    assert "encoders/pfds s40" in (tmp_path / "page.html").read_text()


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
