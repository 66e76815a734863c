"""The episodes of an evaluation: summed up, compared by their starts, refused when damaged."""

import hashlib

import pytest
from pyarrow import parquet

from analysis.sources.episodes import judging, read_evaluation, summarise
from tests.analysis.synthetic import Spec, write_run

RATES = {k: (k, 2 * k) for k in range(1, 6)}


@pytest.fixture
def folder(tmp_path):
    return write_run(tmp_path, Spec(iterations=9, episodes=10, rates=RATES))


def rewrite(path, change):
    parquet.write_table(change(parquet.read_table(path)), path)


def test_an_evaluation_is_read_with_its_selection_and_settings(folder):
    found, remark = read_evaluation(folder)
    assert remark == "" and found.iteration == 9 and found.settings["episodes"] == 10
    counts = {k: (rates.strict, rates.no_drop, rates.n) for k, rates in found.reported.items()}
    assert counts == {k: (k, 2 * k, 10) for k in range(1, 6)}
    assert list(found.selection) == [5]


def test_a_run_that_was_not_evaluated_has_none_and_no_remark(tmp_path):
    assert read_evaluation(write_run(tmp_path, Spec(iterations=9))) == (None, "")


def said(folder):
    found, remark = read_evaluation(folder)
    assert found is None
    return remark


def test_episodes_that_do_not_add_up_are_told(folder):
    rewrite(folder.path / "episodes.parquet", lambda table: table.slice(1))
    assert said(folder) == "its episodes are damaged: they do not add up to those in evaluate.json"


def test_episodes_of_another_sum_are_told(folder):
    result, path = folder.result("evaluate"), folder.path / "selection.parquet"
    sums = {"selection": hashlib.sha256(path.read_bytes()).hexdigest()}
    folder.write_result("evaluate", {**result, "sha256": sums})
    assert read_evaluation(folder)[1] == ""
    rewrite(path, lambda table: table.slice(1))
    assert said(folder).startswith("its selection.parquet is damaged: it does not match the sum")


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda path: path.write_bytes(b"PAR1 rubbish"), "its episodes cannot be read: "),
        (lambda path: path.unlink(), "its episodes cannot be read: "),
        (
            lambda path: rewrite(path, lambda table: table.drop_columns(["fell"])),
            "its evaluation lacks something: KeyError('fell')",
        ),
    ],
)
def test_episodes_that_cannot_be_read_are_told(folder, damage, line):
    damage(folder.path / "episodes.parquet")
    assert said(folder).startswith(line)


def test_a_result_may_name_no_file_of_elsewhere(folder):
    folder.write_result("evaluate", {**folder.result("evaluate"), "episodes": "../episodes"})
    assert "'../episodes' is not a file of its folder" in said(folder)


def test_policies_judged_from_the_same_starts_can_be_paired(folder, tmp_path):
    path = folder.path / "episodes.parquet"
    before = summarise(path)
    assert before[3].kept == b"\x01" * 6 + b"\x00" * 4
    rewrite(path, lambda table: table.take(list(range(len(table)))[::-1]))
    after = summarise(path)
    assert [(r.starts, r.kept) for r in after.values()] == [
        (r.starts, r.kept) for r in before.values()
    ]
    other = write_run(tmp_path, Spec(seed=1, iterations=9, episodes=10, rates={3: (0, 2)}))
    found = summarise(other.path / "episodes.parquet")[3]
    assert found.starts == before[3].starts and found.kept == b"\x01" * 2 + b"\x00" * 8
    elsewhere = Spec(seed=2, iterations=9, episodes=10, rates={3: (0, 2)}, episode_seed=7)
    found = summarise(write_run(tmp_path, elsewhere).path / "episodes.parquet")[3]
    assert found.starts != before[3].starts


def test_starts_that_are_unknown_or_not_unique_cannot_be_paired(folder):
    path = folder.path / "episodes.parquet"
    whole = parquet.read_table(path)
    for change in (
        lambda table: table.drop_columns(["seed"]),
        lambda table: table.set_column(
            table.column_names.index("episode"), "episode", [[0] * len(table)]
        ),
    ):
        parquet.write_table(change(whole), path)
        assert {(rates.starts, rates.kept) for rates in summarise(path).values()} == {("", b"")}


def test_an_evaluation_stands_where_its_run_does_unless_it_was_read_and_refused():
    assert judging("running", "") == "running" and judging("stopped", "") == "pending"
    assert judging("finished", "its episodes are damaged") == "left out"
