from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from s2m.config.task import NoiseCfg
from s2m.sim.quaternion import conjugate, multiply
from s2m.task import observations as obs


def full_state(make_state, balls=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    state = make_state([[(0.01 * i, 0.0) for i in range(balls)]] * 2)
    on = state.ball_active.unsqueeze(-1)
    state.ball_velocity[:] = torch.randn(2, 5, 3, generator=generator) * on
    state.ball_angular_velocity[:] = torch.randn(2, 5, 3, generator=generator) * on
    return state


def test_proprioception_has_the_papers_order_and_43_numbers(make_state):
    state = make_state([[(0.0, 0.0)]])
    state.angular_velocity[:] = torch.tensor([[1.0, 2.0, 3.0]])
    state.joint_position[:] = torch.arange(12.0).unsqueeze(0)
    state.joint_velocity[:] = 20 + torch.arange(12.0).unsqueeze(0)
    action = 40 + torch.arange(12.0).unsqueeze(0)
    frame = obs.proprio_frame(state, torch.ones(12), action)[0]
    assert frame.shape == (43,)
    assert frame[:6].tolist() == [1, 2, 3, 0, 0, -1]
    assert frame[6:18].tolist() == [i - 1.0 for i in range(12)]
    assert frame[18:30].tolist() == [20.0 + i for i in range(12)]
    assert frame[30:42].tolist() == [40.0 + i for i in range(12)]
    assert frame[42] == state.base_height


def test_ball_frame_scales_velocities_and_flags_activity(make_state):
    state = full_state(make_state)
    frame = obs.ball_frame(state)
    assert torch.equal(frame[..., :3], state.ball_position)
    assert torch.equal(frame[..., 3:6], 0.5 * state.ball_velocity)
    assert torch.equal(frame[..., 10:13], 0.25 * state.ball_angular_velocity)
    assert frame[0, :, 13].tolist() == [1, 1, 1, 0, 0]


@pytest.mark.parametrize("noisy", [False, True])
def test_balls_out_of_contact_and_empty_slots_are_all_zero(make_state, noisy):
    state = full_state(make_state)
    state.ball_contact[0, 1] = False
    frame = obs.ball_frame(state)
    if noisy:
        frame = obs.add_noise(frame, NoiseCfg(), torch.Generator().manual_seed(1))
    assert not frame[0, 1].any() and not frame[:, 3:].any()
    assert frame[0, 0].any()


def test_noise_stays_within_its_bounds_and_reaches_them(make_state):
    clean = obs.ball_frame(full_state(make_state, balls=5)).repeat(2000, 1, 1)
    noisy = obs.add_noise(clean, NoiseCfg(), torch.Generator().manual_seed(0))
    difference = (noisy - clean).abs()
    bounds = {(0, 3): 0.01, (3, 6): 0.2 * 0.5, (10, 13): 0.2 * 0.25}
    for (start, stop), bound in bounds.items():
        largest = difference[..., start:stop].max().item()
        assert 0.99 * bound < largest <= bound * 1.0001
    before, after = (frame[..., 6:10].movedim(-1, 0).double().numpy() for frame in (clean, noisy))
    turned = torch.from_numpy(multiply(conjugate(before), after))
    angle = 2 * turned[1:].norm(dim=0).clamp(max=1).asin()
    assert 0.07 < angle.max() < 0.05 * 3**0.5 * 1.01
    assert torch.allclose(noisy[..., 6:10].norm(dim=-1), torch.ones(4000, 5), atol=1e-5)


def test_permutations_are_uniform():
    n = 120_000
    drawn = obs.draw_permutations(n, torch.Generator().manual_seed(3))
    counts = Counter(map(tuple, drawn.tolist()))
    assert len(counts) == 120
    chi_square = sum((count - 1000) ** 2 / 1000 for count in counts.values())
    assert chi_square < 175  # 99.9 % quantile of 119 degrees of freedom


@settings(max_examples=25)
@given(st.integers(0, 2**31))
def test_permuting_slots_keeps_the_set_of_balls(seed):
    generator = torch.Generator().manual_seed(seed)
    frame = torch.randn(4, 5, 14, generator=generator)
    order = obs.draw_permutations(4, generator)
    moved = obs.permute_slots(frame, order)
    for row in range(4):
        for slot in range(5):
            assert torch.equal(moved[row, slot], frame[row, order[row, slot]])


def test_push_returns_fresh_tensors_and_ages_frames():
    history = torch.zeros(2, 3, 4)
    first = obs.push(history, torch.ones(2, 4))
    second = obs.push(first, 2 * torch.ones(2, 4))
    assert second[0, :, 0].tolist() == [0, 1, 2]
    assert first[0, :, 0].tolist() == [0, 0, 1]


def test_refill_touches_only_the_reset_environments():
    history = torch.zeros(3, 4, 2)
    obs.refill(history, torch.tensor([1]), torch.ones(1, 2))
    assert history.sum(dim=(1, 2)).tolist() == [0, 8, 0]


def test_slots_that_no_environment_uses_cost_no_noise(make_state):
    clean = obs.ball_frame(full_state(make_state, balls=2))
    noisy = obs.add_noise(clean, NoiseCfg(), torch.Generator().manual_seed(0), most=2)
    few = obs.add_noise(clean[:, :2], NoiseCfg(), torch.Generator().manual_seed(0))
    assert torch.equal(noisy[:, :2], few) and not noisy[:, 2:].any()
    assert (noisy[:, :2, :13] != clean[:, :2, :13]).all()
