"""The sync command: what goes along, what is passed over, what it says, and --watch."""

import errno
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

from s2m import sync as sync_command
from s2m.cluster.distill import compose_student
from s2m.console.errors import UserError
from s2m.run.folder import RunFolder, runs_at
from s2m.run.lock import RunLock
from s2m.run.status import FINISHED
from s2m.stages.execute import execute
from s2m.tracking.client import ClientError, Project
from s2m.tracking.send import Sender
from tests.analysis.synthetic import Spec, write_run
from tests.tracking.conftest import PROJECT, assert_mirrored, stored, sync, train, until
from tests.waiting import wait_for

EVALUATED = ["evaluate.episodes=2", "evaluate.selection_episodes=2", "task.episode_steps=4"]


@pytest.mark.slow
def test_tables_films_and_checkpoints_go_along(server, make):
    folder = make("run", "tracking.artifacts=true", *EVALUATED)
    assert execute(folder) == FINISHED
    frames = np.zeros((3, 16, 16, 3), dtype=np.uint8)
    imageio.imwrite(folder.path / "film.gif", frames)
    (folder.checkpoints / "my-model.pt").write_bytes(b"somebody's")
    done = sync(folder.path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_mirrored(server, folder)
    run = stored(server, folder)
    assert run.state == "finished"
    media = {key for row in run.rows() for key in row if key.startswith("media/")}
    assert media == {"media/success", "media/episodes", "media/film"}
    result = folder.result("evaluate")
    rates = {
        f"evaluate/no_drop_k{k}": c["no_drop"] / c["n"] for k, c in result["successes"].items()
    }
    assert rates.items() <= run.summary.items()
    levels = folder.result("train")["levels"]
    assert levels and all(run.summary[f"reached/level_{k}"] == at for k, at in levels.items())
    kept = [a for a in server.store.artifacts.values() if a["type"] == "checkpoint"]
    assert {alias for a in kept for alias in a["aliases"]} == {
        "latest", "final", *(f"level{k}" for k in levels)
    }  # fmt: skip
    final = next(a for a in kept if "final" in a["aliases"])
    assert final["state"] == "COMMITTED"
    (path,) = final["files"].values()
    assert server.store.files[path] == next(folder.checkpoints.glob("*-final.pt")).read_bytes()


@pytest.mark.slow
def test_watch_follows_a_run_that_cannot_send_itself(server, make):
    folder = make("run", "tracking=offline", *EVALUATED)
    command = [sys.executable, "-m", "s2m.sync", str(folder.path), "--watch", "--every", "0.2"]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        train(folder, {7: until(lambda: stored(server, folder) and stored(server, folder).history)},
              last="evaluate")  # fmt: skip
        wait_for(lambda: stored(server, folder).config.get("s2m", {}).get("value", {}).get("rows"))
    finally:
        watcher.send_signal(signal.SIGINT)
        said, errors = watcher.communicate(timeout=60)
    assert watcher.returncode == 130 and errors.strip() == "interrupted", errors
    assert "exp/run: sent" in said
    assert_mirrored(server, folder)
    assert stored(server, folder).state == "finished"


def test_disabled_and_damaged_runs_are_said(server, tmp_path):
    changes = {"tracking": {"mode": "disabled"}}
    write_run(tmp_path / "runs", Spec(iterations=9, changes=changes))
    broken = write_run(tmp_path / "runs", Spec(seed=41, iterations=9))
    broken.config_file.write_text("changed: true")
    done = sync(tmp_path / "runs")
    assert done.returncode == 1
    assert "config.yaml was changed after the run was created" in done.stdout
    assert "1 failed, 1 have tracking=disabled (--all sends them, too)" in done.stdout
    assert not server.store.runs
    sync(tmp_path / "runs", "--all", "--project", "loopback/other")
    assert {project for project, _ in server.store.runs} == {"other"}


@pytest.mark.parametrize(
    ("words", "environment", "said"),
    [
        (["nowhere"], {}, "nowhere is not a run folder and holds none"),
        (["runs", "--project", "a/b/c"], {}, "--project a/b/c: write entity/name"),
        (["runs", "--every", "0"], {}, "--every 0: must be a number of seconds above 0"),
        (["runs"], {"WANDB_API_KEY": ""}, "there is no W&B API key: wandb login"),
        (["runs"], {"WANDB_API_KEY": "x" * 40}, "refuses the API key: wandb login"),
        (
            ["runs", "--watch"],
            {"WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_X_GRAPHQL_RETRY_MAX": "1"},
            "cannot reach http://127.0.0.1:9 (connection refused)",
        ),
    ],
)
def test_mistakes_are_one_line(server, tmp_path, monkeypatch, words, environment, said):
    write_run(tmp_path / "runs", Spec(iterations=9))
    monkeypatch.setenv("NETRC", str(tmp_path / "none"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    command = [sys.executable, "-m", "s2m.sync", *words]
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path,
                          env=os.environ | {"PYTHONPATH": path})  # fmt: skip
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize(("entity", "said"), [("nobody", "knows no entity"), ("", "no permission")])
def test_a_place_that_takes_nothing_is_said(server, tmp_path, entity, said):
    server.close(PROJECT)
    write_run(tmp_path / "runs", Spec(iterations=9))
    done = sync(tmp_path / "runs", "--project", f"{entity}/p" if entity else PROJECT)
    assert done.returncode == 1 and said in done.stdout, done.stdout + done.stderr
    assert not done.stderr


class Sends(Sender):
    """A sender for whom the first folder cannot be written to, or the server be reached."""

    def __init__(self, error):
        self.error, self.rounds, self.forgotten, self.left = error, 0, 0, 0

    def follow(self, folder):
        if folder.identity.seed == 40:
            self.rounds += 1
            raise self.error
        if self.rounds == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return f"sent row {self.rounds}"

    def forget(self):
        self.forgotten += 1

    def leave(self):
        self.left += 1


@pytest.mark.parametrize(
    ("error", "said", "forgotten"),
    [
        (PermissionError(13, "Permission denied"), "PermissionError(13, 'Permission denied')", 0),
        (UserError("run.json is damaged"), "run.json is damaged", 0),
        (ClientError("cannot reach W&B"), "cannot reach W&B", 3),
    ],
)
def test_watch_goes_on_beside_a_folder_that_fails(tmp_path, capsys, error, said, forgotten):
    for seed in (40, 41):
        write_run(tmp_path, Spec(seed=seed, iterations=9))
    sends = Sends(error)
    options = sync_command._parse([str(tmp_path), "--watch", "--every", "0.01"])
    with pytest.raises(KeyboardInterrupt):
        sync_command._watch(sends, options)
    out = capsys.readouterr().out
    assert out.count(f"failed: {said}") == 1
    assert all(f"sent row {i}" in out for i in (1, 2, 3))
    assert (sends.forgotten, sends.left) == (forgotten, 1)


def test_watch_goes_on_when_the_disk_is_away_for_a_moment(tmp_path, capsys, monkeypatch):
    write_run(tmp_path, Spec(seed=41, iterations=9))
    sends, looks = Sends(None), []

    def look(folders):
        looks.append(folders)
        if len(looks) == 1:
            raise OSError(errno.ESTALE, "Stale file handle")
        sends.rounds = 3
        return runs_at(folders)

    monkeypatch.setattr(sync_command, "runs_at", look)
    options = sync_command._parse([str(tmp_path), "--watch", "--every", "0.01"])
    with pytest.raises(KeyboardInterrupt):
        sync_command._watch(sends, options)
    out = capsys.readouterr().out
    assert "Stale file handle" in out and "sent row 3" in out


def test_a_folder_that_cannot_be_read_for_a_moment_is_followed_on(make, tmp_path, monkeypatch):
    opened = []

    class Unlucky:
        rows = pushed = 0

        def __init__(self, *_, **__):
            opened.append(self)

        def push(self):
            self.pushed += 1
            if self.pushed == 1:
                raise UserError("cannot read journal.jsonl: Stale file handle")
            self.rows += 2

    monkeypatch.setattr("s2m.tracking.send.Session", Unlucky)
    monkeypatch.setattr(Sender, "project", lambda *_: None)
    folder, sender = make(), Sender(tmp_path)
    with RunLock.acquire(folder):
        with pytest.raises(UserError, match="Stale"):
            sender.follow(folder)
        assert sender.follow(folder) == "sent 2 rows"
    assert len(opened) == 1


def test_a_file_of_the_run_that_cannot_be_read_is_no_error_of_wandb(tmp_path):
    project = object.__new__(Project)
    project.entity, project.name = "team", "project"
    with pytest.raises(UserError, match="cannot read .*journal.jsonl: Is a directory") as caught:
        with project.explained(tmp_path):
            (tmp_path / "journal.jsonl").mkdir()
            (tmp_path / "journal.jsonl").read_bytes()
    assert not isinstance(caught.value, ClientError)
    with pytest.raises(ClientError, match="cannot reach"), project.explained(tmp_path):
        raise ConnectionError("connection refused")


@pytest.mark.slow
def test_a_student_is_sent_like_its_teacher(server, make, tmp_path):
    teacher = make("teacher", "tracking=offline", *EVALUATED, "budget.iterations=2")
    assert execute(teacher) == FINISHED
    words = [f"teacher={teacher.path}", "distill=demo", "distill.rounds=1", "distill.bc_steps=60",
             "distill.num_envs=5", "distill.epochs=2", "distill.round_episodes=1"]  # fmt: skip
    cfg = compose_student(words)
    assert cfg.tracking.mode == "offline"
    student = RunFolder.create(tmp_path / "exp" / "student", asdict(cfg))
    assert execute(student) == FINISHED
    done = sync(student.path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert_mirrored(server, student)
    run = stored(server, student)
    assert (run.group, run.job_type) == (student.identity.variant, "distill")
    assert any(path.endswith("/s2m/distill.json") for path in server.store.files)
