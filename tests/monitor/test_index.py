"""Finished runs are read once."""

import json

import pytest

from s2m.cluster.queue import Queue
from s2m.monitor import survey as surveying
from s2m.monitor.index import NAME
from s2m.monitor.survey import survey
from tests.analysis.synthetic import Spec, write_run

RATES = {k: (10 - k, 12 - k) for k in range(1, 6)}


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Two finished runs and one that was stopped; and the names of those that were read."""
    monkeypatch.setattr(Queue, "read", lambda *_: None)
    for seed in (1, 2):
        write_run(tmp_path, Spec(seed=seed, iterations=20, rates=RATES, episodes=20))
    write_run(tmp_path, Spec(seed=3, state="stopped", iteration=5))
    read, inspect = [], surveying.inspect

    def noted(folder, *rest):
        read.append(folder.path.name.split("-")[1])
        return inspect(folder, *rest)

    monkeypatch.setattr(surveying, "inspect", noted)
    return tmp_path, read


def seen(root):
    return {run.folder.path.name: run.state for run in survey(root)}


def test_a_second_look_reads_only_what_is_not_finished_and_shows_the_same(study):
    root, read = study
    first = seen(root)
    assert sorted(read) == ["s1", "s2", "s3"]
    assert seen(root) == first and sorted(read[3:]) == ["s3"]


def test_a_result_that_was_replaced_deleted_or_damaged_is_read_again(study):
    root, read = study
    one, two, _ = (run.folder for run in survey(root))
    text = one.result_file("evaluate").read_bytes()
    one.result_file("evaluate").write_bytes(text)
    two.result_file("train").unlink()
    del read[:]
    states = [state.status for state in seen(root).values()]
    assert sorted(read) == ["s1", "s2", "s3"]
    assert states == ["finished", "stopped", "stopped"]


def test_what_is_kept_may_be_deleted_damaged_or_of_another_version(study):
    root, read = study
    expected = seen(root)
    kept = root / NAME
    lines = kept.read_bytes().splitlines(keepends=True)
    older = json.loads(lines[1])  # after the settings that the runs share
    del older["crc"], older["state"]["level"]
    for content in (None, b"", b"rubbish\n", lines[0][:50] + b"9" + lines[0][51:],
                    json.dumps(older).encode() + b"\n", b'{"time":1}\n' * 3):  # fmt: skip
        kept.unlink() if content is None else kept.write_bytes(content)
        del read[:]
        assert seen(root) == expected
        assert len(read) == 3 and len(kept.read_bytes().splitlines()) == 3


def test_it_is_kept_in_no_run_folder_and_not_where_nobody_may_write(study, monkeypatch):
    root, _ = study
    (run,) = [entry.folder for entry in survey(root) if "-s1-" in entry.place]
    before = set(run.path.iterdir())
    assert [entry.state.status for entry in survey(run.path)] == ["finished"]
    assert set(run.path.iterdir()) == before
    (root / NAME).unlink()

    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("s2m.monitor.index.write_file", refused)
    assert len(survey(root)) == 3 and not (root / NAME).exists()
