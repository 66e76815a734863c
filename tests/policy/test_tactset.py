"""The student: G_frame-invariant by its input, the same step by step as in whole trajectories."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from s2m.config.distill import DistillCfg, StudentCfg
from s2m.config.evaluate import FaultsCfg
from s2m.config.task import TactileCfg
from s2m.env.transport import TransportEnv
from s2m.learning.dataset import Batch
from s2m.learning.imitation import Imitator
from s2m.policy.scaling import Scaler
from s2m.policy.sensing import Plate, TactileAgent
from s2m.policy.tactset import VECTOR, TactSet
from s2m.robot.model import ROBOT
from s2m.task.tactile import contact_map

SMALL = DistillCfg(channels=4, gru=8, embedding=4, hidden=[8])


@settings(max_examples=60)
@given(st.data())
def test_map_and_action_do_not_change_under_any_element_of_g_frame(data):
    """Every frame's slots are permuted by themselves; the balls come and go and may overlap."""
    frames, slots = 4, 5
    number = st.floats(-0.125, 0.125)
    height = st.sampled_from([0.0, 0.003, 0.006])
    rest = ROBOT.plate_height + 0.055
    position = torch.tensor(
        [
            [[data.draw(number), data.draw(number), rest + data.draw(height)] for _ in range(slots)]
            for _ in range(frames)
        ]
    )
    active = torch.tensor(data.draw(st.lists(st.booleans(), min_size=5, max_size=5)))
    active = active.expand(frames, slots)
    orders = [data.draw(st.permutations(range(slots))) for _ in range(frames)]
    element = torch.tensor(orders)
    moved = position.gather(1, element.unsqueeze(-1).expand(-1, -1, 3))
    stack, other = (
        contact_map(p, a, TactileCfg(), ROBOT.plate_height)
        for p, a in ((position, active), (moved, active.gather(1, element)))
    )
    assert torch.equal(stack, other)
    torch.manual_seed(0)
    student = TactSet(SMALL)
    vector, memory = torch.randn(1, VECTOR), torch.randn(1, SMALL.gru)
    acts = [student.step(vector, maps.unsqueeze(0), memory) for maps in (stack, other)]
    assert torch.equal(acts[0][0], acts[1][0]) and torch.equal(acts[0][1], acts[1][1])


def random_batch(lengths):
    total = sum(lengths)
    which = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
    time = torch.cat([torch.arange(n) for n in lengths])
    return Batch(
        torch.randn(total, VECTOR), (torch.rand(total, 4, 16, 16) < 0.2).float(),
        torch.randn(total, 12), time * len(lengths) + which, (max(lengths), len(lengths)),
    )  # fmt: skip


@pytest.mark.parametrize("memory", [True, False])
def test_trajectories_in_a_batch_are_what_single_steps_give(memory):
    """Neither padding nor neighbours reach a trajectory."""
    torch.manual_seed(1)
    student = TactSet(replace(SMALL, memory=memory))
    lengths = [7, 3, 5]
    batch = random_batch(lengths)
    together = student(batch.vector, batch.tactile, batch.place, batch.shape)
    start = 0
    for n in lengths:
        memory = student.memory(1)
        for i in range(start, start + n):
            action, memory = student.step(
                batch.vector[i : i + 1], batch.tactile[i : i + 1] > 0, memory
            )
            torch.testing.assert_close(action[0], together[i], atol=1e-6, rtol=1e-5)
        start += n


@pytest.mark.parametrize("memory", [True, False])
def test_without_memory_four_frames_are_all_that_counts(memory):
    torch.manual_seed(1)
    student = TactSet(replace(SMALL, memory=memory))
    seen = torch.randn(1, VECTOR), torch.rand(1, 4, 16, 16) < 0.2
    fresh, after = student.step(*seen, student.memory(1))
    later, _ = student.step(*seen, torch.randn(1, SMALL.gru))
    assert torch.equal(fresh, later) != memory
    assert bool(after.any()) == memory


def test_the_loss_is_the_mean_square_over_real_steps_only():
    torch.manual_seed(1)
    learner = Imitator(SMALL)
    batch = random_batch([6, 2])
    acts = learner.student(batch.vector, batch.tactile, batch.place, batch.shape)
    expected = (acts - batch.label).square().mean().item()
    learner.update(batch, 0.0)
    assert learner.metrics()["loss/imitation"] == pytest.approx(expected)


def test_the_learning_rate_falls_over_a_round():
    learner = Imitator(replace(SMALL, learning_rate=1e-3, decay=0.1))
    rates = []
    for progress in (0.0, 0.5, 1.0):
        learner.update(random_batch([3]), progress)
        rates.append(learner.metrics()["policy/learning_rate"])
    assert rates == pytest.approx([1e-3, 0.55e-3, 1e-4])


@pytest.fixture
def env():
    cfg = StudentCfg().environment()
    cfg.num_envs, cfg.task.episode_steps = 3, 6
    made = TransportEnv(cfg, balls=torch.tensor([1, 3, 5]))
    yield made
    made.close()


def test_the_memory_begins_anew_with_every_episode(env):
    torch.manual_seed(2)
    agent = TactileAgent(TactSet(SMALL), Scaler(env.cfg.task.command), env)
    for _ in range(env.max_episode_length):
        env.step(agent())
    assert (env.episode_length_buf == 0).all() and agent.memory.abs().sum() > 0
    twin = TactileAgent(agent.student, agent.scaler, env)
    assert torch.equal(agent(), twin())


def test_a_plate_without_faults_reports_what_the_environment_shows(env):
    assert torch.equal(Plate(env, FaultsCfg()).read(), env.tactile)


def test_certain_faults_empty_or_fill_the_map(env):
    assert not Plate(env, FaultsCfg(dropout=1.0)).read().any()
    assert Plate(env, FaultsCfg(false_contacts=1.0)).read().all()


def test_faults_are_as_frequent_as_asked_and_stay_in_their_frame(env):
    plate = Plate(env, FaultsCfg(dropout=0.25))
    read, touched = 0, 0
    before = plate.read()
    for _ in range(5):
        env.step(torch.zeros(3, 12))
        now = plate.read()
        same = env.episode_length_buf > 0
        assert torch.equal(now[same, :-1], before[same, 1:])
        read += int(now[:, -1].sum())
        touched += int(env.tactile[:, -1].sum())
        before = now
    assert 0.6 * touched < read < 0.9 * touched


def test_a_late_map_is_the_one_of_some_steps_ago(env):
    plate = Plate(env, FaultsCfg(delay=2))
    shown = []
    for _ in range(5):
        shown.append(env.tactile[:, -1].clone())
        last = plate.read()[:, -1]
        env.step(torch.full((3, 12), 4.0))
    assert torch.equal(last, shown[2]) and not torch.equal(shown[2], shown[4])
