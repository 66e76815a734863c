"""Every reward term against values worked out by hand."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from s2m.config.task import RewardCfg, TaskCfg
from s2m.robot.model import ROBOT
from s2m.task.geometry import pair_distances
from s2m.task.rewards import OF_BALLS, TERMS, Rewards
from s2m.task.scene import observe
from s2m.task.tactile import contact_map
from s2m.task.terminations import ball_dropped

STILL = torch.zeros(1, 3)
DANGER = torch.tensor([0.1])
# Margins: (0, 0) 1.0; (0.056, 0) 0.5; (0, -0.0604) 0.2; (0.1232, 0) -0.1
THREE = [(0.0, 0.0), (0.056, 0.0), (0.0, -0.0604)]


def terms(state, command=STILL, danger=DANGER):
    scene = observe(state, command, danger)
    rewards = Rewards(RewardCfg())
    return dict(zip(rewards.names, rewards(state, scene).squeeze(-1).tolist(), strict=True))


def test_each_term_has_a_function_and_a_weight_of_its_name():
    names = [*OF_BALLS, *TERMS]
    assert len(set(names)) == len(names) == 12
    assert all(isinstance(getattr(RewardCfg(), name), float) for name in names)


def test_a_term_without_weight_is_not_there(make_state):
    state = make_state([THREE])
    scene = observe(state, STILL, DANGER)
    whole, part = Rewards(RewardCfg()), Rewards(RewardCfg(edge=0.0, height=0.0))
    assert part.names == tuple(name for name in whole.names if name not in ("edge", "height"))
    kept = [whole.names.index(name) for name in part.names]
    assert torch.equal(part(state, scene), whole(state, scene)[kept])


def test_margin_is_three_times_the_mean(make_state):
    assert terms(make_state([THREE]))["margin"] == pytest.approx(3.0 * (1.0 + 0.5 + 0.2) / 3)


def test_margin_outside_counts_as_zero(make_state):
    state = make_state([[(0.0, 0.0), (0.1232, 0.0)]])
    assert terms(state)["margin"] == pytest.approx(3.0 * 0.5)


def test_tail_is_the_fractional_cvar(make_state):
    assert terms(make_state([THREE]))["tail"] == pytest.approx(1.25 * (0.2 + 0.2 * 0.5) / 1.2)


def test_edge_is_the_part_of_balls_outside(make_state):
    state = make_state([[(0.0, 0.0), (0.1232, 0.0), (0.0, 0.05)]])
    assert terms(state)["edge"] == pytest.approx(-15.0 / 3)


def test_spacing_clips_at_d_max_and_averages_pairs(make_state):
    # distances 0.12, 0.16 -> 0.15, 0.2 -> 0.15
    state = make_state([[(0.0, 0.0), (0.12, 0.0), (0.0, 0.16)]])
    assert terms(state)["spacing"] == pytest.approx(1.5 * (0.12 + 0.15 + 0.15) / 3)


def test_spacing_tail_is_not_clipped(make_state):
    state = make_state([[(0.0, 0.0), (0.12, 0.0), (0.0, 0.16)]])
    assert terms(state)["spacing_tail"] == pytest.approx(0.75 * (0.12 + 0.2 * 0.16) / 1.2)


def test_one_ball_has_no_spacing(make_state):
    values = terms(make_state([[(0.01, 0.0)]]))
    assert values["spacing"] == 0 and values["spacing_tail"] == 0


def test_dangerous_looks_at_the_smallest_margin(make_state):
    state = make_state([THREE])
    assert terms(state, danger=torch.tensor([0.19]))["dangerous"] == 0
    assert terms(state, danger=torch.tensor([0.21]))["dangerous"] == -20.0


def test_velocity_terms_use_the_turning_plate_frame(make_state):
    # Base yaws at 2 rad/s; a ball at (0.05, 0) that turns along has inertial velocity (0, 0.1).
    velocity = torch.zeros(1, 5, 3)
    velocity[0, 0] = torch.tensor([0.3, 0.1, -0.04])
    state = make_state(
        [[(0.05, 0.0), (0.0, 0.0)]],
        ball_velocity=velocity,
        angular_velocity=torch.tensor([[0.0, 0.0, 2.0]]),
    )
    values = terms(state)
    assert values["velocity_xy"] == pytest.approx(-0.05 * 0.09 / 2)
    assert values["velocity_z"] == pytest.approx(-0.25 * 0.04 / 2)


def test_tracking_kernels(make_state):
    state = make_state(
        [[(0.0, 0.0)]],
        linear_velocity=torch.tensor([[0.3, 0.4, 9.0]]),
        angular_velocity=torch.tensor([[0.0, 0.0, 0.1]]),
    )
    values = terms(state, command=torch.tensor([[0.0, 0.0, 0.6]]))
    assert values["track_linear"] == pytest.approx(1.5 * math.exp(-0.25 / 0.25))
    assert values["track_yaw"] == pytest.approx(1.25 * math.exp(-0.25 / 0.25), rel=1e-5)


def test_height_and_tilt(make_state):
    roll, pitch = 0.2, -0.1
    gravity = torch.tensor(
        [[math.sin(pitch), -math.cos(pitch) * math.sin(roll), -math.cos(pitch) * math.cos(roll)]]
    )
    state = make_state(
        [[(0.0, 0.0)]],
        gravity=gravity,
        base_height=torch.tensor([[ROBOT.stance_height - 0.1]]),
    )
    values = terms(state)
    assert values["height"] == pytest.approx(-0.01, rel=1e-4)
    assert values["roll_pitch"] == pytest.approx(-1.25 * (0.2**2 + 0.1**2), rel=1e-4)


def test_every_term_has_a_weight_of_its_own(make_state):
    state = make_state([THREE, THREE])
    scene = observe(state, STILL, torch.tensor([0.9]))
    zeros = {name: 0.0 for name in [*OF_BALLS, *TERMS]}
    assert Rewards(RewardCfg(**zeros))(state, scene).sum(0).tolist() == [0.0, 0.0]
    for name in zeros:
        only = Rewards(RewardCfg(**zeros | {name: 2.0}))
        assert only.names == (name,)
        assert torch.equal(
            only(state, scene)[0], 2 * Rewards(RewardCfg(**zeros | {name: 1.0}))(state, scene)[0]
        )


def test_one_ball_alone_gives_its_own_distance_none(make_state):
    state = make_state([[(0.0, 0.0)]])
    _, joined = pair_distances(state.ball_position, state.ball_active)
    assert not joined.any()
    assert terms(state)["spacing"] == terms(state)["spacing_tail"] == 0


places = st.lists(st.tuples(st.floats(-0.13, 0.13), st.floats(-0.09, 0.09)), min_size=1, max_size=5)


@settings(max_examples=60)
@given(places, st.permutations(range(5)), st.integers(0, 2**31))
def test_rewards_terminations_and_map_ignore_the_labels_of_balls(make_state, balls, order, seed):
    generator = torch.Generator().manual_seed(seed)
    state = make_state([balls])
    on = state.ball_active.unsqueeze(-1)
    state.ball_velocity[:] = torch.randn(1, 5, 3, generator=generator) * on
    state.ball_position[..., 2] += 0.2 * torch.randn(1, 5, generator=generator) * on[..., 0]
    balls, contact, active = (
        x[:, list(order)] for x in (state.balls, state.ball_contact, state.ball_active)
    )
    relabelled = replace(state, balls=balls, ball_contact=contact, ball_active=active)
    before, after = terms(state), terms(relabelled)
    assert before == pytest.approx(after, abs=1e-5)
    assert torch.equal(ball_dropped(state), ball_dropped(relabelled))
    maps = [
        contact_map(s.ball_position, s.ball_active, TaskCfg().tactile, ROBOT.plate_height)
        for s in (state, relabelled)
    ]
    assert torch.equal(*maps)
