"""What is known of jobs: by what SLURM tells, and by what it does not."""

import pytest

from s2m.cluster.commands import Job
from s2m.cluster.manifest import FILE, Ledger, new_submission
from s2m.cluster.queue import Inquiry, Queue

HERE = Inquiry("here")
MINE = {"code": "", "cluster": "here", "packs": [["exp/a"], ["exp/b"]], "attempts": [[0], [0]]}


@pytest.fixture
def entry(tmp_path):
    """Return a function that writes the manifest of an array of two runs."""

    def write(number=1, user="", **content):
        found = new_submission(tmp_path, number, "exp", **(MINE | content))
        if user:
            found.note(user=user)
        found.write()
        return found

    return write


def job(entry, index, state, number="70"):
    return Job(f"{number}_{index}", f"{int(number) + index}", entry.manifest.name, state, "None")


def queue(tmp_path, *jobs, asked=HERE, silent=False):
    return Queue(jobs, silent, [Ledger.read(tmp_path)], asked)


@pytest.mark.parametrize("first, second", [("RUNNING", "PENDING"), ("PENDING", "")])
def test_the_job_that_is_at_a_run_counts_before_a_later_one(tmp_path, entry, first, second):
    older, newer = entry(1, job="70"), entry(2, job="80")
    jobs = [job(older, 0, first), *([job(newer, 0, second, "80")] if second else [])]
    found = queue(tmp_path, *jobs).of(tmp_path / "exp" / "a")
    assert found.id == "70_0" and found.submission.folder == older.folder
    live = queue(tmp_path, *jobs).live(tmp_path / "exp" / "a")
    assert [number for _, number in live] == ["70", "80"][: len(jobs)]


def test_of_jobs_that_are_gone_the_last_counts(tmp_path, entry):
    entry(1, job="70")
    entry(2, job="80")
    found = queue(tmp_path).of(tmp_path / "exp" / "b")
    assert found.id == "80_1" and found.job is None and not found.unknown
    assert queue(tmp_path).of(tmp_path / "exp" / "c") is None
    assert queue(tmp_path).of(tmp_path / "elsewhere" / "exp" / "a") is None


@pytest.mark.parametrize(
    "known, user, said",
    [
        ({"silent": True}, "", "squeue does not answer"),
        ({"asked": Inquiry(absent=True)}, "", "there is no SLURM here"),
        ({"asked": Inquiry("there")}, "", "this is cluster there"),
        ({"asked": Inquiry("here", hides_jobs=True)}, "somebody", "does not show the jobs of oth"),
        ({"asked": Inquiry("here", hides_jobs=True)}, "", ""),
        ({"asked": Inquiry("there", everywhere=True)}, "", ""),
        ({"asked": HERE}, "somebody", ""),
    ],
)
def test_what_slurm_does_not_tell_of_is_gone_only_where_it_would(
    tmp_path, entry, known, user, said
):
    written = entry(job="70", user=user)
    found = queue(tmp_path, **known).of(tmp_path / "exp" / "b")
    assert said in found.unknown and bool(said) == bool(found.unknown)
    assert f"delete {written.folder / FILE}" in found.whose
    if said and not known.get("silent"):
        written.exit_file(1).write_text("0")  # the script itself has said that it ended
        assert not queue(tmp_path, **known).of(tmp_path / "exp" / "b").unknown
    written.note(over=True)
    assert not queue(tmp_path, **known).of(tmp_path / "exp" / "b").unknown


@pytest.mark.parametrize(
    "asked, clusters, covered",
    [
        (Inquiry("here"), "", True),
        (Inquiry("there"), "", False),
        (Inquiry(), "", True),
        (Inquiry("here"), "far", False),
        (Inquiry("there", frozenset({"far"})), "far", True),
    ],
)
def test_an_answer_covers_its_cluster_and_those_that_were_named(entry, asked, clusters, covered):
    assert asked.covers(entry(clusters=clusters).manifest) is covered


def test_a_launch_settles_what_another_has_left_open(tmp_path, entry, monkeypatch):
    """Found by name, by a log, by the accounting; over; never submitted; of another user."""
    accounted, lost = entry(4), entry(5)
    names = {accounted.manifest.name: "90"}
    monkeypatch.setattr("s2m.cluster.queue.job_named", lambda name, *_: names.get(name, ""))
    waiting, begun, ended, others = entry(1), entry(2), entry(3, job="60"), entry(6, user="x")
    (begun.folder / "55_0_log.out").touch()
    asked = queue(tmp_path, job(waiting, 1, "PENDING"))
    asked.settle()
    found = {
        e.manifest.number: (e.manifest.job, e.manifest.over) for e in Ledger.read(tmp_path).entries
    }
    assert found == {
        1: ("70", False), 2: ("55", True), 3: ("60", True), 4: ("90", True), 6: ("", False)
    }  # fmt: skip
    assert not lost.folder.exists() and others.file.exists() and ended.file.exists()
    assert [entry.manifest.number for entry in asked.ledgers[tmp_path].entries] == [1, 2, 3, 4, 6]


def test_what_was_accepted_counts_at_once_as_waiting(tmp_path, entry):
    asked = queue(tmp_path)
    fresh = entry(3, job="99")
    asked.add(tmp_path, fresh)
    found = asked.of(tmp_path / "exp" / "b")
    assert found.id == "99_1" and found.job.waits


@pytest.mark.parametrize("known", [{"silent": True}, {"asked": Inquiry(absent=True)}])
def test_a_queue_that_cannot_tell_says_so(known):
    assert Queue([], **known).has("7") is None
    assert Queue([]).has("7") is False
