from dataclasses import replace

import pytest
import torch

from s2m.config.curriculum import CurriculumCfg
from s2m.config.task import SpawnCfg, TaskCfg
from s2m.console.errors import UserError
from s2m.task.geometry import minimum_margin, pair_distances, support_margin
from s2m.task.spawn import spawn
from tests.task.test_geometry import largest_margin

CFG = SpawnCfg()


def draw(count, n=4000, seed=0):
    return spawn(CFG, torch.full((n,), count), torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_spawn_margin_is_about_half_way_between_threshold_and_the_best_possible(k):
    """Tilting cannot re-arrange balls, so the spawn bounds what any policy can reach."""
    beginnings = draw(k)
    active = torch.arange(5).expand(4000, -1) < k
    mean = minimum_margin(support_margin(beginnings.position), active).mean().item()
    threshold = CurriculumCfg().margin[k - 1]
    half_way = (threshold + largest_margin(k)) / 2
    assert mean == pytest.approx(half_way, abs=0.02)


def test_five_balls_start_well_above_danger():
    beginnings = draw(5)
    active = torch.ones(4000, 5, dtype=torch.bool)
    margin = minimum_margin(support_margin(beginnings.position), active)
    assert margin.mean() > 0.12 and margin.min() > 3 * TaskCfg().danger[4]


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_balls_do_not_overlap(k):
    beginnings = draw(k)
    active = torch.arange(5).expand(4000, -1) < k
    distance, joined = pair_distances(beginnings.position, active)
    assert distance[joined].min() > 0.11


def test_a_balls_index_says_nothing_about_its_place():
    places = draw(5).position.mean(0)
    assert places.norm(dim=-1).max() < 0.005


def test_mixed_counts_use_the_first_slots_only():
    count = torch.tensor([1, 5, 3])
    beginnings = spawn(CFG, count, torch.Generator().manual_seed(0))
    used = beginnings.position.abs().sum(-1) > 0
    assert used.sum(1).tolist() == [1, 5, 3]
    assert used[2, :3].all()


def test_the_draw_of_one_environment_does_not_depend_on_anothers_count():
    a = spawn(CFG, torch.tensor([2, 3]), torch.Generator().manual_seed(5))
    b = spawn(CFG, torch.tensor([2, 5]), torch.Generator().manual_seed(5))
    assert torch.equal(a.position[0], b.position[0])
    assert torch.equal(a.velocity, b.velocity)


def test_an_impossible_spawn_is_one_line_instead_of_an_endless_search():
    cfg = SpawnCfg(gap=0.01, spread=1.0, jitter=[0.001] * 5)
    with pytest.raises(UserError, match="cannot place 5 balls"):
        spawn(cfg, torch.tensor([5]), torch.Generator())


@pytest.mark.parametrize("k", range(1, 6))
def test_a_shifted_group_keeps_its_shape_and_stays_on_the_plate(k):
    still, moved = (
        spawn(replace(CFG, shift=shift), torch.full((500,), k), torch.Generator().manual_seed(0))
        for shift in (0.0, 0.8)
    )
    shift = moved.position[:, :k] - still.position[:, :k]
    assert torch.allclose(shift, shift[:, :1].expand_as(shift), atol=1e-6)
    assert not moved.position[:, k:].any()
    # The margin of the ball next to the edge is at least a fifth of what it was.
    before, after = (
        support_margin(beginning.position[:, :k]).amin(1) for beginning in (still, moved)
    )
    assert (after > 0.19 * before).all()
    assert (after < 0.5 * before).float().mean() > 0.3
    assert torch.equal(moved.velocity, still.velocity)


@pytest.mark.parametrize("k, apart", [(1, 0), (2, 0), (3, 0.018), (4, 0.013), (5, 0)])
def test_scattered_groups_have_their_mean_off_the_middle_of_their_box(k, apart):
    cfg = replace(CFG, arrangement="scattered")
    places = spawn(cfg, torch.full((500,), k), torch.Generator().manual_seed(0)).position[:, :k]
    middle = (places.amin(1) + places.amax(1)) / 2
    gap = (places.mean(1) - middle).norm(dim=-1)
    packed = draw(k, 500).position[:, :k]
    if not apart:
        assert torch.equal(places, packed)
    assert gap.mean() >= apart
