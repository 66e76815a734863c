"""Encoders by name, s2m's own and those of one's own, which are known by the sum of their file."""

import hashlib
from dataclasses import replace

import pytest
import torch

from s2m.config.encoder import EncoderCfg, cards
from s2m.console.errors import UserError
from s2m.encoders import registry
from s2m.encoders.registry import encoder_class, load_own, make_encoder

SHAPE = (4, 5, 14)
OWN = """
from torch import nn
from s2m.encoders.base import SetEncoder, mlp

class Mean(SetEncoder):
    name = "mean"
    group = "G_frame"
    label = "Mean"

    def __init__(self, shape, width, readout, cfg):
        super().__init__(shape, width, readout, cfg)
        self.net = mlp(shape.features, width, readout, cfg.embedding)

    def encode(self, x, mask):
        return self.net(x.mean((1, 2)))
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a function that writes an encoder and returns its sum; none stays loaded."""
    monkeypatch.setattr(registry, "_own", {})

    def write(text=OWN, name="mean"):
        (tmp_path / "encoder").mkdir(exist_ok=True)
        (tmp_path / "encoder" / f"{name}.py").write_text(text)
        return hashlib.sha256(text.encode()).hexdigest()

    return write


@pytest.mark.parametrize("name", cards())
def test_a_class_says_what_its_card_says(name):
    found, card = encoder_class(name), cards()[name]
    assert (found.name, found.group, found.label) == (card.name, card.group, card.label)


def test_an_encoder_of_one_s_own_is_built_at_the_size_of_pfds(own, tmp_path):
    source = own()
    load_own([tmp_path])
    cfg = EncoderCfg("mean", width=32, source=source)
    sizes = [
        sum(parameter.numel() for parameter in make_encoder(one, *SHAPE).parameters())
        for one in (cfg, replace(cfg, name="pfds", source=""))
    ]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05)
    x, mask = torch.randn(3, *SHAPE), torch.ones(3, *SHAPE[:2], dtype=torch.bool)
    assert make_encoder(cfg, *SHAPE)(x, mask).shape == (3, 32)


def test_code_that_was_not_loaded_is_not_guessed_by_its_name(own, tmp_path):
    source = own()
    line = "the encoder mean is not s2m's own: its code lies in own/encoder/mean.py"
    with pytest.raises(UserError, match=line):
        encoder_class("mean", source)
    load_own([tmp_path])
    assert encoder_class("mean", source).label == "Mean"
    with pytest.raises(UserError, match=line):
        encoder_class("mean", "0" * 64)
    with pytest.raises(UserError, match="unknown encoder 'mean'"):
        encoder_class("mean")


def test_two_versions_of_a_file_stay_two_encoders(own, tmp_path):
    sums = []
    for label in ("First", "Second"):
        sums.append(own(OWN.replace('"Mean"', f'"{label}"')))
        load_own([tmp_path])
    assert [encoder_class("mean", found).label for found in sums] == ["First", "Second"]


def test_a_file_is_executed_once(own, tmp_path):
    source = own()
    load_own([tmp_path])
    first = encoder_class("mean", source)
    load_own([tmp_path, tmp_path])
    assert encoder_class("mean", source) is first


def test_only_the_file_of_a_sum_is_executed_where_no_other_is_trusted(own, tmp_path):
    wanted = own()
    own("raise SystemExit", name="other")
    load_own([tmp_path], only=wanted)
    assert encoder_class("mean", wanted).label == "Mean"
    load_own([tmp_path], only="0" * 64)


@pytest.mark.parametrize("text", ["x = 1\n", "from s2m.encoders.pfds import *\n"])
def test_a_file_without_a_class_of_its_name_is_told(own, tmp_path, text):
    own(text)
    with pytest.raises(UserError, match="mean.py has no class of the encoder mean"):
        load_own([tmp_path])
