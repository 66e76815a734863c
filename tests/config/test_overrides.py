"""What Hydra reads into the words of a command, and advice that works when it is followed."""

import shlex

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given
from hypothesis import strategies as st

from s2m import evaluate, replay
from s2m.cluster.cells import expand
from s2m.cluster.distill import compose_student
from s2m.config.overrides import quoted, take_root, with_folder, with_root
from s2m.console.errors import UserError


@given(st.text(st.characters(min_codepoint=32, exclude_categories=["Cs"])))
@example('it\'s "x" \\" \\\\\\')
@example("a,b=[c](d){e}")
def test_quoted_text_is_read_as_it_is(text):
    assert OverridesParser.create().parse_override(f"root={quoted(text)}").value() == text


@pytest.mark.parametrize("root", ["runs/it's", "runs/a(b", "runs/a=b", 'say "x" (a\\'])
def test_a_value_that_cannot_be_read_is_told_in_quotes(root):
    with pytest.raises(UserError, match="^cannot read 'root=.*': write setting=value, or") as error:
        expand([f"root={root}"]).compose()
    advice = str(error.value).partition("put text in quotes: ")[2]
    assert expand(shlex.split(advice)).compose()[0].root == root


def test_options_of_sbatch_are_told_in_quotes():
    with pytest.raises(UserError) as error:
        expand(["cluster=slurm", "cluster.sbatch=[--mail-type=FAIL,--begin=now]"]).compose()
    advice = str(error.value).partition("put text in quotes: ")[2]
    (cfg,) = expand(["cluster=slurm", *shlex.split(advice)]).compose()
    assert cfg.cluster.sbatch == ["--mail-type=FAIL", "--begin=now"]


@pytest.mark.parametrize("word", ["=3", "x", ""])
def test_a_word_without_setting_or_value_is_one_line(word):
    with pytest.raises(UserError, match=f"^cannot read '{word}': write setting=value$"):
        expand([word]).compose()


@pytest.mark.parametrize("command", [evaluate.main, replay.main, compose_student])
def test_a_setting_that_is_given_twice_is_refused(command):
    with pytest.raises(UserError, match="^'seed=1' and 'seed=2': give seed once$"):
        command(["teacher=lqr", "seed=1", "seed=2"])


@pytest.mark.parametrize("given", [["root=a b"], ["--root", "a b"], ["--root=a b"]])
def test_the_folder_of_runs_is_named_in_any_way(given):
    assert take_root(["x", *given, "--y"]) == ("a b", ["x", "--y"])
    assert with_folder(["--serve", *given]) == ["a b", "--serve"]
    assert with_folder([*given, "--out", "o"], ["--runs"]) == ["--runs", "a b", "--out", "o"]
    assert with_root(["seed=1", *given]) == ["seed=1", "root=a b"]


def test_a_plain_folder_is_the_root_of_a_launch(tmp_path):
    assert with_root(["seed=1", str(tmp_path)]) == ["seed=1", f"root={tmp_path}"]
    assert with_root(["seed=1", "nowhere"]) == ["seed=1", "nowhere"]
    assert take_root(["a", "b"]) == (None, ["a", "b"]) and with_folder(["a"]) == ["a"]


def test_two_folders_or_none_behind_root_are_refused():
    with pytest.raises(UserError, match="root=a and root=b: give one folder"):
        take_root(["root=a", "--root", "b"])
    with pytest.raises(UserError, match="--root needs a folder"):
        take_root(["--root"])
