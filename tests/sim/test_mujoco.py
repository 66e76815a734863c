"""Physics, determinism and the guard of the MuJoCo simulator."""

import numpy as np
import pytest
import torch

from s2m.config.sim import MujocoCfg
from s2m.config.task import SpawnCfg
from s2m.robot.model import BALL_RADIUS, ROBOT
from s2m.sim.mujoco import ROBOT_NV, MujocoSimulator
from s2m.sim.quaternion import conjugate, rotate
from s2m.task.spawn import spawn

GAP = 0.0025


def make(counts, threads=1, dump=None, seed=0, **changes):
    counts = torch.tensor(counts)
    sim = MujocoSimulator(MujocoCfg(threads=threads, **changes), len(counts), GAP, dump)
    beginnings = spawn(SpawnCfg(), counts, torch.Generator().manual_seed(seed))
    sim.reset(torch.arange(len(counts)), beginnings)
    return sim


def wobble(n, steps, seed=0):
    """Random joint targets and hub speeds of a lively controller."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        yield (
            torch.randn(n, 12, generator=generator) * 0.03,
            torch.randn(n, 4, generator=generator),
        )


def everything(sim):
    return torch.cat([value.double().flatten() for value in sim.snapshot().values()])


def test_a_fresh_state_is_upright_and_the_balls_touch():
    sim = make([1, 3, 5])
    state = sim.read()
    assert torch.allclose(state.gravity, torch.tensor([[0.0, 0.0, -1.0]]), atol=1e-3)
    assert torch.allclose(state.base_height, torch.tensor(ROBOT.stance_height), atol=2e-3)
    assert state.ball_active.sum(1).tolist() == [1, 3, 5]
    assert torch.equal(state.ball_contact, state.ball_active)
    height = state.ball_position[..., 2][state.ball_active]
    assert torch.allclose(height, torch.tensor(ROBOT.plate_height + BALL_RADIUS), atol=1e-3)


def test_inactive_slots_are_zero():
    state = make([2]).read()
    for name in ("balls", "ball_contact", "ball_active"):
        assert not getattr(state, name)[0, 2:].any(), name


def test_base_frame_quantities_do_not_change_when_the_world_turns():
    """Yaw and shift robot and balls together: everything in the base frame stays."""
    sim = make([3])
    for targets, speeds in wobble(1, 10):
        sim.step(targets, speeds)
    before = sim.read()
    yaw = np.radians(70)
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    quat = np.array([np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)])
    for start_q, start_v in [(0, 0), *((23 + 7 * i, 22 + 6 * i) for i in range(3))]:
        sim.qpos[0, start_q : start_q + 2] = turn @ sim.qpos[0, start_q : start_q + 2] + [3.0, -2.0]
        w, x, y, z = sim.qpos[0, start_q + 3 : start_q + 7]
        a, d = quat[0], quat[3]
        sim.qpos[0, start_q + 3 : start_q + 7] = [
            a * w - d * z, a * x - d * y, a * y + d * x, a * z + d * w
        ]  # fmt: skip
        sim.qvel[0, start_v : start_v + 2] = turn @ sim.qvel[0, start_v : start_v + 2]
    after = sim.read()
    for name in vars(before):
        assert torch.allclose(
            getattr(before, name).double(), getattr(after, name).double(), atol=1e-5
        ), name


def test_stands_still_for_ten_seconds():
    sim = make([1, 3, 5], seed=3)
    sim.qvel[:] = 0.0
    start = sim.qpos[:, :3].copy()
    still = torch.zeros(3, 12), torch.zeros(3, 4)
    for _ in range(500):
        sim.step(*still)
    drift = np.linalg.norm(sim.qpos[:, :3] - start, axis=1)
    tilt = np.degrees(np.arccos(-sim.read().gravity[:, 2].double().numpy().clip(-1, 1)))
    assert drift.max() < 0.01
    assert tilt.max() < 0.5
    assert sim.read().ball_contact.sum(1).tolist() == [1, 3, 5]


@pytest.mark.parametrize(("joint", "axis", "sign"), [(1, 0, 1), (0, 1, -1)])
def test_four_degrees_of_tilt_within_a_fifth_of_a_second(joint, axis, sign):
    """All thighs pitch, all abductions roll; the plate's centre stays where it is."""
    sim = make([1])
    targets = torch.zeros(1, 12)
    targets[:, joint::3] = -np.radians(4.3) * ROBOT.tilt_ratio
    start = sim.qpos[0, :2].copy()
    for _ in range(10):
        sim.step(targets, torch.zeros(1, 4))
    state = sim.read()
    tilt = np.degrees(np.arcsin(state.gravity[0, axis].item())) * sign
    assert tilt >= 4.0
    to_plate = ROBOT.plate_height * state.gravity[0, :2].double().numpy()
    assert np.abs(sim.qpos[0, :2] + to_plate - start).max() < 0.002


def test_restore_repeats_bit_for_bit():
    sim = make([5] * 6)
    for action in wobble(6, 20):
        sim.step(*action)
    saved = sim.snapshot()
    for action in wobble(6, 50, seed=1):
        sim.step(*action)
    first = everything(sim)
    sim.restore(saved)
    for action in wobble(6, 50, seed=1):
        sim.step(*action)
    assert torch.equal(first, everything(sim))


def test_threads_do_not_change_a_bit():
    counts = [5, 1, 3, 5, 2, 4, 5, 1]
    one, two = make(counts), make(counts, threads=2)
    for action in wobble(8, 50):
        one.step(*action)
        two.step(*action)
    assert torch.equal(everything(one), everything(two))
    two.close()


def test_an_environment_does_not_depend_on_its_neighbours():
    """Those of as many balls are stepped together, whether they stand side by side or not."""
    together = make([5, 1, 1, 3, 5, 3])
    alone = [_alone(together, row) for row in range(6)]
    for targets, speeds in wobble(6, 30):
        together.step(targets, speeds)
        for row, sim in enumerate(alone):
            sim.step(targets[row : row + 1], speeds[row : row + 1])
    for row, sim in enumerate(alone):
        assert np.array_equal(together.qpos[row], sim.qpos[0]), row
        assert np.array_equal(together.qvel[row], sim.qvel[0]), row


def _alone(sim, row):
    """Return a simulator of nothing but one environment of another."""
    alone = make([int(sim.balls[row])])
    alone.qpos[0], alone.qvel[0] = sim.qpos[row], sim.qvel[row]
    return alone


def test_reset_touches_only_the_chosen_environments():
    sim = make([2, 2, 2])
    for action in wobble(3, 5):
        sim.step(*action)
    before = sim.qpos.copy()
    sim.reset(torch.tensor([1]), spawn(SpawnCfg(), torch.tensor([4]), torch.Generator()))
    assert np.array_equal(sim.qpos[[0, 2]], before[[0, 2]])
    assert sim.balls.tolist() == [2, 4, 2]


def test_balls_begin_with_the_spin_of_the_published_runs_to_the_last_bit():
    """The columns of a matrix product round by their places: their order is part of the bits."""
    for n in range(30, 40):  # Kernels take columns by fours or eights; the rest rounds otherwise.
        beginnings = spawn(SpawnCfg(), torch.full((n,), 5), torch.Generator().manual_seed(n))
        sim = MujocoSimulator(MujocoCfg(), n, GAP)
        sim.reset(torch.arange(n), beginnings)
        turned = beginnings.rotation.numpy().astype(float).transpose(2, 0, 1)
        x, y = beginnings.velocity.numpy().astype(float).transpose(2, 0, 1)[:2]
        spin = rotate(conjugate(turned), np.stack([-y, x, np.zeros_like(x)]) / BALL_RADIUS)
        assert np.abs(spin).max() > 0.1
        stored = sim.qvel[:, ROBOT_NV:].reshape(n, 5, 6)[..., 3:]
        assert np.array_equal(stored, spin.transpose(1, 2, 0))


@pytest.mark.parametrize("damage", [np.nan, 1e9, np.inf])
def test_a_broken_state_is_caught_counted_and_kept(tmp_path, damage, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sim = make([2, 2], dump=tmp_path)
    sim.qvel[1, 3] = damage
    before = sim.qpos.copy()
    sim.step(torch.zeros(2, 12), torch.zeros(2, 4))
    state = sim.read()
    assert state.unstable.tolist() == [False, True]
    assert sim.unstable_count == 1
    assert np.array_equal(sim.qpos[1], before[1])
    (kept,) = tmp_path.iterdir()
    with np.load(kept) as record:
        assert record["balls"] == 2
        assert record["states"].shape[0] == 1 and record["control"].shape == (1, 2, 16)
    # The neighbour is as sound as ever, and a reset heals.
    assert torch.isfinite(state.ball_position[0]).all()
    sim.reset(torch.tensor([1]), spawn(SpawnCfg(), torch.tensor([2]), torch.Generator()))
    sim.step(torch.zeros(2, 12), torch.zeros(2, 4))
    assert not sim.read().unstable.any()


def test_a_broken_state_is_not_kept_through_a_link(tmp_path):
    (tmp_path / "treasure").write_text("a secret")
    dump = tmp_path / "unstable"
    dump.mkdir()
    (dump / "unstable-0001.npz").symlink_to(tmp_path / "treasure")
    sim = make([2], dump=dump)
    sim.qvel[0, 3] = np.nan
    sim.step(torch.zeros(1, 12), torch.zeros(1, 4))
    assert sim.unstable_count == 1 and not (dump / "unstable-0001.npz").is_symlink()
    assert (tmp_path / "treasure").read_text() == "a secret"


def test_a_rolling_ball_slows_down_and_rolls_without_slipping():
    sim = make([1])
    sim.qpos[0, 23:25] = sim.qpos[0, :2]
    sim.qvel[0, 22:28] = 0
    sim.qpos[0, 26:30] = [1, 0, 0, 0]
    sim.qvel[0, 22], sim.qvel[0, 26] = 0.1, 0.1 / BALL_RADIUS
    for _ in range(10):
        sim.step(torch.zeros(1, 12), torch.zeros(1, 4))
    speed, spin = sim.qvel[0, 22], sim.qvel[0, 26]
    # Coulomb rolling resistance: v' = -5/7 g c / r
    expected = 0.1 - 0.2 * 5 / 7 * 9.81 * MujocoCfg().ball.rolling / BALL_RADIUS
    assert speed == pytest.approx(expected, abs=0.006)
    assert spin * BALL_RADIUS == pytest.approx(speed, rel=0.05)
