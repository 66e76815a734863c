"""Colours that never collide while there are enough."""

from s2m.web.palette import DISTINCT, assign


def test_an_encoder_has_its_colour_and_others_one_that_is_free():
    found = assign({"a": "", "pfds": "#0072B2", "pfds γ=0.9": "#0072B2", "b": ""})
    assert found["pfds"] == "#0072B2" and list(found) == ["a", "pfds", "pfds γ=0.9", "b"]
    assert len(set(found.values())) == 4


def test_as_many_rows_as_colours_have_each_its_own():
    rows = {f"row {i}": "" for i in range(len(DISTINCT))}
    assert len(set(assign(rows).values())) == len(rows)
    assert len(assign(rows | {"one more": ""})) == len(rows) + 1
