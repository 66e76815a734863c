"""Students in the analysis: beside their teachers, overridden, launched by --distill."""

import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pyarrow import parquet

from analysis.build import main, options
from analysis.distill import again, distil
from analysis.figures.draw import render
from analysis.figures.tactset import rounds, shown, tactset
from analysis.sources.local import load
from analysis.stats.proportions import Pairs, newcombe_paired
from analysis.stats.resampling import crossed
from analysis.study import make_study
from analysis.tables.tactset import tactset as table
from analysis.teacher import choose, override, reasons
from s2m.console.errors import UserError
from s2m.launch import main as launch
from s2m.run.seal import MARK
from tests.analysis.conftest import ROOT
from tests.analysis.synthetic import DATA, FELT, Spec, write_run, write_student

GOOD = {k: (50, 90) for k in range(1, 6)}
BEST = {k: (60, 95) for k in range(1, 6)}
PUPIL = {k: (9, 70) for k in range(1, 6)}


def study_with(root, *, other=False, **fields):
    """Two evaluated runs, the second the best, and a student of it or of the other."""
    levels = {2: 1, 3: 2, 4: 3, 5: 4}
    runs = [
        write_run(root, Spec(seed=s, levels=levels, rates=r)) for s, r in ((1, GOOD), (2, BEST))
    ]
    write_student(root, runs[0 if other else 1], PUPIL, **fields)
    return make_study(load(root))


def text(made):
    return "\n".join(" | ".join(cell.text for cell in line.cells) for line in made.lines)


def test_a_student_stands_beside_its_teacher_with_the_difference(tmp_path):
    made = table(study_with(tmp_path))
    assert "teacher pfds-s2-" in text(made) and "student tactset-s40-" in text(made)
    assert "95% [89, 98], strict 60%" in text(made) and "70% [60, 78], strict 9%" in text(made)
    # Of 100 starts 70 are mastered by both, 25 by the teacher only.
    low, high = newcombe_paired(Pairs(70, 0, 25, 5))[1]
    assert f"−25 [−{-100 * low:.0f}, −{-100 * high:.0f}]" in text(made) and high - low < 0.19
    assert not any("overridden" in note for note in made.notes)
    record = made.records[4]
    assert (record["no_drop"], record["teacher_no_drop"]) == (0.7, 0.95)


def test_seeds_of_one_student_have_a_mean_over_seeds_and_starts(tmp_path):
    teacher = write_run(tmp_path, Spec(seed=2, levels={2: 1, 3: 2, 4: 3, 5: 4}, rates=BEST))
    for seed, kept in ((40, 70), (41, 80), (42, 90)):
        write_student(tmp_path, teacher, {k: (9, kept) for k in range(1, 6)}, seed=seed)
    write_student(tmp_path, teacher, PUPIL, changes={"distill": {"memory": False}})
    made = table(make_study(load(tmp_path)))
    assert text(made).count("teacher pfds-s2-") == 1 and text(made).count("student tactset-") == 4
    mean, gap = (line for line in made.lines if "mean" in line.cells[0].text)
    assert mean.cells[0].text == "mean of 3 students, no-drop" and len(mean.runs) == 3
    kept = np.array([np.arange(100) < hits for hits in (70, 80, 90)])
    low, high = (round(100 * end) for end in crossed([kept], [1]).interval)
    assert mean.cells[1].text == f"80% [{low}, {high}]" and high - low > 15
    assert gap.cells[5].text.startswith("−15 [−")


def test_episodes_that_cannot_be_paired_are_taken_as_independent(tmp_path):
    study = study_with(tmp_path)
    assert "Newcombe's for pairs" in table(study).notes[1]
    assert table(study).records[4]["paired"] is True
    path = next(tmp_path.glob("*/tactset-*/episodes.parquet"))
    parquet.write_table(parquet.read_table(path).drop_columns("episode"), path)
    made = table(make_study(load(tmp_path)))
    assert "−25 [−35, −15]" in text(made) and made.records[4]["paired"] is False
    assert "Newcombe's for independent ones" in made.notes[1]


def test_a_student_of_another_than_the_best_is_pointed_out(tmp_path):
    made = table(study_with(tmp_path, other=True))
    assert any("was not distilled from the best teacher, pfds-s2-" in note for note in made.notes)


def test_a_run_of_other_code_does_not_stand_in_for_the_teacher(tmp_path):
    first = write_run(tmp_path, Spec(experiment="old", commit="dead" * 10, rates=GOOD))
    for seed in (40, 41):
        write_run(tmp_path, Spec(seed=seed, experiment="new", rates=BEST))
    write_student(tmp_path, first, PUPIL)
    for mixed in (False, True):  # Mixed, both are the same run, of which the teacher counts.
        study = make_study(load(tmp_path), mix_code=mixed)
        assert len(study.students) == mixed
    study = make_study(load(tmp_path))
    (said,) = (item.reason for item in study.left_out if item.id.startswith("encoders/tactset"))
    name = first.path.name
    assert said == f"its teacher is not compared: {name} of old/{name}, but its like in new/{name}"


def test_a_teacher_that_a_better_run_replaces_takes_its_student_along(tmp_path):
    first = write_run(tmp_path, Spec(experiment="old", commit="dead" * 10))
    write_run(tmp_path, Spec(experiment="new", rates=BEST))
    write_student(tmp_path, first, PUPIL)
    assert make_study(load(tmp_path), mix_code=True).students == []


def test_a_teacher_that_was_moved_is_known_by_its_checkpoint(tmp_path):
    teacher = write_run(tmp_path, Spec(rates=GOOD))
    write_student(tmp_path, teacher, PUPIL, experiment="students")
    (tmp_path / "encoders").rename(tmp_path / "moved")
    assert make_study(load(tmp_path)).students == []
    place = tmp_path / "moved" / teacher.path.name / "checkpoints"
    place.mkdir(exist_ok=True)
    for sum_, known in (("b" * 64, 0), ("a" * 64, 1)):
        (place / "000030000-final.pt").write_bytes(MARK + sum_.encode() + b"\n")
        assert len(make_study(load(tmp_path)).students) == known


def test_other_episodes_than_the_teachers_are_not_compared(tmp_path):
    study = study_with(tmp_path, episode_seed=77)
    assert "only its evaluation, made with seed = 77" in study.left_out[-1].reason
    assert "left out" in text(table(study)) and "pending" not in text(table(study))


def test_without_a_student_there_is_no_table_and_no_figure(study_of):
    study = study_of(Spec(rates=GOOD))
    assert [make(study) for make in (table, tactset, rounds)] == [None] * 3


def test_figures_show_the_student_of_the_best_teacher(stored):
    student = shown(stored)
    assert student is not None and student.evaluation is not None
    assert student.evaluation.reported[5].no_drop == FELT[5][1]
    for figure in (tactset(stored), rounds(stored)):
        assert figure is not None
        assert figure.runs[0] == student.id and render(figure)["png"]


def test_a_name_is_no_mathematics(tmp_path):
    study = study_with(tmp_path)
    named = replace(study.students[0], name=r"$\frac$")
    figure = tactset(replace(study, students=[named]))
    assert figure and render(figure)["png"]


def test_students_in_the_making_have_their_rounds(stored):
    running = [student for student in stored.students if student.state == "running"]
    assert [student.rounds for student in running] == [[{1: 0.5, 2: 0.25, 5: 0.0}]]


def test_the_choice_can_be_overridden_by_name_id_or_path(tmp_path):
    study = study_with(tmp_path)
    choice = choose(study)
    other = choice.ranking[1].run
    for name in (other.name, other.id, other.link):
        changed = override(choice, study, name)
        assert changed.teacher is other and "Overridden by --teacher" in reasons(changed)[-1]
    same = override(choice, study, choice.best.run.name)
    assert same.instead is None and same.teacher is choice.best.run
    with pytest.raises(UserError, match="unknown teacher 'pfds-s9'"):
        override(choice, study, "pfds-s9")


def test_a_teacher_that_is_not_finished_cannot_override(study_of):
    study = study_of(Spec(seed=1, rates=GOOD), Spec(seed=2, state="running", iteration=5))
    late = next(run for run in study.runs if run.seed == 2)
    with pytest.raises(UserError, match="its training is running, not finished"):
        override(choose(study), study, late.name)


def test_without_a_teacher_nothing_is_distilled():
    with pytest.raises(UserError, match="--distill: there is no teacher yet"):
        distil(None, None, options(["--distill"]))


def test_the_second_report_is_made_by_the_same_command_from_anywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--runs", "r {1}", "--experiment", "e", "--teacher", "x", "--mix-code", "--distill"]
    choice: Any = SimpleNamespace(teacher=SimpleNamespace(id="e/x-s1"))
    line = again(options([*words, "cluster=slurm"]), choice)
    assert f"'{tmp_path}/r {{{{1}}}}'" in line and "--distill" not in line
    assert line.endswith("--experiment e --teacher e/x-s1 --mix-code")


@pytest.mark.slow
def test_distill_teaches_the_chosen_and_reports_both(tmp_path):
    """The whole chain without physics: runs, tables, student, report."""
    root, out = tmp_path / "runs", tmp_path / "out"
    words = [
        "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.iterations=2", "experiment=small",
        "task.episode_steps=12", "evaluate.episodes=4", "evaluate.selection_episodes=4",
    ]  # fmt: skip
    assert launch(["-m", *words, "seed=40,41", f"root={root}"]) == 0
    choice = choose(make_study(load(root)))
    other = choice.ranking[1].run
    done = subprocess.run(
        [sys.executable, "analysis/make_tables.py", "--runs", str(root), "--out", str(out)]
        + ["--teacher", other.name, "--distill", "distill.rounds=2", "distill.bc_steps=60"]
        + ["distill.dagger_steps=30"],
        capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tactset-s40-" in done.stdout and ": finished" in done.stdout
    chosen = json.loads((out / "teacher.json").read_text())
    assert (chosen["run"], chosen["best"]) == (other.id, choice.best.run.id)
    assert chosen["overridden"]
    (student,) = root.glob("small/tactset-*")
    report = (out / "report.html").read_text()
    assert f"student {student.name}" in report and f"teacher {other.name}" in report
    assert "Overridden by --teacher" in report


def test_bad_settings_of_the_student_are_one_line_before_anything_is_made(tmp_path):
    """Runs that are only synthetic have no checkpoint: everything up to it works."""
    words = ["--runs", str(DATA / "runs"), "--out", str(tmp_path)]
    with pytest.raises(UserError, match="chosen before 3 other runs had ended .* with --partial"):
        main([*words, "--distill", "distill=demo"])
    words.append("--partial")
    with pytest.raises(UserError, match="its checkpoint is gone"):
        main([*words, "--distill", "distill=demo"])
    with pytest.raises(UserError, match="unknown distill 'dem'"):
        main([*words, "--distill", "distill=dem"])
    with pytest.raises(UserError, match="--distill takes .*; choose it with --teacher"):
        main([*words, "--distill", "teacher=lqr"])
    assert not list(tmp_path.iterdir())
