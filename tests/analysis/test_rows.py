"""Names, groups and colours of the variants."""

from types import SimpleNamespace
from typing import Any

import pytest

from analysis.rows import in_order, row
from s2m.config.encoder import cards
from s2m.encoders.registry import encoder_class


@pytest.mark.parametrize("name", cards())
def test_cards_say_what_the_classes_do(name):
    card, encoder = cards()[name], encoder_class(name)
    for what in ("name", "group", "label", "tex", "colour"):
        assert getattr(card, what) == getattr(encoder, what)


def test_rows():
    assert row("pfds_off").tex == r"\textsc{PFDS\_OFF}"
    assert not row("pfds_off").permute
    assert row("set_transformer_off").label == "Set Transformer_OFF"
    assert row("new_thing").tex == r"new\_thing"
    assert row("new_thing").group == "?"


def test_a_run_says_what_its_row_is_called():
    mine: Any = SimpleNamespace(label="My & Net", group="G_diag", colour="#123456")
    found = row("mine", mine)
    assert (found.label, found.tex) == ("My & Net", r"My \& Net")
    assert (found.group, found.colour) == ("G_diag", "#123456")


def test_the_paper_s_colours_differ():
    colours = [row(name).colour for name in cards()]
    assert len(set(colours)) == len(colours) == 6


def test_other_variants_follow_those_of_the_paper():
    assert in_order({"zebra", "pfds", "ape", "dshc"}) == ["dshc", "pfds", "ape", "zebra"]
