"""All encoders have the parameters of PFDS, by a search that is pure and says when it fails."""

import subprocess
import sys

import pytest
import torch

from s2m.config.encoder import FOLDER, EncoderCfg, cards
from s2m.config.fields import validate
from s2m.console.errors import UserError
from s2m.encoders.registry import make_encoder, parameter_table
from s2m.encoders.sizing import fit

BUDGETS = {(16, 16): 3_120, (32, 32): 11_872, (128, 64): 166_208}


@pytest.mark.parametrize(("sizes", "pfds"), BUDGETS.items())
def test_parameters_match_within_five_percent(sizes, pfds):
    """PFDS is phi 14-w-w and rho 4w-2w-e; the budgets are demo, desktop and paper."""
    cfg = EncoderCfg(width=sizes[0], embedding=sizes[1])
    table = parameter_table(cfg, frames=4, slots=5, features=14)
    counts = {row.name: row.parameters for row in table}
    assert list(counts) == list(cards())
    assert counts["pfds"] == pfds
    for count in counts.values():
        assert count == pytest.approx(pfds, rel=0.05)


@pytest.mark.parametrize("name", cards())
def test_table_counts_the_built_encoder(name):
    cfg = EncoderCfg(name)
    encoder = make_encoder(cfg, 4, 5, 14)
    row = next(row for row in parameter_table(cfg, 4, 5, 14) if row.name == name)
    assert row.parameters == sum(parameter.numel() for parameter in encoder.parameters())
    assert row.group == encoder.group


def test_counting_draws_no_random_numbers():
    state = torch.get_rng_state()
    parameter_table(EncoderCfg(), 4, 5, 14)
    assert torch.equal(torch.get_rng_state(), state)


def test_fit_fills_width_first_then_readout():
    """With count = w^2 + r, width 9 needs 99 with its readout of 18, width 10 would need 120."""
    assert fit(lambda width, readout: width**2 + readout, budget=110) == (9, 29)
    assert fit(lambda width, readout: width**2 + readout, budget=110, step=4) == (8, 46)


def test_fit_refuses_what_cannot_match():
    with pytest.raises(UserError, match="fewer encoder.heads"):
        fit(lambda width, readout: 100 * width, budget=150, step=2)
    with pytest.raises(UserError, match="within 5%"):
        fit(lambda width, readout: 100 * width + 40 * readout, budget=240)


def test_too_many_heads_are_told():
    with pytest.raises(UserError, match="multiple of 16"):
        make_encoder(EncoderCfg("set_transformer", width=16, embedding=16, heads=16), 4, 5, 14)


def test_unknown_names_are_told():
    with pytest.raises(UserError, match="(?i)did you mean 'pfds'"):
        make_encoder(EncoderCfg("pdfs"), 4, 5, 14)
    with pytest.raises(UserError, match="unknown pool 'median'"):
        make_encoder(EncoderCfg(pool="median"), 4, 5, 14)
    with pytest.raises(UserError, match="Allowed: branch_mlp"):
        validate(EncoderCfg("pdfs"))


def test_a_file_is_an_encoder_by_its_class_alone():
    found = {
        path.stem for path in FOLDER.glob("*.py") if f'name = "{path.stem}"' in path.read_text()
    }
    assert set(cards()) == found and len(found) == 6


def test_config_is_free_of_torch():
    code = "import sys, s2m.config.encoder; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
