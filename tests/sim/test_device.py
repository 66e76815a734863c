"""Everything that trains and evaluates keeps its tensors on the simulator's device.

There is no GPU here; a pretended one refuses whatever a real one would refuse for being elsewhere.
"""

from contextlib import nullcontext
from dataclasses import asdict, replace
from unittest.mock import patch

import pytest
import torch
from torch.utils._pytree import tree_map

from s2m.config.compose import load
from s2m.config.env import EnvCfg
from s2m.config.run import RunCfg
from s2m.config.sim import IsaacLabCfg
from s2m.config.task import SpawnCfg, TaskCfg
from s2m.env.agents import AGENTS
from s2m.env.episodes import run_episodes
from s2m.env.transport import TransportEnv
from s2m.learning.ppo import Learner
from s2m.policy.onnx import Exported, check
from s2m.policy.stored import Trained
from s2m.run.folder import RunFolder
from s2m.sim.isaaclab import IsaacLabSimulator
from s2m.stages.execute import execute
from s2m.task.spawn import spawn
from tests.pretend_gpu import NAME, from_gpu, pretended_gpu, waits

SMALL = [
    "sim=isaaclab", f"sim.device={NAME}", "budget=demo", "budget.num_envs=6", "budget.steps=6",
    "encoder.width=8", "encoder.embedding=8", "ppo.epochs=1", "ppo.mini_batches=2",
    "task.episode_steps=12", "curriculum.window=8", "curriculum.min_stage_episodes=8",
    "curriculum.min_steps_per_level=12", "curriculum.check_steps=6",
]  # fmt: skip


@pytest.fixture
def gpu(kit):
    with pretended_gpu():
        yield torch.device(NAME)
    kit.device = "cpu"
    __import__("isaaclab.sim").sim.SimulationContext.clear_instance()


def numbers(env):
    """What is observed, as numbers that stay when the environment goes on."""
    return {name: from_gpu(value).clone() for name, value in env.get_observations().items()}


def test_the_pretended_gpu_refuses_what_a_real_one_refuses(gpu):
    """Otherwise the tests below would show nothing."""
    there, here = torch.ones(3, device=gpu), torch.ones(3)
    for mixed in (
        lambda: there + here,
        lambda: torch.cat([there, here]),
        lambda: here[there.long()],
        lambda: torch.where(there > 0, there, here),
        lambda: torch.rand(3, device=gpu, generator=torch.Generator()),
        lambda: there.numpy(),
    ):
        with pytest.raises((RuntimeError, TypeError)):
            mixed()
    assert (there + there.to(gpu)).device == gpu and (there[[0, 2]] * 2).tolist() == [2, 2]


def test_no_state_leaves_the_device(gpu):
    """A step waits for the device once, Isaac Lab's sensor once per physics step, a reset once."""
    cfg = IsaacLabCfg(device=NAME)
    sim = IsaacLabSimulator(cfg, 4)
    everyone = torch.arange(4, device=gpu)
    counts = torch.tensor([1, 2, 5, 5], device=gpu)
    begin = spawn(SpawnCfg(), counts, torch.Generator(NAME))
    sim.reset(everyone, begin)
    targets, speeds = torch.zeros(4, 12, device=gpu), torch.zeros(4, 4, device=gpu)
    waits.clear()
    sim.read()
    assert not waits
    sim.step(targets, speeds)
    assert waits == {"nonzero": cfg.decimation + 1}
    again = spawn(SpawnCfg(), counts[:2], torch.Generator(NAME))
    waits.clear()
    sim.reset(everyone[:2], again)
    assert waits == {"equal": 1}


def test_ppo_and_its_state_on_the_device(gpu):
    cfg = load(RunCfg, SMALL)
    env = TransportEnv(cfg.environment())
    learner = Learner(cfg, env)
    learner.collect()
    # Both know the names of real devices only.
    with (
        patch("torch.amp.autocast", lambda *args, **kwargs: nullcontext()),
        patch("torch.optim.adam._device_dtype_check_for_fused", lambda *args, **kwargs: None),
    ):
        losses = learner.update(spent=0.5)
    assert all(torch.isfinite(torch.tensor(value)) for value in losses.values())
    learner.audit(samples=2, seed=0)
    # As a checkpoint gives it back: on the CPU.
    saved = tree_map(
        lambda value: from_gpu(value).clone() if isinstance(value, torch.Tensor) else value,
        {"env": env.state_dict(), "learner": learner.state_dict()},
    )
    before = numbers(env)
    env.step(torch.ones(6, 12, device=gpu))
    env.load_state_dict(saved["env"])
    learner.load_state_dict(saved["learner"])
    for name, value in numbers(env).items():
        assert torch.equal(value, before[name]), name
    learner.collect()


@pytest.mark.parametrize("agent", AGENTS)
def test_evaluation_on_the_device(gpu, agent):
    cfg = EnvCfg(task=TaskCfg(episode_steps=5), sim=IsaacLabCfg(device=NAME))
    rows = run_episodes(cfg, AGENTS[agent], [1, 3], episodes=2)
    assert [row["steps"] for row in rows] == [5] * 4


def test_a_trained_policy_acts_where_the_simulator_is(kit, tmp_path):
    on_cpu = [word.replace(NAME, "cpu") for word in SMALL]
    cfg = load(RunCfg, [*on_cpu, "budget.iterations=1"])
    folder = RunFolder.create(tmp_path / "run", asdict(cfg))
    execute(folder, last="train")
    trained = Trained(folder.path)
    assert trained.actor is not None
    with pretended_gpu():
        env = TransportEnv(replace(cfg.environment(), sim=IsaacLabCfg(device=NAME)))
        assert trained.agent(env)().device == torch.device(NAME)
        env.close()
    kit.device = "cpu"


def test_a_run_of_the_device_is_exported(kit, tmp_path):
    cfg = load(RunCfg, [*SMALL, "sim.device=cpu", "budget.iterations=1"])
    folder = RunFolder.create(tmp_path / "run", asdict(cfg))
    execute(folder, last="train")
    exported = Exported(str(folder.path))
    exported.write(tmp_path / "run.onnx")
    cfg.sim.device = NAME
    assert isinstance(exported.policy, Trained)
    exported.policy.cfg = cfg
    with pretended_gpu():
        largest, _ = check(exported, tmp_path / "run.onnx", steps=3)
    assert largest < 1e-4
    kit.device = "cpu"


def test_a_generator_of_the_cpu_is_never_taken_for_one_of_the_gpu():
    """Their addresses tell them apart, and a freed one could be given again."""
    with pretended_gpu():
        for _ in range(50):
            torch.Generator(NAME)
            torch.rand(1, generator=torch.Generator().manual_seed(0))
