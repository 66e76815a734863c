"""Values of run folders that somebody else may have written."""

from copy import deepcopy
from dataclasses import asdict

import pytest

from analysis.sources.values import (
    LONGEST,
    check_config,
    complaint,
    count,
    is_level,
    parameters,
    words,
)
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.console.errors import UserError

TEACHER, STUDENT = asdict(RunCfg()), asdict(StudentCfg())


def test_words_are_one_harmless_line():
    assert words("a\nb\x1b[0m") == "a b\\x1b[0m"
    assert len(words("x" * 9999)) == LONGEST


@pytest.mark.parametrize("value", ["3", 3.0, True, None, 10**30, [3]])
def test_a_count_is_a_whole_number_and_nothing_like_it(value):
    with pytest.raises(UserError, match="instead of a whole number"):
        count(value)
    assert count(3) == 3


def test_parameters_may_be_unknown_but_not_wrong():
    assert parameters(None, "n") is parameters({}, "n") is None
    assert parameters({"n": 5}, "n") == 5
    with pytest.raises(UserError):
        parameters({"n": "many"}, "n")


@pytest.mark.parametrize(
    ("value", "fits"),
    [(1, True), (5, True), (0, False), (6, False), (2.0, False), (True, False), ("2", False)],
)
def test_a_level_is_a_number_of_balls(value, fits):
    assert is_level(value) is fits


def test_what_every_config_of_ours_has_is_enough():
    check_config(TEACHER)
    check_config(STUDENT, student=True)


@pytest.mark.parametrize(
    ("config", "group", "name", "value"),
    [
        (TEACHER, "budget", "iterations", "many"),
        (TEACHER, "budget", "name", "a\nb"),
        (TEACHER, "curriculum", "start", 6),
        (TEACHER, "curriculum", "length_ratio", float("nan")),
        (TEACHER, "curriculum", "margin", [0.1] * 3),
        (TEACHER, "curriculum", "margin", [0.1, 0.1, 0.1, "x"]),
        (STUDENT, "distill", "rounds", 10**6),
        (STUDENT, "distill", "levels", [1, 9]),
        (STUDENT, "taught_by", "signature", 7),
    ],
)
def test_a_setting_that_tables_could_not_use_is_told(config, group, name, value):
    student = config is STUDENT
    config = deepcopy(config)
    config[group][name] = value
    with pytest.raises(UserError, match=f"^its config has {group}.{name} = "):
        check_config(config, student)
    del config[group][name]
    with pytest.raises(UserError, match=f"^its config has no {group}.{name}: it is not a run of"):
        check_config(config, student)
    config[group] = "elsewhere"
    with pytest.raises(UserError, match=f"^its config has no {group}\\."):
        check_config(config, student)


def test_what_is_wrong_is_told_in_words():
    assert complaint(UserError("run.json is damaged")) == "run.json is damaged"
    assert complaint(KeyError("seed")) == "damaged: KeyError('seed')"
