"""What a person sees while a run trains."""

import io
from dataclasses import asdict

import pytest
from rich.console import Console

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.terminal import in_place
from s2m.console.text import duration
from s2m.run.criteria import read
from s2m.run.folder import RunFolder
from s2m.stages.execute import execute
from s2m.stages.progress import Progress, to_threshold
from tests.words import latest

TINY = ["sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=4"]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "unknown"), (0, "0 s"), (59.6, "1 min 00 s"), (61, "1 min 01 s"),
     (3725, "1 h 02 min")],
)  # fmt: skip
def test_durations_are_written_for_people(seconds, text):
    assert duration(seconds) == text


def test_time_to_a_threshold_follows_the_trend():
    rising = [0.1 * i for i in range(10)]
    assert to_threshold(rising, 1.2, rising=True) == pytest.approx(3.0)
    assert to_threshold(rising, 0.5, rising=True) == 0.0
    assert to_threshold(rising, 0.5, rising=False) is None
    assert to_threshold([0.5] * 10, 0.9, rising=True) is None
    assert to_threshold([0.5, 0.6], 0.9, rising=True) is None


def run(tmp_path, live):
    cfg = load(RunCfg, TINY)
    folder = RunFolder.create(tmp_path / "run", asdict(cfg))
    out = io.StringIO()
    console = Console(file=out, width=120, force_terminal=live)
    execute(folder, Progress(console, live=live), last="train")
    return out.getvalue()


def test_plain_lines_without_a_terminal(tmp_path):
    text = run(tmp_path, live=False)
    assert "\x1b" not in text
    assert text.startswith("run: 4 iterations (G_frame, encoder 3,120 of the actor's ")
    assert "level 1, iteration 4/4" in text and "samples/s" in text and "ETA 0 s" in text
    assert "not yet: length_ratio, margin, dangerous, edge, linear_error, yaw_error" in text
    assert "finished 4 iterations" in text


def test_the_panel_shows_criteria_thresholds_and_terms(tmp_path):
    text = run(tmp_path, live=True)
    for expected in ("length_ratio", ">= 0.1", "reward term", "spacing_tail", "iteration 4/4"):
        assert expected in text, expected


class Terminal(io.StringIO):
    """Pretends to be one."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("out", "term", "expected"),
    [(Terminal, "xterm", True), (Terminal, "dumb", False), (io.StringIO, "xterm", False)],
)
def test_a_panel_is_drawn_only_where_it_can_be_redrawn(monkeypatch, out, term, expected):
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert in_place(Console(file=out())) is expected


def test_forced_colours_bring_no_escapes_into_a_log(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    folder = RunFolder.create(tmp_path / "run", asdict(load(RunCfg, TINY)))
    execute(folder, Progress.automatic())
    out = capsys.readouterr().out
    assert "level 1, iteration 4/4" in out and "evaluating run" in out and "\x1b" not in out


def test_words_from_elsewhere_are_no_markup(capsys):
    Progress.automatic().say("W&B: no answer from [/graphql]")
    assert capsys.readouterr().out == "W&B: no answer from [/graphql]\n"


def follow(tmp_path, out, live=False, kept=False, iterations=4):
    """Return a display that has begun to follow a run, and the run's folder."""
    cfg = load(RunCfg, latest(*TINY, f"budget.iterations={iterations}"))
    folder = RunFolder.create(tmp_path / "run", asdict(cfg))
    console = Console(file=out, width=120, force_terminal=live)
    progress = Progress(console, live=live, kept=folder if kept else None)
    progress.begin(folder, cfg, 0)
    return progress, folder


def measured(level=1, **criteria):
    row = {"curriculum/level": float(level), "reward/mean": 0.0}
    return row | {f"criteria/{name}": value for name, value in criteria.items()}


def test_time_to_the_next_level_is_that_of_the_slowest_criterion(tmp_path):
    progress, _ = follow(tmp_path, io.StringIO(), iterations=20)
    progress.cfg.curriculum.length_ratio = 1.0
    progress.cfg.curriculum.edge = [0.3] * 4
    met = {"margin": 1.0, "dangerous": 0.0, "linear_error": 0.0, "yaw_error": 0.0}
    for i in range(10):
        row = measured(1, length_ratio=0.1 * i, edge=0.5 - 0.01 * i, **met)
        progress.iteration(i + 1, row)
    readings = read(progress.cfg.curriculum, 1, row)
    # length: 1 iteration, edge: (0.41 - 0.3) / 0.01 = 11 iterations of 2 s
    assert progress._next_level(readings, 2.0) == "level 2 in about 22 s"
    progress.level = 5
    assert progress._next_level(readings, 2.0) == "last level"


def test_a_forecast_that_cannot_be_made_is_left_out(tmp_path):
    progress, _ = follow(tmp_path, io.StringIO())
    progress.iteration(1, measured(length_ratio=0.1))
    assert progress._next_level(read(progress.cfg.curriculum, 1, measured()), 2.0) == ""


def test_a_run_in_the_foreground_keeps_its_lines_in_its_log(tmp_path):
    progress, folder = follow(tmp_path, io.StringIO(), live=True, kept=True)
    progress.iteration(4, measured(margin=0.9, edge=1.5))
    progress.event("stopped\x1b[2J")
    progress.end()
    begun, line, event = folder.log.read_text().splitlines()
    assert begun.startswith("run: 4 iterations")
    assert "met: margin 0.900; missed: edge 1.500 (needs <= " in line
    assert event == "run: stopped\\x1b[2J"
