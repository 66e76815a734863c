"""Students on real SLURM daemons: after the tables of a sweep, and through a preemption."""

import json

import pytest

from s2m.cluster.followup import find_steps
from s2m.distill import main as distill
from s2m.run.events import Events
from s2m.run.folder import RunFolder, find_runs
from s2m.run.journal import Journal
from s2m.run.kind import STUDENT
from s2m.stages.execute import execute
from tests.cluster.jobs import TINY, job_of, launch
from tests.waiting import wait_for

pytestmark = pytest.mark.slurm

SHORT = [
    "distill.bc_steps=60", "distill.dagger_steps=30", "distill.num_envs=5", "distill.batch=60",
    "distill.round_episodes=1",
]  # fmt: skip
SWEEP = f"""# Two runs, their tables, the student of the better one, the report.
experiment: taught
cells:
  - seed=1,2 task.episode_steps=12
then:
  - analysis/make_tables.py --runs {{root}} --experiment {{experiment}} --out {{root}}/tables
  - -m s2m.distill teacher={{root}}/tables/teacher.json {" ".join(SHORT)}
  - analysis/make_tables.py --runs {{root}} --experiment {{experiment}} --out {{root}}/tables
"""


def test_a_student_follows_the_tables_and_is_in_the_last_report(slurm, tmp_path, monkeypatch):
    folder = tmp_path / "sweeps"
    folder.mkdir()
    (folder / "taught.yaml").write_text(SWEEP)
    monkeypatch.setattr("s2m.config.search.SWEEPS", folder)
    root = tmp_path / "runs"
    assert launch(root, "+sweep=taught") == 0
    steps = find_steps(root)
    assert len(steps) == 3
    wait_for(lambda: all(step.record.exists() for step in steps), 300)
    (student,) = (run for run in find_runs(root) if run.kind is STUDENT)
    chosen = json.loads((root / "tables" / "teacher.json").read_text())
    assert student.config()["taught_by"]["signature"] == chosen["signature"]
    assert student.result("evaluate") is not None
    assert f"student {student.path.name}" in (root / "tables" / "report.html").read_text()


def test_a_student_that_must_leave_its_node_goes_on_and_ends_the_same(slurm, tmp_path, capsys):
    launch(tmp_path / "runs", "seed=1", "task.episode_steps=12")
    (teacher,) = find_runs(tmp_path / "runs")
    wait_for(lambda: teacher.result("evaluate"))
    words = [f"teacher={teacher.path}", *SHORT, "distill.epochs=60"]
    job = [word for word in TINY if word.startswith("cluster")]
    assert distill([*words, *job]) == 0
    assert "submitted 1 run as job" in capsys.readouterr().out
    (student,) = (run for run in find_runs(tmp_path / "runs") if run.kind is STUDENT)
    wait_for(lambda: (Journal(student).last() or (0,))[0] >= 3)
    slurm.run("scontrol", "requeue", job_of(student))
    wait_for(lambda: student.result("evaluate"), 300)
    attempts = [event for event in Events(student).read() if event["kind"] == "attempt"]
    assert len(attempts) >= 2
    calm = RunFolder.create(tmp_path / "calm", student.config())
    execute(calm, last="distill")
    rounds = [run.result("distill")["rounds"] for run in (student, calm)]
    assert rounds[0] == rounds[1]
