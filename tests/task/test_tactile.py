import torch

from s2m.config.task import TactileCfg
from s2m.robot.model import PLATE_SIZE, ROBOT
from s2m.task.tactile import CELLS, cell_centres, contact_map

CFG = TactileCfg(delta_x=-0.045, delta_y=-0.045, epsilon_z=0.005)  # footprints of +-1 cm


def touch(state, cfg=CFG):
    return contact_map(state.ball_position, state.ball_active, cfg, ROBOT.plate_height)[0]


def test_cells_tile_the_plate():
    x = cell_centres(0, torch.device("cpu"), torch.float64)
    pitch = PLATE_SIZE[0] / CELLS
    assert torch.allclose(x.diff(), torch.full((15,), pitch, dtype=torch.float64))
    assert abs(x[0].item() + PLATE_SIZE[0] / 2 - pitch / 2) < 1e-12


def test_one_ball_covers_the_cells_within_its_footprint(make_state):
    # x cells are 14 mm wide: centres at +-7 mm lie within 10 mm of 0; y cells 9.4 mm: +-4.7 mm.
    expected = torch.zeros(CELLS, CELLS, dtype=torch.bool)
    expected[7:9, 7:9] = True
    assert torch.equal(touch(make_state([[(0.0, 0.0)]])), expected)


def test_rows_run_along_x_and_columns_along_y(make_state):
    cells = touch(make_state([[(0.07, -0.05)]])).nonzero().double().mean(0)
    assert cells[0] > 10 and cells[1] < 5


def test_the_map_is_a_union(make_state):
    a, b = [(0.05, 0.03)], [(0.06, 0.03)]
    both = touch(make_state([a + b]))
    assert torch.equal(both, touch(make_state([a])) | touch(make_state([b])))


def test_a_ball_in_the_air_or_an_empty_slot_does_not_touch(make_state):
    state = make_state([[(0.0, 0.0)]])
    state.ball_position[0, 0, 2] += 0.006
    assert not touch(state).any()
    state = make_state([[(0.0, 0.0)]])
    state.ball_active[0, 0] = False
    assert not touch(state).any()


def test_footprints_of_the_bare_radius_would_nearly_fill_the_plate(make_state):
    """Why delta is negative: with delta = 0 five balls cover five sixths of the cells."""
    from s2m.task.geometry import packing

    state = make_state([packing(5)])
    assert touch(state, TactileCfg(delta_x=0.0, delta_y=0.0)).double().mean() > 0.8
    assert touch(state, TactileCfg()).double().mean() < 0.4
