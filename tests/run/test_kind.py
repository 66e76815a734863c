"""Teachers, controls and students, told apart by their configs or their names."""

from dataclasses import asdict

import pytest

from s2m.config.distill import StudentCfg
from s2m.config.run import ACTING, LEARNER, RunCfg
from s2m.console.errors import UserError
from s2m.run.identity import variant
from s2m.run.kind import (
    CONTROL,
    STUDENT,
    TACTSET,
    TEACHER,
    kind_of,
    kind_of_variant,
    total_iterations,
)

CONFIGS = [
    (asdict(RunCfg()), TEACHER),
    *((asdict(RunCfg(agent=agent)), CONTROL) for agent in ACTING if agent != LEARNER),
    (asdict(StudentCfg()), STUDENT),
]


@pytest.mark.parametrize(("config", "kind"), CONFIGS)
def test_a_config_and_the_name_made_from_it_are_of_one_kind(config, kind):
    assert kind_of(config) is kind
    assert kind_of_variant(variant(config)) is kind
    assert kind.budget in config


@pytest.mark.parametrize("name", [*ACTING, TACTSET])
def test_no_encoder_bears_the_name_of_another_kind(name):
    config = asdict(RunCfg())
    config["encoder"]["name"] = name
    with pytest.raises(UserError, match=f"^encoder name '{name}': belongs to a control or student"):
        variant(config)


def test_a_config_from_before_there_were_controls_is_that_of_a_teacher():
    config = asdict(RunCfg())
    assert config.pop("agent") == LEARNER
    assert kind_of(config) is TEACHER


def test_the_budget_of_a_student_is_its_epochs_in_all_rounds():
    config = asdict(StudentCfg())
    config["distill"] |= {"rounds": 3, "epochs": 4, "epochs_more": 10}
    assert total_iterations(config) == 4 + 14 + 24
    assert total_iterations({"budget": {"iterations": 7}}) == 7


@pytest.mark.parametrize("iterations", ["9" * 99, 10**30, 1.5, None, True])
def test_a_budget_that_is_no_count_is_refused(iterations):
    with pytest.raises(UserError, match=r"^the config asks for .{1,40} iterations$"):
        total_iterations({"budget": {"iterations": iterations}})


@pytest.mark.parametrize("name", ["rounds", "epochs"])
def test_words_for_numbers_are_refused_before_they_are_multiplied(name):
    config = asdict(StudentCfg())
    config["distill"][name] = "many"
    with pytest.raises(UserError, match="many"):
        total_iterations(config)
