"""What Hydra reads into the words of a command, and advice that works when it is followed."""

import shlex

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st

from s2m import evaluate, replay
from s2m.cluster.cells import compose_cells
from s2m.cluster.student import compose_student
from s2m.config.overrides import quoted
from s2m.console.errors import UserError


@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"])))
@example('it\'s "x" \\" \\\\\\')
@example("a,b=[c](d){e}")
def test_quoted_text_is_read_as_it_is(text):
    assert OverridesParser.create().parse_override(f"root={quoted(text)}").value() == text


@pytest.mark.parametrize("root", ["runs/it's", "runs/a(b", "runs/a=b", 'say "x" (a\\'])
def test_a_value_that_cannot_be_read_is_told_in_quotes(root):
    with pytest.raises(UserError, match="^cannot read 'root=.*': write setting=value, or") as error:
        compose_cells([f"root={root}"])
    advice = str(error.value).partition("put text in quotes: ")[2]
    assert compose_cells(shlex.split(advice))[0].root == root


def test_options_of_sbatch_are_told_in_quotes():
    with pytest.raises(UserError) as error:
        compose_cells(["cluster=slurm", "cluster.sbatch=[--mail-type=FAIL,--begin=now]"])
    advice = str(error.value).partition("put text in quotes: ")[2]
    (cfg,) = compose_cells(["cluster=slurm", *shlex.split(advice)])
    assert cfg.cluster.sbatch == ["--mail-type=FAIL", "--begin=now"]


@pytest.mark.parametrize("word", ["=3", "x", ""])
def test_a_word_without_setting_or_value_is_one_line(word):
    with pytest.raises(UserError, match=f"^cannot read '{word}': write setting=value$"):
        compose_cells([word])


@pytest.mark.parametrize("command", [evaluate.main, replay.main, compose_student])
def test_a_setting_that_is_given_twice_is_refused(command):
    with pytest.raises(UserError, match="^'seed=1' and 'seed=2': give seed once$"):
        command(["teacher=lqr", "seed=1", "seed=2"])
