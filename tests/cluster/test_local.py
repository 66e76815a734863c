"""Sweeps on the cores of this machine, with real processes."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from s2m import status
from s2m.launch import main
from s2m.run import checkpoint
from s2m.run.events import Events
from s2m.run.folder import find_runs
from s2m.run.journal import Journal

TINY = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=6",
    "encoder.width=8", "encoder.embedding=8",
]  # fmt: skip


def launch(root, *words):
    return [sys.executable, "-m", "s2m.launch", "-m", *TINY, f"root={root}", *words]


def states(root):
    return {folder.path.name.rsplit("-", 1)[0]: s.status for folder, s in status.survey(root)}


def test_a_sweep_runs_once_and_only_what_is_missing_runs_again(tmp_path, capsys):
    root = tmp_path / "with space, 'quotes' and ü"
    words = ["-m", *TINY, f'root="{root}"', "encoder=pfds,dshc", "seed=1,2"]
    assert main(words) == 0
    assert set(states(root).values()) == {"finished"} and len(states(root)) == 4
    capsys.readouterr()
    assert main([*words, "dry=true"]) == 0
    assert "0 of 4 runs would be executed" in capsys.readouterr().out
    victim = next(find_runs(root))
    journals = {run.path: run.journal.read_bytes() for run in find_runs(root)}
    subprocess.run(["rm", "-r", victim.path], check=True)
    assert main(words) == 0
    assert "3 of 4 runs are finished and left alone" in capsys.readouterr().out
    for run in find_runs(root):
        if run.path != victim.path:
            assert run.journal.read_bytes() == journals[run.path]
    assert set(states(root).values()) == {"finished"}


def test_a_failing_run_does_not_stop_the_others_and_shows_in_the_exit_code(tmp_path, capsys):
    words = ["-m", *TINY, f"root={tmp_path}", "seed=1,2", "ppo.kl_target=0"]
    assert main([*words, "ppo.learning_rate=1e30,1e-3"]) == 1
    runs = status.survey(tmp_path)
    assert sorted(state.status for _, state in runs) == ["failed", "failed", "finished", "finished"]
    failed = next(state for _, state in runs if state.status == "failed")
    assert "diverged at iteration" in failed.failure
    capsys.readouterr()
    assert main([*words, "ppo.learning_rate=1e30", "dry=true"]) == 0
    out = capsys.readouterr().out
    assert "0 of 2 runs would be executed" in out and "retry_failed=true" in out
    assert main([*words, "ppo.learning_rate=1e30", "dry=true", "retry_failed=true"]) == 0
    assert "2 of 2 runs would be executed" in capsys.readouterr().out


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None
        time.sleep(0.05)


def started(root):
    return any(Journal(run).last() for run in find_runs(root))


def test_ctrl_c_checkpoints_the_runs_and_the_same_command_goes_on(tmp_path):
    command = launch(tmp_path, "seed=1,2,3", "budget.iterations=3000", "cluster.workers=2")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: started(tmp_path), process)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=90)
    assert process.returncode == 130 and "write their checkpoints" in out
    begun = [run for run in find_runs(tmp_path) if run.attempt.exists()]
    assert 1 <= len(begun) <= 2
    for run in begun:
        stopped_at = checkpoint.load_latest(run).iteration
        # A run that was still being built stops before its first iteration, without a row.
        assert (Journal(run).last() or (0,))[0] == stopped_at
        assert Events(run).read()[-1]["kind"] == "stopped"
    assert set(states(tmp_path).values()) <= {"resume", "new"}


def test_killing_the_launcher_stops_its_runs_softly(tmp_path):
    command = launch(tmp_path, "seed=1", "budget.iterations=3000")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: started(tmp_path), process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 60
    while set(states(tmp_path).values()) != {"resume"}:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_two_launches_at_once_run_every_cell_once(tmp_path):
    command = launch(tmp_path, "seed=1,2,3,4")
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(timeout=120) for process in both] == [0, 0]
    deadline = time.monotonic() + 60
    while set(states(tmp_path).values()) != {"finished"}:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    for run in find_runs(tmp_path):
        frame = Journal(run).read()
        assert frame["iteration"].tolist() == [1, 2, 3, 4, 5, 6]
        assert run.result("train")["attempts"] == 1


def test_status_as_table_and_json(tmp_path, capsys):
    main(["-m", *TINY, f"root={tmp_path}", "seed=1"])
    capsys.readouterr()
    status.main([str(tmp_path)])
    assert "finished" in capsys.readouterr().out
    status.main([str(tmp_path), "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["status"], row["iteration"], row["total"]) == ("finished", 6, 6)


def test_several_cells_need_the_flag(tmp_path):
    from s2m.errors import UserError

    with pytest.raises(UserError, match="add -m"):
        main([*TINY, "seed=1,2", f"root={tmp_path}"])


def test_launch_and_status_start_without_torch_mujoco_or_wandb():
    heavy = ("torch", "mujoco", "wandb", "isaaclab", "pandas")
    code = (
        "import sys; import s2m.launch, s2m.status; s2m.launch.main(['--help']); "
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]", done.stderr
