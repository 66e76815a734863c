"""Shifts: which words of a command are one, and what they change of a run's world."""

import pytest

from s2m.config.compose import load
from s2m.config.env import EnvCfg
from s2m.config.evaluate import EvaluateCfg
from s2m.config.shift import FOLDER, name_of, named_shifts, shift_of, shifted
from s2m.config.sim import DummyCfg, MujocoCfg
from s2m.console.errors import UserError

WORDS = ["task.command.linear_x=0.8", "episodes=3", "sim.ball.rolling=0.0004", "delay.action=2",
         "sim.threads=2"]  # fmt: skip


def test_a_shift_is_named_by_what_changes_the_world():
    shift = shift_of(WORDS)
    assert name_of(shift) == "delay.action=2 sim.ball.rolling=0.0004 task.command.linear_x=0.8"
    assert name_of({}) == "as trained"


def test_only_what_was_given_is_changed_and_only_in_the_copy():
    own = EnvCfg(permute=False, sim=MujocoCfg(timestep=0.005))
    own.task.command.yaw = 0.1
    world = shifted(own, load(EvaluateCfg, WORDS), WORDS)
    assert (world.task.command.linear_x, world.sim.ball.rolling) == (0.8, 0.0004)
    assert (world.task.command.yaw, world.sim.timestep, world.sim.threads) == (0.1, 0.005, 2)
    assert (own.task.command.linear_x, own.sim.ball.rolling) == (0.5, 0.0008)


def test_a_setting_that_the_world_lacks_is_told():
    words = ["sim.ball.rolling=0.1"]
    with pytest.raises(UserError, match="sim.ball.rolling"):
        shifted(EnvCfg(sim=DummyCfg()), load(EvaluateCfg, words), words)


def test_named_shifts_can_be_read_and_shift_something():
    assert {path.stem for path in FOLDER.glob("*.yaml")} == {"common"}
    for line in named_shifts("common"):
        key, values = line.split("=")
        for value in values.split(","):
            word = f"{key}={value}"
            cfg = load(EvaluateCfg, [word])
            assert shift_of([word]) and (
                cfg.delay != EvaluateCfg().delay or shifted(EnvCfg(), cfg, [word]) != EnvCfg()
            )
    with pytest.raises(UserError, match="shifts.*common"):
        named_shifts("comon")
