import math
from datetime import UTC, datetime

import pytest

from s2m.run.events import Events


def test_events_carry_time_and_attempt(folder):
    before = datetime.now(UTC).replace(microsecond=0)
    Events(folder, attempt=3).append("preempted", iteration=7, signal="SIGTERM")
    (event,) = Events(folder).read()
    assert before <= datetime.fromisoformat(event.pop("time"))
    assert event == {"attempt": 3, "kind": "preempted", "iteration": 7, "signal": "SIGTERM"}


def test_no_file_has_no_events(folder):
    assert Events(folder).read() == []


def levels(events: Events) -> list[tuple[int, int]]:
    return [(e["level"], e["iteration"]) for e in events.read() if e["kind"] == "level"]


def test_a_level_counts_once_and_its_last_change_wins(folder):
    events = Events(folder, 1)
    events.append("level", iteration=10, level=2)
    events.append("level", iteration=20, level=3)
    events.append("level", iteration=12, level=2)
    assert sorted(levels(events)) == [(2, 12), (3, 20)]


def test_a_rewind_takes_back_what_training_did_and_keeps_what_happened(folder):
    events = Events(folder, 1)
    events.append("level", iteration=10, level=2)
    events.append("level", iteration=20, level=3)
    events.append("diverged", iteration=21, loss=math.nan)
    events.append("preempted", iteration=22)
    events.rewind(15)
    assert levels(events) == [(2, 10)]
    assert [event["kind"] for event in events.read()] == ["level", "preempted", "rewind"]
    events.append("level", iteration=19, level=3)
    assert levels(events) == [(2, 10), (3, 19)]


def test_the_rewound_iteration_itself_stays(folder):
    events = Events(folder, 1)
    events.append("level", iteration=15, level=2)
    events.rewind(15)
    assert levels(events) == [(2, 15)]


def test_numbers_that_json_lacks_survive(folder):
    Events(folder, 1).append("diverged", iteration=1, loss=math.inf)
    assert Events(folder).read()[0]["loss"] == math.inf


def test_what_training_did_needs_its_iteration(folder):
    with pytest.raises(ValueError, match="'level' needs its iteration"):
        Events(folder, 1).append("level", level=2)


@pytest.mark.parametrize("name", ["time", "attempt"])
def test_fields_cannot_forge_time_and_attempt(folder, name):
    with pytest.raises(ValueError, match=name):
        Events(folder, 1).append("stopped", **{name: 0})


def test_a_torn_last_line_is_ignored_and_a_bad_one_is_counted(folder, caplog):
    events = Events(folder, 1)
    events.append("stopped")
    with folder.events.open("ab") as file:
        file.write(b'{"kind":"lev')
    assert len(events.read()) == 1
    assert caplog.text == ""
    with folder.events.open("ab") as file:
        file.write(b"\n[]\n")
    events.append("stopped")
    assert len(events.read()) == 2
    assert "skipped 2 unreadable lines" in caplog.text
