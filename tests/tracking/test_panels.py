"""The views people look at, and what a row implies for them."""

from dataclasses import asdict, fields

import pytest

from s2m.config.curriculum import CRITERIA, CurriculumCfg
from s2m.config.run import RunCfg
from s2m.task.rewards import OF_BALLS, TERMS
from s2m.tracking.panels import SAMPLES, derived, sections, thresholds


def test_every_criterion_and_every_reward_term_has_a_view():
    shown = [name for views in sections().values() for view in views for name in view.metrics]
    assert {f"criteria/{name}" for name in CRITERIA} <= set(shown)
    terms = {name for name in shown if name.startswith("reward/")}
    assert terms == {"reward/mean", *(f"reward/{name}" for name in OF_BALLS | TERMS)}
    assert len(shown) == len(set(shown))


@pytest.mark.parametrize(("level", "place"), [(1, 0), (4, 3), (5, 3)])
def test_a_level_has_its_thresholds_and_the_last_those_before_it(level, place):
    cfg = CurriculumCfg()
    found = thresholds(asdict(cfg), level)
    assert list(found) == [f"threshold/{name}" for name in CRITERIA]
    assert found["threshold/margin"] == cfg.margin[place]
    assert found["threshold/length_ratio"] == cfg.length_ratio


def test_a_threshold_that_an_older_run_does_not_name_is_the_default():
    config = asdict(CurriculumCfg(edge=[0.5] * 4))
    for item in fields(CurriculumCfg):
        if item.name != "edge":
            del config[item.name]
    assert thresholds(config, 2)["threshold/edge"] == 0.5
    assert thresholds(config, 2)["threshold/margin"] == CurriculumCfg().margin[1]


def test_a_row_implies_thresholds_and_samples_per_second():
    config = asdict(RunCfg())
    config["budget"] |= {"num_envs": 100, "steps": 30}
    found = derived(config, {"curriculum/level": 2.0, "time/iteration": 1.5})
    assert found[SAMPLES] == 2000 and found["threshold/margin"] == config["curriculum"]["margin"][1]


@pytest.mark.parametrize("row", [{}, {"loss/value": 1.0}, {"time/iteration": 0.0}])
def test_a_row_without_level_and_time_implies_nothing(row):
    assert derived(asdict(RunCfg()), row) == {}
    assert derived({"distill": {}}, {"time/iteration": 2.0, "curriculum/level": 1.0}) == {}
