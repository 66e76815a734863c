"""Training, evaluation and distillation with the physics of MuJoCo Warp on a pretended GPU.

The engine computes on the CPU; torch's views of its arrays claim to be elsewhere, so whatever mixes
them with tensors of the CPU fails as it would on a real GPU.
"""

from contextlib import contextmanager, nullcontext
from dataclasses import asdict, replace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_map

from s2m.cluster.distill import compose_student
from s2m.config.compose import load
from s2m.config.env import EnvCfg
from s2m.config.run import RunCfg
from s2m.config.sim import WarpCfg
from s2m.config.task import SpawnCfg, TaskCfg
from s2m.env.agents import AGENTS
from s2m.env.episodes import run_episodes
from s2m.env.transport import TransportEnv
from s2m.learning.collection import Collection, collect
from s2m.learning.dataset import DataSet, write_steps
from s2m.learning.imitation import Imitator
from s2m.learning.ppo import Learner
from s2m.learning.teacher import Classroom
from s2m.policy.invariance import measure
from s2m.policy.onnx import Exported, check
from s2m.policy.scaling import Scaler
from s2m.policy.sensing import TactileAgent
from s2m.policy.stored import Trained
from s2m.run.checkpoint import load_latest
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.status import FINISHED, STOPPED
from s2m.stages.distill import Distiller
from s2m.stages.execute import execute
from s2m.task.spawn import spawn
from tests.pretend_gpu import NAME, from_gpu, pretended_gpu, to_gpu, waits
from tests.sim.benches import GAP
from tests.taught import STUDENT
from tests.words import latest

SMALL = [
    "sim=warp", f"sim.device={NAME}", "budget=demo", "budget.num_envs=6", "budget.steps=6",
    "encoder.width=8", "encoder.embedding=8", "ppo.epochs=1", "ppo.mini_batches=2",
    "task.episode_steps=12", "curriculum.window=8", "curriculum.min_stage_episodes=8",
    "curriculum.min_steps_per_level=12", "curriculum.check_steps=6",
]  # fmt: skip
HERE = latest(*SMALL, "sim.device=cpu")
THERE = WarpCfg(device=NAME)
SHORT_LESSON = [
    "distill.rounds=2", "distill.epochs=2", "distill.epochs_more=0", "distill.levels=[1,2]",
    "distill.num_envs=4", "distill.bc_steps=24", "distill.dagger_steps=24", "distill.batch=12",
]  # fmt: skip


@contextmanager
def pretended_card():
    import warp as wp

    from s2m.sim import warp as module

    real = module.view
    with (
        pretended_gpu(),
        patch.object(module, "view", lambda array: to_gpu(real(array))),
        patch.object(module, "find_device", lambda name, graph: wp.get_device("cpu")),
        # Both know the names of real devices only.
        patch("torch.amp.autocast", lambda *args, **kwargs: nullcontext()),
        patch("torch.optim.adam._device_dtype_check_for_fused", lambda *args, **kwargs: None),
    ):
        yield torch.device(NAME)


@pytest.fixture
def gpu(kernels):
    with pretended_card() as device:
        yield device


@pytest.fixture(scope="module")
def trained(kernels, tmp_path_factory):
    """The folder of a run on the CPU."""
    config = asdict(load(RunCfg, [*HERE, "budget.iterations=1"]))
    folder = RunFolder.create(tmp_path_factory.mktemp("runs") / "run", config)
    execute(folder, last="train")
    return folder


@pytest.mark.parametrize("counts", [[3, 3, 3, 3], [1, 2, 5, 5]], ids=["one number", "mixed"])
@pytest.mark.parametrize("graph", [False, True], ids=["launches", "graph"])
def test_only_a_reset_waits_for_the_device_and_only_once(gpu, counts, graph):
    from s2m.sim.warp import WarpSimulator

    sim = WarpSimulator(WarpCfg(device=NAME, graph=graph), 4, GAP)
    everyone, counts = torch.arange(4, device=gpu), torch.tensor(counts, device=gpu)
    sim.reset(everyone, spawn(SpawnCfg(), counts, torch.Generator(NAME)))
    targets, speeds = torch.zeros(4, 12, device=gpu), torch.zeros(4, 4, device=gpu)
    waits.clear()
    sim.step(targets, speeds)
    assert sim.unsolved.device == gpu
    state = sim.read()
    assert not waits
    assert from_gpu(state.ball_contact).sum() == from_gpu(counts).sum()
    again = spawn(SpawnCfg(), counts[:2], torch.Generator(NAME))
    waits.clear()
    sim.reset(everyone[:2], again)
    sim.read(everyone[:2])
    assert waits == {"tolist": 1}


def iterate(learner, times):
    for _ in range(times):
        learner.collect()
        losses = learner.update(spent=0.5)
        assert all(torch.isfinite(torch.tensor(value)) for value in losses.values())


def test_ppo_with_a_promotion_a_stop_and_a_resume(gpu):
    """What was stopped goes on to the bits of what was not."""
    cfg = load(RunCfg, SMALL)

    def start():
        torch.manual_seed(0)
        env = TransportEnv(cfg.environment())
        return env, Learner(cfg, env)

    env, learner = start()
    iterate(learner, 3)
    before = env.curriculum.level
    # As a checkpoint gives it back: on the CPU.
    saved = tree_map(
        lambda value: from_gpu(value).clone() if isinstance(value, torch.Tensor) else value,
        {"env": env.state_dict(), "learner": learner.state_dict()},
    )
    iterate(learner, 4)
    assert env.curriculum.level > max(before, 1), "no promotion after the stop"
    learner.audit(samples=2, seed=0)

    other, resumed = start()
    other.load_state_dict(saved["env"])
    resumed.load_state_dict(saved["learner"])
    iterate(resumed, 4)
    assert other.curriculum.level == env.curriculum.level
    for mine, theirs in zip(learner.actor.parameters(), resumed.actor.parameters(), strict=True):
        assert torch.equal(from_gpu(mine.detach()), from_gpu(theirs.detach()))
    for name, value in env.sim.snapshot().items():
        assert torch.equal(from_gpu(value), from_gpu(other.sim.snapshot()[name])), name


@pytest.mark.parametrize("agent", AGENTS)
def test_evaluation_with_mixed_numbers_of_balls(gpu, agent):
    cfg = EnvCfg(task=TaskCfg(episode_steps=5), sim=THERE)
    rows = run_episodes(cfg, AGENTS[agent], [1, 3, 5], episodes=2)
    assert [row["steps"] for row in rows] == [5] * 6


def test_a_trained_policy_is_audited_and_evaluated(trained, gpu):
    policy = Trained(trained.path)
    policy.cfg.sim = THERE
    assert policy.environment().sim is THERE
    with patch("s2m.policy.invariance.STEPS", 3):
        assert measure(policy, 2, samples=2)["symmetry/frame_max"] < 1e-4
    rows = run_episodes(policy.environment(), policy.agent, [1, 2], episodes=1)
    assert len(rows) == 2


def test_a_trained_policy_is_exported(trained, tmp_path, kernels):
    exported = Exported(str(trained.path))
    exported.write(tmp_path / "run.onnx")
    exported.policy.cfg.sim = THERE
    with pretended_card():
        largest, _ = check(exported, tmp_path / "run.onnx", steps=3)
    assert largest < 1e-4


@pytest.mark.parametrize("teacher", ["policy", "lqr"])
def test_a_student_is_taught(trained, gpu, tmp_path, teacher):
    """The teacher drives, then the student does, and what they saw is learned from."""
    name = teacher if teacher == "lqr" else trained.path
    words = ["sim=warp", "task.episode_steps=12"] if teacher == "lqr" else []
    cfg = compose_student(latest(f"teacher={name}", *STUDENT, *words))
    cfg = replace(cfg, sim=THERE)
    classroom = Classroom(cfg)
    imitator = Imitator(cfg.distill, NAME)

    def student(env):
        return TactileAgent(imitator.student, Scaler(cfg.task.command).to(NAME), env)

    files = []
    for number, driver in enumerate([None, student]):
        what = Collection(number, 0, steps=4)
        files.append(tmp_path / what.file)
        write_steps(files[-1], collect(cfg, classroom, driver, what, lambda time: None))
    data = DataSet(files)
    imitator.update(data.assemble(torch.arange(len(data.trajectories)).numpy()), progress=0.0)
    assert imitator.is_finite() and data.steps == 2 * 4 * cfg.distill.num_envs


def test_a_student_goes_through_its_whole_run(gpu, tmp_path):
    """All rounds, with a stop and a resume between them, through what a job executes."""
    words = latest("teacher=lqr", *STUDENT, "sim=warp", "task.episode_steps=6", *SHORT_LESSON)
    config = asdict(replace(compose_student(words), sim=THERE))
    folder = RunFolder.create(tmp_path / "run", config)
    look, state = Distiller._look_up, Distiller.state

    def fetched(value):
        return from_gpu(value) if isinstance(value, torch.Tensor) else value

    def look_up(self):
        if self.round == 1 and self.iteration == 2 and self.lock.attempt.number == 1:
            self.stop.reason = "SIGTERM"
        return look(self)

    with (
        # PyTorch itself fetches tensors of a real card when it saves them.
        patch.object(Distiller, "state", lambda self: tree_map(fetched, state(self))),
        patch.object(Distiller, "_look_up", look_up),
    ):
        assert execute(folder, last="distill") == STOPPED
        assert execute(folder, last="distill") == FINISHED
    rows = Journal(folder).read()
    assert rows["distill/round"].tolist() == [0, 0, 1, 1]
    assert np.isfinite(rows["loss/error"]).all()
    assert rows["round/no_drop_2"].notna().tolist() == [False, True, False, True]
    newest = load_latest(folder)
    assert newest is not None and newest.state["round"] == 2
