"""What an encoder's file says of itself, read without executing it."""

import pytest

from s2m.config.encoder import GROUPS, Card, EncoderCfg, cards, parse_card
from s2m.console.errors import UserError

TEXT = b"""
import does_not_exist

class Base:
    name = "other"

class Mine(Base):
    name = "mine"
    group = "G_diag"
    label = "My net"
    colour = "#123456"
    width: int = 3
    tex = "a" + "b"
    kept = 1_000
"""


def test_a_card_is_read_from_code_that_nobody_could_execute():
    assert parse_card(TEXT, "mine") == Card("mine", "G_diag", "My net", colour="#123456", kept=1000)
    assert parse_card(TEXT, "other") is None  # it has no group


def test_what_is_of_another_kind_is_not_said():
    text = TEXT.replace(b'"#123456"', b"0x123456").replace(b"1_000", b'"many"')
    assert parse_card(text, "mine") == Card("mine", "G_diag", "My net")


@pytest.mark.parametrize("missing", [b"group", b"label", b'name = "mine"'])
def test_without_name_group_or_label_there_is_no_encoder(missing):
    lines = TEXT.splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith(b"    " + missing)]
    assert parse_card(b"".join(kept), "mine") is None


def test_the_encoders_stand_from_the_smallest_to_the_largest_group():
    found = cards()
    places = [GROUPS.index(card.group) for card in found.values()]
    assert places == sorted(places) and {"pfds", "flat_mlp"} <= set(found)
    assert all(name == card.name for name, card in found.items())


def test_a_name_that_nobody_bears_is_refused_unless_its_code_is_given():
    with pytest.raises(UserError, match="unknown encoder.name 'pdfs'. Did you mean 'pfds'?"):
        EncoderCfg("pdfs").check()
    EncoderCfg("pfds").check()
    EncoderCfg("mine", source="0" * 64).check()
