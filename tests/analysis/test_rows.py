"""Names and groups of the variants."""

from analysis.rows import GROUPS, PAPER, in_order, row
from s2m.encoders.registry import ENCODERS


def test_groups_are_those_the_encoders_declare():
    assert {name: encoder.group for name, encoder in ENCODERS.items()} == GROUPS


def test_rows():
    assert row("pfds_off").tex == r"\textsc{PFDS\_OFF}"
    assert not row("pfds_off").permute
    assert row("set_transformer_off").label == "Set Transformer_OFF"
    assert row("new_thing").tex == r"new\_thing"
    assert row("new_thing").group == "?"


def test_other_variants_follow_the_paper_s_eight():
    assert in_order({"zebra", "pfds", "ape"}) == [*PAPER, "ape", "zebra"]
