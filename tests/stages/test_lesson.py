"""What a person sees while a student is taught, at a clock that the test moves."""

import io

import pytest
from rich.console import Console

from s2m.stages import lesson as module
from s2m.stages.lesson import Lesson
from s2m.stages.progress import LINE_SECONDS, Progress


class Clock:
    now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def out():
    return io.StringIO()


@pytest.fixture
def lesson(clock, out):
    return Lesson(Progress(Console(file=out, width=40), live=False), "student", total=10)


def test_the_beginning_tells_where_it_goes_on(lesson, out):
    lesson.begin(0, "tiny")
    lesson.begin(4, "tiny")
    assert out.getvalue().splitlines() == [
        "student: 10 epochs (tiny)",
        "student: 10 epochs, resumed at epoch 4 (tiny)",
    ]


def test_lines_are_some_time_apart(lesson, clock, out):
    lesson.begin(0, "tiny")
    for _ in range(4):
        clock.now += LINE_SECONDS / 2
        lesson.show("learning")
    assert out.getvalue().count("epoch 0/10 learning\n") == 2


def test_the_end_is_foretold_by_the_epochs_of_this_attempt(lesson, clock, out):
    lesson.begin(4, "tiny")
    lesson.epoch = 6
    clock.now += 60.0  # 2.5 epochs since it began, 3.5 are left
    lesson.show("learning", part=0.5)
    assert out.getvalue().endswith("student: epoch 6/10 learning, ETA 1 min 24 s\n")


def test_before_the_first_epoch_has_ended_nothing_is_foretold(lesson, clock, out):
    lesson.begin(4, "tiny")
    clock.now += 60.0
    lesson.show("learning", part=0.9)
    assert out.getvalue().endswith("epoch 4/10 learning\n")


def test_a_bar_stands_on_a_terminal_only_while_it_lasts(clock, out):
    console = Console(file=out, width=80, force_terminal=True)
    lesson = Lesson(Progress(console, live=True), "student", total=10)
    lesson.begin(0, "tiny")
    lesson.epoch = 5
    clock.now += 50.0
    lesson.show("[b]learning")
    assert lesson.bar.tasks[0].completed == 5
    assert lesson.bar.tasks[0].description == "student [b]learning, ETA 50 s"
    lesson.end()
    assert not lesson.bar.live.is_started


def test_who_is_silent_says_nothing(clock, capsys):
    lesson = Lesson(Progress.silent(), "student", total=10)
    lesson.begin(0, "tiny")
    clock.now += 60.0
    lesson.show("learning")
    lesson.end()
    assert capsys.readouterr() == ("", "")
