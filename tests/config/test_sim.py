from importlib import import_module

import pytest

from s2m.config import sim
from s2m.config.sim import SIMULATORS, DummyCfg, IsaacLabCfg, MujocoCfg, SimCfg


@pytest.mark.parametrize("name", SIMULATORS)
def test_a_simulator_is_found_by_the_name_its_settings_bear(name):
    cfg = SIMULATORS[name]()
    module, _, _ = cfg.implementation.partition(":")
    assert cfg.name == name == module.rpartition(".")[2]


@pytest.mark.parametrize("name", ["mujoco", "dummy"])
def test_the_named_class_is_there(name):
    module, _, found = SIMULATORS[name].implementation.partition(":")
    assert isinstance(getattr(import_module(module), found), type)


def test_settings_of_another_simulator_register_themselves(monkeypatch):
    monkeypatch.setattr(sim, "SIMULATORS", known := dict(SIMULATORS))

    class OtherCfg(SimCfg):
        implementation = "elsewhere.other:Other"

    assert known["other"] is OtherCfg and "other" not in SIMULATORS


def test_all_simulators_are_controlled_at_50_hz():
    for cfg in (MujocoCfg(), IsaacLabCfg(), DummyCfg()):
        assert cfg.dt == pytest.approx(0.02)
    assert MujocoCfg(timestep=0.005, decimation=3).dt == pytest.approx(0.015)
