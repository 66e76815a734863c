import torch

from s2m.task.randomness import STREAMS, Streams


def draw(streams, name):
    return torch.rand(4, generator=streams[name]).tolist()


def test_a_seed_and_a_name_decide_a_stream():
    every = [draw(Streams(seed), name) for seed in (0, 1) for name in STREAMS]
    assert len({tuple(values) for values in every}) == 2 * len(STREAMS)
    assert every[: len(STREAMS)] == [draw(Streams(0), name) for name in STREAMS]


def test_drawing_from_one_stream_shifts_no_other():
    drawn, calm = Streams(3), Streams(3)
    for name in STREAMS[1:]:
        draw(drawn, name)
    assert draw(drawn, STREAMS[0]) == draw(calm, STREAMS[0])


def test_streams_go_on_where_they_were_saved():
    streams, other = Streams(3), Streams(4)
    draw(streams, "noise")
    saved = streams.state_dict()
    expected = [draw(streams, name) for name in STREAMS]
    other.load_state_dict(saved)
    assert [draw(other, name) for name in STREAMS] == expected


def test_a_seed_of_63_bits_is_taken():
    assert draw(Streams(2**63 - 1), "spawn") != draw(Streams(0), "spawn")
