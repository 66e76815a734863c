"""Distillation survives anything, spends exactly its budget, and knows its teacher."""

import random
import shutil
import time
from dataclasses import asdict

import numpy as np
import pytest
import torch

from s2m.cluster.distill import compose_student
from s2m.console.errors import UserError
from s2m.evaluate import main as evaluate
from s2m.learning import collection as rollout
from s2m.policy.stored import Student
from s2m.run import checkpoint
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.status import FINISHED, STOPPED
from s2m.stages.distill import Distiller
from s2m.stages.execute import execute
from tests.faults.kills import killed_at
from tests.faults.runs import course, kinds, times


def assert_as_undisturbed(shaken, calm, kills):
    """The last attempt ends the run as if there had been no kills."""
    assert execute(shaken, last="distill") == FINISHED
    assert course(shaken) == course(calm)
    assert kinds(shaken).count("attempt") == kills + 1


def test_a_distillation_that_is_killed_five_times_ends_bit_equal(student):
    calm, shaken = student("calm"), student("shaken")
    assert execute(calm, last="distill") == FINISHED
    chance = random.Random(7)
    for epoch in (0, 2, 4, 6, 8):
        longest = min(times(calm)[epoch], 3 * min(times(calm)))  # whatever the machine did then
        killed_at(shaken, epoch, chance.uniform(0, longest), last="distill")
    assert_as_undisturbed(shaken, calm, 5)


@pytest.mark.slow
def test_five_kills_on_mujoco_at_places_of_every_kind(tmp_path):
    """In a collection, between epochs, in the judging of a round: wherever it is by then."""
    words = [
        "teacher=lqr", "distill=demo", "task.episode_steps=40", "distill.epochs=4",
        "distill.checkpoint_every=3", f"root={tmp_path}",
    ]  # fmt: skip
    config = asdict(compose_student(words))
    calm, shaken = (RunFolder.create(tmp_path / name, config) for name in ("calm", "shaken"))
    began = time.process_time(), time.perf_counter()
    assert execute(calm, last="distill") == FINISHED
    # Moments are counted in CPU time, and a busy machine may have held up a single epoch for long.
    share = (time.process_time() - began[0]) / (time.perf_counter() - began[1])
    took = [min(1.0, share) * seconds for seconds in times(calm)]
    plain, judged = min(took[1:4]), min(took[4], took[9])
    chance = random.Random(3)
    # A round is judged in its last epoch, 4 or 9, and then the next one is collected.
    for epoch, longest in ((0, plain), (2, plain), (3, plain), (4, judged), (9, judged)):
        killed_at(shaken, epoch, chance.uniform(0, longest), last="distill")
    assert_as_undisturbed(shaken, calm, 5)


def test_leaving_after_any_update_changes_nothing(student, monkeypatch):
    """A stop is heard between updates, control steps and judged steps: leave at each kind."""
    calm, shaken = student("calm"), student("shaken")
    assert execute(calm, last="distill") == FINISHED
    looks = 0

    def look_up(self):
        nonlocal looks
        looks += 1
        if looks in (5, 41, 60, 75, 110):
            self.stop.reason = "SIGTERM"
        return original(self)

    original = Distiller._look_up
    monkeypatch.setattr(Distiller, "_look_up", look_up)
    ends = [execute(shaken, last="distill")]
    while ends[-1] != FINISHED:
        ends.append(execute(shaken, last="distill"))
    assert ends.count(STOPPED) == 5
    assert course(shaken) == course(calm)


def test_the_schedule_is_followed_exactly(student):
    folder = student("one", "distill.keep_data=true")
    assert execute(folder) == FINISHED
    frame = Journal(folder).read()
    assert frame["iteration"].tolist() == list(range(1, 13))
    assert frame["distill/round"].tolist() == [0] * 3 + [1] * 4 + [2] * 5
    assert sorted(set(frame["distill/steps"])) == [200, 300, 400]
    assert frame["round/no_drop_5"].notna().tolist() == [i in (2, 6, 11) for i in range(12)]
    tags = [path.stem.split("-")[1] for path in checkpoint.saved(folder) if "-" in path.stem]
    assert tags == ["round0", "round1", "final"]
    files = sorted(path.name for path in (folder.path / "data").iterdir())
    assert files == ["round00-0.npy", "round00-1.npy", "round01-0.npy", "round02-0.npy"]
    result = folder.result("distill")
    assert result["iterations"] == 12 and [r["round"] for r in result["rounds"]] == [0, 1, 2]
    assert folder.result("evaluate")["successes"].keys() == {"1", "2", "3", "4", "5"}
    before = folder.result_file("distill").read_bytes()
    assert execute(folder) == FINISHED
    assert folder.result_file("distill").read_bytes() == before


def test_collected_steps_are_deleted_at_the_end(student):
    folder = student("one")
    execute(folder, last="distill")
    assert not (folder.path / "data").exists()


def test_the_later_rounds_are_the_students_own(student, monkeypatch):
    """The first round is the teacher's whatever the student; the next one is not."""
    folders = [student(f"s{seed}", f"seed={seed}", "distill.keep_data=true") for seed in (1, 2)]
    # The seed also draws the episodes: give both the same ones.
    original = rollout.seed_of
    monkeypatch.setattr(rollout, "seed_of", lambda seed, words: original(0, words))
    for folder in folders:
        execute(folder, last="distill")
    names = ("round00-0.npy", "round01-0.npy")
    first, later = (
        [np.load(folder.path / "data" / name)["proprio"] for folder in folders] for name in names
    )
    assert np.array_equal(*first) and not np.array_equal(*later)


def test_a_changed_teacher_is_noticed(teacher, student, tmp_path):
    copy = tmp_path / "copy" / teacher.path.name
    shutil.copytree(teacher.path, copy)
    folder = student("one", teacher=str(copy))
    newest = checkpoint.load(checkpoint.saved(teacher)[-1])
    for path in checkpoint.saved(teacher):
        (copy / "checkpoints" / path.name).unlink()
    newest.state["learner"]["learning_rate"] = 0.5
    checkpoint.save(RunFolder.open(copy), newest.iteration, newest.state, "final")
    with pytest.raises(UserError, match="no longer has the checkpoint"):
        execute(folder)


def test_a_policy_that_only_bears_the_name_of_the_final_one_cannot_teach(teacher, tmp_path):
    copy = RunFolder.open(shutil.copytree(teacher.path, tmp_path / "copy"))
    newest = checkpoint.load(checkpoint.saved(copy)[-1])
    checkpoint.save(copy, 1, newest.state).rename(copy.checkpoints / newest.path.name)
    cfg = compose_student([f"teacher={copy.path}", "distill=demo"])
    folder = RunFolder.create(tmp_path / "student", asdict(cfg))
    with pytest.raises(UserError, match="has lost its final checkpoint"):
        execute(folder)


def test_a_teacher_of_another_layout_cannot_teach(teacher, tmp_path):
    copy = tmp_path / "copy" / teacher.path.name
    shutil.copytree(teacher.path, copy)
    newest = checkpoint.load(checkpoint.saved(teacher)[-1])
    state = newest.state["learner"]["actor_state_dict"]
    state["mlp.0.weight"] = state["mlp.0.weight"][:, :-7]
    checkpoint.save(RunFolder.open(copy), newest.iteration, newest.state, "final")
    cfg = compose_student([f"teacher={copy}", "distill=demo"])
    folder = RunFolder.create(tmp_path / "student", asdict(cfg))
    with pytest.raises(UserError, match="cannot teach, other observations or sizes"):
        execute(folder)


def test_a_lost_data_file_is_one_line(student, monkeypatch):
    folder = student("one", "distill.keep_data=true")
    original = Distiller._judge

    def stop_in_round_one(self):
        if self.round == 1:
            self.stop.reason = "SIGTERM"
        return original(self)

    monkeypatch.setattr(Distiller, "_judge", stop_in_round_one)
    assert execute(folder, last="distill") == STOPPED
    (folder.path / "data" / "round00-0.npy").unlink()
    with pytest.raises(UserError, match="round00-0.npy is gone"):
        execute(folder)


def test_a_student_is_evaluated_with_faults_but_they_are_not_stored(student, capsys):
    folder = student("one")
    execute(folder)
    words = [f"run={folder.path}", "episodes=2", "levels=[1]"]
    evaluate([*words, "faults.dropout=0.3", "faults.false_contacts=0.1", "faults.delay=2"])
    assert "no-drop" in capsys.readouterr().out
    with pytest.raises(UserError, match="faults, delays .* are for trying"):
        evaluate([*words, "faults.delay=1", "store=true"])
    with pytest.raises(UserError, match="need run=FOLDER of a student"):
        evaluate(["agent=zero", "faults.delay=1"])


def test_the_loaded_student_is_the_distilled_one(student):
    folder = student("one")
    execute(folder, last="distill")
    policy = Student(folder.path)
    stored = checkpoint.load_latest(folder).state["student"]
    assert all(torch.equal(v, stored[n]) for n, v in policy.actor.state_dict().items())
