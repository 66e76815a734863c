import pytest

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError


def test_an_environment_is_that_of_its_run():
    cfg = load(RunCfg, ["budget.num_envs=12", "permute=false", "seed=3", "curriculum.start=2"])
    env = cfg.environment()
    assert (env.num_envs, env.permute, env.seed) == (12, False, 3)
    assert env.task is cfg.task and env.sim is cfg.sim and env.curriculum.start == 2


def test_an_iteration_has_a_sample_for_every_mini_batch():
    words = ["budget.num_envs=2", "budget.steps=3"]
    assert load(RunCfg, [*words, "ppo.mini_batches=6"]).ppo.mini_batches == 6
    with pytest.raises(UserError, match="ppo.mini_batches = 7: allowed are at most .* = 6"):
        load(RunCfg, [*words, "ppo.mini_batches=7"])


def test_a_curriculum_does_not_begin_beyond_its_end():
    assert load(RunCfg, ["curriculum.start=3", "curriculum.stop=3"]).curriculum.start == 3
    with pytest.raises(UserError, match="curriculum.start = 4: allowed are at most .*stop = 3"):
        load(RunCfg, ["curriculum.start=4", "curriculum.stop=3"])
