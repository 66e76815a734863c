import torch

from s2m.task.state import BALL_PARTS, ROBOT_PARTS, TransportState


def numbered(n):
    """Return a state in which no two numbers are equal, and its parts."""
    sizes = {name: (n, size) for name, size in ROBOT_PARTS.items()}
    sizes |= {name: (n, 5, size) for name, size in BALL_PARTS.items()}
    parts, first = {}, 0
    for name, size in sizes.items():
        count = torch.Size(size).numel()
        parts[name] = torch.arange(first, first + count, dtype=torch.float32).view(size)
        first += count
    flags = {
        "ball_contact": torch.zeros(n, 5, dtype=torch.bool),
        "ball_active": torch.ones(n, 5, dtype=torch.bool),
        "unstable": torch.zeros(n, dtype=torch.bool),
    }
    return TransportState.of(**parts, **flags), parts


def test_every_part_is_found_by_its_name():
    state, parts = numbered(3)
    assert state.robot.shape == (3, 34) and state.balls.shape == (3, 5, 13)
    for name, values in parts.items():
        assert torch.equal(getattr(state, name), values), name


def test_parts_are_views_of_the_packed_numbers():
    state, _ = numbered(2)
    state.robot[:] = -1.0
    state.ball_position[1, 2] = 7.0
    assert (state.gravity == -1).all() and (state.balls[1, 2, :3] == 7).all()


def test_rows_are_put_in_place_of_others_and_no_more():
    state, parts = numbered(3)
    other, _ = numbered(1)
    other.robot[:], other.balls[:] = -1.0, -2.0
    other.ball_contact[:], other.ball_active[:], other.unstable[:] = True, False, True
    state.put(torch.tensor([1]), other)
    assert (state.robot[1] == -1).all() and (state.balls[1] == -2).all()
    assert state.ball_contact.any(1).tolist() == state.unstable.tolist() == [False, True, False]
    assert state.ball_active.all(1).tolist() == [True, False, True]
    for row in (0, 2):
        assert torch.equal(state.gravity[row], parts["gravity"][row])
        assert torch.equal(state.ball_velocity[row], parts["ball_velocity"][row])
