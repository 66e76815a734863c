"""Students as tables need them."""

import pyarrow
import pytest

from analysis.sources.students import read_student
from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.metrics import write_table
from tests.analysis.synthetic import ROUNDS, Spec, write_run, write_student

RATES = {k: (k, 2 * k) for k in range(1, 6)}


@pytest.fixture
def teacher(tmp_path):
    return write_run(tmp_path, Spec(iterations=9))


@pytest.fixture
def student(tmp_path, teacher):
    return write_student(tmp_path, teacher, RATES, episodes=10)


def test_a_student_is_read_with_its_teacher_rounds_and_rates(student, teacher):
    found = read_student(student, "x/student")
    assert (found.teacher, found.taught_by) == (teacher.path.name, teacher.identity.signature)
    assert found.taught_at == f"encoders/{teacher.path.name}"
    assert found.state == "finished" and found.iteration == 10 * len(ROUNDS)
    assert list(found.rounds) == ROUNDS
    assert found.evaluation.reported[2].no_drop == 4


def test_a_student_in_the_middle_has_the_rounds_so_far(tmp_path, teacher):
    found = read_student(write_student(tmp_path, teacher), "x/student")
    assert found.state == "running" and found.evaluation is None
    assert list(found.rounds) == ROUNDS[:1] and found.iteration == 10


def test_rounds_of_the_metrics_count_before_those_of_events(student):
    n = 10 * len(ROUNDS)
    columns = {
        "iteration": range(1, n + 1),
        "distill/round": [0.0] * (n - 1) + [1.0],
        "round/no_drop_5": [None] * (n - 2) + [0.25, 0.75],
    }
    write_table(student.metrics, pyarrow.table(columns))
    assert list(read_student(student, "x").rounds) == [{5: 0.25}, {5: 0.75}]


def test_a_round_that_is_lost_is_told(tmp_path, teacher):
    folder = write_student(tmp_path, teacher)
    Events(folder, 1).append("round", iteration=30, round=2, rates={"round/no_drop_1": 0.5})
    with pytest.raises(UserError, match="the result of one of its rounds is lost"):
        read_student(folder, "x/student")
