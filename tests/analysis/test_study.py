"""Which runs are compared, and what is said about the others."""

import pytest

from analysis.frames import Frames, LeftOut
from analysis.rows import PAPER
from analysis.study import Asked, make_study, require_runs
from analysis.tables.headline import mastered
from s2m.console.errors import UserError
from tests.analysis.synthetic import Spec

RATES = {5: (41, 100)}


def reasons(study) -> dict[str, str]:
    return {item.id: item.reason for item in study.left_out}


def seeds(study, variant="pfds") -> list[int]:
    return [run.seed for run in study.cohorts[variant].runs]


def test_runs_that_differ_in_encoder_permutation_and_seed_are_compared(study_of):
    study = study_of(*(Spec(v, s) for v in ("pfds", "pfds_off", "dshc") for s in (40, 41)))
    assert study.left_out == []
    assert len(study.runs) == 6
    assert list(study.cohorts) == ["dshc", "pfds_off", "pfds"]
    every = study_of(asked=Asked(paper=True)).cohorts
    assert list(every) == list(PAPER) and every["flat_mlp"].runs == []


def test_the_budget_with_most_finished_runs_is_shown_and_the_other_named(study_of):
    small = {"budget": "small", "iterations": 100}
    study = study_of(Spec(seed=1), Spec(seed=2), Spec(seed=3, **small))
    assert seeds(study) == [1, 2]
    (said,) = reasons(study).values()
    assert said == "budget.name = small instead of paper, budget.iterations = 100 instead of 30000"


def test_a_budget_can_be_asked_for(study_of):
    small = {"budget": "small", "iterations": 100}
    study = study_of(Spec(seed=1), Spec(seed=2), Spec(seed=3, **small), budget="small")
    assert seeds(study) == [3]
    assert set(reasons(study).values()) == {"--budget small asks for others"}
    with pytest.raises(UserError, match="unknown budget 'smal'. Did you mean 'small'?"):
        study_of(budget="smal")


def test_another_task_is_named_by_its_settings(study_of):
    changes = {"task": {"min_height": 0.1, "max_roll": 45.0, "episode_steps": 100}}
    study = study_of(Spec(seed=1), Spec(seed=2), Spec(seed=3, changes=changes))
    (said,) = reasons(study).values()
    assert said == (
        "task.episode_steps = 100 instead of 500, task.max_roll = 45.0 instead of 90.0, "
        "task.min_height = 0.1 instead of 0.18"
    )
    more = {"ppo": {"gamma": 0.9, "lam": 0.9, "clip": 0.1, "value": 2.0, "entropy": 0.0}}
    study = study_of(Spec(seed=4, changes=more))
    assert any("and 2 more settings" in said for said in reasons(study).values())


def test_other_code_is_mixed_only_when_asked(study_of):
    specs = Spec(seed=1), Spec(seed=2), Spec(seed=3, commit="dead" * 10)
    study = study_of(*specs)
    assert seeds(study) == [1, 2]
    assert list(reasons(study).values()) == ["other code: deaddeadde instead of c0ffee0000"]
    assert seeds(study_of(*specs, mix_code=True)) == [1, 2, 3]
    assert len(study_of(*specs, mix_code=True).commits) == 2


def test_a_run_in_two_experiments_counts_once_and_the_evaluated_one_is_taken(study_of):
    study = study_of(
        Spec(experiment="a", rates=None), Spec(experiment="b", rates=RATES), Spec(experiment="c")
    )
    (run,) = study.runs
    assert run.id.startswith("b/")
    assert {said.split(" b/")[0] for said in reasons(study).values()} == {"the same run as"}


def test_evaluations_with_other_episodes_or_of_another_policy_are_dropped(study_of):
    study = study_of(
        Spec(seed=1, rates=RATES),
        Spec(seed=2, rates=RATES),
        Spec(seed=3, rates={5: (4, 10)}, episodes=10),
        Spec(seed=4, rates=RATES, episode_seed=7),
        Spec(seed=5, rates=RATES, evaluated_at=200),
    )
    assert [run.seed for run in study.cohorts["pfds"].evaluated] == [1, 2]
    assert len(study.cohorts["pfds"].finished) == 5
    said = sorted(reasons(study).values())
    assert said[0].endswith(
        "made with episodes = 10 instead of 100, selection_episodes = 10 instead of 100"
    )
    assert said[1] == "only its evaluation, made with iteration 200 instead of 30000"
    assert said[2] == "only its evaluation, made with seed = 7 instead of 1000"


def test_success_at_k_and_words_for_missing_cells(study_of):
    rates = {1: (90, 100), 2: (10, 60), 3: (0, 49), 4: (0, 50), 5: (0, 49)}
    study = study_of(
        Spec(seed=1, rates=rates), Spec(seed=2, state="running"), Spec(seed=3, state="pending"),
        asked=Asked(paper=True),
    )  # fmt: skip
    cohort = study.cohorts["pfds"]
    assert cohort.mastered(5) == [4]
    assert cohort.progress == "1/3, 1 running, 1 pending"
    assert study.cohorts["dshc"].missing == "pending"
    assert study.cohorts["dshc"].progress == "0/0"


def test_success_at_k_needs_every_level_up_to_the_top(study_of):
    cohort = study_of(Spec(rates={5: (0, 20)})).cohorts["pfds"]
    assert cohort.mastered(5) == []
    assert mastered(cohort, 5).text == "not evaluated"


def test_nothing_to_show_is_one_line():
    study = make_study(Frames([], [LeftOut("a/b", "schema version 9")]))
    with pytest.raises(UserError, match="runs has no run that can be read; a/b: schema version 9"):
        require_runs(study, "runs")
    # A sweep without -m is refused.
    with pytest.raises(UserError, match="s2m.launch -m [+]sweep=demo$"):
        require_runs(study, "runs")
