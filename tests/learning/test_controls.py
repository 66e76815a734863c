"""Controls: runs that act without learning, judged like every other."""

from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from s2m import audit, export
from s2m.cluster.distill import compose_student
from s2m.config.compose import load
from s2m.config.env import EnvCfg
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.env.transport import TransportEnv
from s2m.policy.stored import Trained
from s2m.run import checkpoint
from s2m.run.journal import Journal
from s2m.run.status import FINISHED, STOPPED
from s2m.stages.execute import execute
from tests.faults.runs import course
from tests.stages.test_train import create

CONTROLS = ("untrained", "zero", "lqr", "lqr_mean")


def networks(folder):
    found = checkpoint.load_latest(folder)
    assert found is not None
    return found.state["learner"]["actor_state_dict"]


@pytest.mark.parametrize("agent", CONTROLS)
def test_a_control_spends_its_budget_is_evaluated_and_learns_nothing(tmp_path, agent):
    folder = create(tmp_path / "run", f"agent={agent}", "evaluate.episodes=2")
    assert folder.identity.variant == agent
    assert execute(folder) == FINISHED
    metrics = Journal(folder).read()
    assert len(metrics) == metrics["curriculum/level"].count() == 12
    assert not [name for name in metrics if name.startswith("loss/")]
    assert len(pq.read_table(folder.path / "episodes.parquet")) == 10
    first = create(tmp_path / "first", f"agent={agent}", "budget.iterations=1")
    execute(first, last="train")
    for name, weight in networks(first).items():
        assert torch.equal(weight, networks(folder)[name])


@pytest.mark.parametrize("agent", CONTROLS)
def test_a_stopped_control_goes_on_as_if_it_had_not_been(tmp_path, agent):
    words = [f"agent={agent}", "sim=mujoco", "budget.iterations=4", "task.episode_steps=500"]
    whole, parts = create(tmp_path / "whole", *words), create(tmp_path / "parts", *words)
    assert execute(whole, last="train") == FINISHED

    moments = iter(range(4))

    def stop_in_the_middle():
        if next(moments) == 2:
            parts.stop.touch()

    onlooker: Any = SimpleNamespace(start=lambda attempt: None, check=stop_in_the_middle)
    assert execute(parts, last="train", mirror=onlooker) == STOPPED
    assert execute(parts, last="train") == FINISHED
    assert course(whole) == course(parts)


def test_an_untrained_policy_explores_also_when_it_is_judged(tmp_path):
    folder = create(tmp_path / "run", "agent=untrained", "budget.iterations=1")
    execute(folder, last="train")
    env = TransportEnv(EnvCfg(num_envs=512, sim=load(RunCfg, ["sim=dummy"]).sim))
    actions = Trained(folder.path).agent(env)()
    assert actions.std().item() == pytest.approx(0.6, rel=0.05)


def test_a_control_is_no_teacher_and_has_no_network_to_look_at(tmp_path):
    folder = create(tmp_path / "run", "agent=lqr", "budget.iterations=1")
    execute(folder, last="train")
    with pytest.raises(UserError, match="has learned nothing"):
        compose_student([f"teacher={folder.path}"])
    for command in (audit.main, export.main):
        with pytest.raises(UserError, match="is a control, lqr: it has no network"):
            command([str(folder.path)])


def test_an_unknown_agent_is_named():
    with pytest.raises(UserError, match="unknown agent .sero.. Did you mean .zero."):
        load(RunCfg, ["agent=sero"])
