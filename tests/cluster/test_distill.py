"""What a command asks for: the teacher's task and budget, and one line when it cannot be had."""

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from s2m.cluster.distill import compose_student
from s2m.config.compose import load
from s2m.config.overrides import quoted
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.distill import main
from s2m.monitor.survey import survey
from s2m.run import checkpoint
from s2m.run.folder import RunFolder
from s2m.run.identity import folder_name, signature


def test_a_student_takes_over_what_its_teacher_had(teacher):
    cfg = compose_student([f"teacher={teacher.path}"])
    config = teacher.config()
    assert asdict(cfg.task) == config["task"] and asdict(cfg.sim) == config["sim"]
    assert asdict(cfg.evaluate) == config["evaluate"]
    assert (cfg.distill.name, cfg.experiment) == ("demo", "small")
    assert cfg.taught_by.name == teacher.path.name and len(cfg.taught_by.checkpoint) == 64
    assert cfg.environment().task.tactile_observation
    other = compose_student([f"teacher={teacher.path}", "distill=paper", "evaluate.episodes=7"])
    assert (other.distill.gru, other.evaluate.episodes) == (512, 7)
    assert other.evaluate.selection_episodes == config["evaluate"]["selection_episodes"]


@pytest.mark.parametrize("inside", ["", ".."])
def test_a_student_lies_beside_its_teacher_wherever_it_is_asked_for(teacher, monkeypatch, inside):
    monkeypatch.chdir(teacher.path / inside)
    cfg = compose_student([f"teacher={teacher.path.name if inside else '.'}"])
    assert Path(cfg.root).resolve() == teacher.path.parents[1].resolve()
    assert cfg.experiment == "small"


def test_the_paper_budget_is_the_papers():
    cfg = compose_student(["teacher=lqr", "distill=paper"]).distill
    assert (cfg.rounds, cfg.bc_steps, cfg.dagger_steps) == (8, 400_000, 200_000)
    assert (cfg.batch, cfg.teacher_batch, cfg.learning_rate) == (20_000, 2048, 5e-4)
    assert (cfg.channels, cfg.gru, cfg.embedding) == (64, 512, 64)
    assert cfg.total_epochs() == 8 * 2000 + 500 * 28


def test_who_a_student_is_depends_on_the_teacher_and_not_on_its_place(teacher, tmp_path):
    copy = tmp_path / "elsewhere" / "renamed"
    shutil.copytree(teacher.path, copy)
    first, second = (asdict(compose_student([f"teacher={p}"])) for p in (teacher.path, copy))
    assert first["teacher"] != second["teacher"]
    assert signature(first) == signature(second)
    changed = first | {"taught_by": first["taught_by"] | {"checkpoint": "0" * 64}}
    assert signature(changed) != signature(first)
    assert folder_name(first).startswith("tactset-s40-")


@pytest.mark.parametrize("name", ["it's", "a(b", "a=b, c", 'say "x"', "${a}"])
def test_any_path_can_teach_with_quotes_and_without(teacher, tmp_path, name):
    copy = tmp_path / name / "small" / "run"
    shutil.copytree(teacher.path, copy)
    for word in (f"teacher={copy}", f"teacher={quoted(str(copy))}"):
        assert compose_student([word]).teacher == str(copy)


def test_an_agent_can_be_given_in_quotes():
    assert compose_student(["teacher='lqr'"]).taught_by.variant == "lqr"


def test_the_choice_of_the_analysis_can_teach(teacher, tmp_path):
    chosen = tmp_path / "teacher.json"
    chosen.write_text(json.dumps({"run": "x", "path": str(teacher.path)}))
    assert compose_student([f"teacher={chosen}"]).taught_by.name == teacher.path.name
    known = {"run": "x", "path": str(teacher.path), "partial": ["pfds-s41"]}
    chosen.write_text(json.dumps(known))
    with pytest.raises(UserError, match=r"before 1 other run had ended \(pfds-s41\): wait for it"):
        compose_student([f"teacher={chosen}"])
    student = compose_student([f"teacher={chosen}"], partial=True)
    assert student.taught_by.name == teacher.path.name
    chosen.write_text(json.dumps({"run": None, "reasons": []}))
    with pytest.raises(UserError, match="names no teacher"):
        compose_student([f"teacher={chosen}"])


def test_bad_teachers_are_one_line_each(teacher, student, tmp_path):
    config = asdict(load(RunCfg, ["budget=demo"]))
    young = RunFolder.create(tmp_path / "young", config).path
    bare = tmp_path / "bare"
    shutil.copytree(teacher.path, bare)
    shutil.rmtree(bare / "checkpoints")
    (tmp_path / "empty").mkdir()
    for words, line in {
        (): "teacher= is missing: give a run folder",
        ("teacher=",): "teacher= is missing",
        (f"teacher={tmp_path / 'nowhere'}",): "there is no such folder; allowed is a run folder",
        (f"teacher={tmp_path / 'empty'}",): "is not a run folder: it has no run.json",
        (f"teacher={young}",): "has not finished training; wait for it",
        (f"teacher={bare}",): "its checkpoint is gone",
        (f"teacher={student('pupil').path}",): "is a student itself",
        (f"teacher={teacher.path}", "task.episode_steps=9"): "learns in the task of its teacher",
        (f"teacher={teacher.path}", "distill=papr"): "unknown distill 'papr'. Did you mean",
        (f"teacher={teacher.path}", "distill.rounds=0"): "distill.rounds = 0: allowed 1 or more",
        (f"teacher={teacher.path}", "distill.labels=x"): "unknown distill.labels 'x'",
        (f"teacher={teacher.path}", "experiment=../x"): "experiment = '../x'",
    }.items():
        with pytest.raises(UserError) as error:
            compose_student(list(words))
        assert line in str(error.value) and "\n" not in str(error.value)


def test_only_the_final_policy_teaches(teacher, tmp_path):
    copy = RunFolder.open(shutil.copytree(teacher.path, tmp_path / "copy"))
    (final,) = copy.checkpoints.glob("*-final.pt")
    for name in ("model.pt", "000000009-best-of-all.pt"):
        shutil.copy(final, copy.checkpoints / name)
    found, expected = (
        compose_student([f"teacher={run.path}"]).taught_by for run in (copy, teacher)
    )
    assert found == expected
    final.unlink()
    checkpoint.save(copy, 1, {})
    with pytest.raises(UserError, match=r"has lost its final checkpoint .* of iteration 1 of 2\)"):
        compose_student([f"teacher={copy.path}"])


def test_an_archived_run_can_teach():
    archived = next(Path(__file__).parents[2].glob("results/desktop/encoders/pfds-s40-*"))
    assert compose_student([f"teacher={archived}"]).taught_by.iteration == 500


def test_the_command_distils_evaluates_and_goes_on(teacher, tmp_path, capsys):
    words = [f"teacher={teacher.path}", f"root={tmp_path}", "distill.rounds=2"]
    assert main([*words, "dry=true"]) == 0
    assert "1 of 1 runs would be executed" in capsys.readouterr().out
    assert not list(tmp_path.glob("*/tactset-*"))
    assert main(words) == 0
    (path,) = tmp_path.glob("small/tactset-*")
    out = capsys.readouterr().out
    assert f"taught by {teacher.path.name}" in out and "round 1 of 2" in out
    assert f"finished: {path}" in out
    (entry,) = survey(tmp_path)
    assert (entry.state.status, entry.state.iteration, entry.state.total) == ("finished", 7, 7)
    stamp = (path / "attempt.json").read_bytes()
    assert main(words) == 0
    assert (path / "attempt.json").read_bytes() == stamp
    assert main([*words, "dry=true", "seed=41"]) == 0
    assert "of one core" in capsys.readouterr().out


def test_help_tells_every_setting(capsys):
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert "distill.gru=128" in out and "teacher=" in out


def test_help_shows_the_values_of_the_chosen_budget(capsys):
    assert main(["--help", "distill=paper"]) == 0
    assert "distill.gru=512" in capsys.readouterr().out
