"""Sweeps on the cores of this machine, with real processes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

from s2m import cancel, logs, status
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.monitor.survey import survey
from s2m.run import checkpoint
from s2m.run.events import Events
from s2m.run.folder import find_runs
from s2m.run.journal import Journal
from s2m.run.lock import current_attempt
from tests.cluster.jobs import states
from tests.waiting import wait_for
from tests.words import latest

TINY = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=6",
    "encoder.width=8", "encoder.embedding=8", "evaluate.episodes=2",
    "evaluate.selection_episodes=2",
]  # fmt: skip
ENDLESS = ["budget.iterations=3000", "sim.pause=0.02"]
"""Four idle minutes: whatever ends earlier was told to."""


def launch(root, *words):
    return [sys.executable, "-m", "s2m.launch", "-m", *latest(*TINY, f"root={root}", *words)]


def test_a_sweep_runs_once_and_only_what_is_missing_runs_again(tmp_path, capsys):
    root = tmp_path / "with space, 'quotes' and ü"
    words = ["-m", *TINY, f'root="{root}"', "encoder=pfds,dshc"]
    assert main(words) == 0
    assert set(states(root).values()) == {"finished"} and len(states(root)) == 2
    capsys.readouterr()
    assert main([*words, "dry=true"]) == 0
    assert "0 of 2 runs would be executed" in capsys.readouterr().out
    victim = next(find_runs(root))
    journals = {run.path: run.journal.read_bytes() for run in find_runs(root)}
    subprocess.run(["rm", "-r", victim.path], check=True)
    assert main(words) == 0
    assert "1 of 2 runs finished, skipped" in capsys.readouterr().out
    for run in find_runs(root):
        if run.path != victim.path:
            assert run.journal.read_bytes() == journals[run.path]
    assert set(states(root).values()) == {"finished"}


def test_a_failing_run_does_not_stop_the_others_and_shows_in_the_exit_code(tmp_path, capsys):
    words = ["-m", *TINY, f"root={tmp_path}", "ppo.kl_target=0"]
    assert main([*words, "ppo.learning_rate=1e30,1e-3", "cluster.workers=1"]) == 1
    failed, _ = runs = sorted(survey(tmp_path), key=lambda run: run.state.status)
    assert [run.state.status for run in runs] == ["failed", "finished"]
    assert "diverged at iteration" in failed.state.failure and failed.verdict == "not a number"
    capsys.readouterr()
    status.main([str(tmp_path)])
    out = capsys.readouterr().out
    assert ": not a number\n" in out and "  | " in out and "diverged at iteration" in out
    assert main([*words, "ppo.learning_rate=1e30", "dry=true"]) == 0
    out = capsys.readouterr().out
    assert "0 of 1 runs would be executed" in out and "retry_failed=true" in out
    assert main([*words, "ppo.learning_rate=1e30", "dry=true", "retry_failed=true"]) == 0
    assert "1 of 1 runs would be executed" in capsys.readouterr().out


def started(root):
    return any(Journal(run).last() for run in find_runs(root))


def test_ctrl_c_checkpoints_the_runs_and_the_same_command_goes_on(tmp_path):
    command = launch(tmp_path, "seed=1,2,3", *ENDLESS, "cluster.workers=2")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: started(tmp_path), child=process)
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
    assert set(states(tmp_path).values()) <= {"stopped", "pending"}


def test_killing_the_launcher_stops_its_runs_softly(tmp_path):
    command = launch(tmp_path, "seed=1", *ENDLESS)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: started(tmp_path), child=process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_for(lambda: set(states(tmp_path).values()) == {"stopped"})
    (run,) = find_runs(tmp_path)
    assert Events(run).read()[-1]["kind"] == "stopped"
    assert checkpoint.load_latest(run).iteration == Journal(run).last()[0]


def test_two_launches_at_once_run_every_cell_once(tmp_path):
    command = launch(tmp_path, "seed=1,2")
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(timeout=250) for process in both] == [0, 0]
    wait_for(lambda: set(states(tmp_path).values()) == {"finished"})
    for run in find_runs(tmp_path):
        frame = Journal(run).read()
        assert frame["iteration"].tolist() == [1, 2, 3, 4, 5, 6]
        assert run.result("train")["attempts"] == 1


@pytest.fixture(scope="module")
def one_finished(tmp_path_factory):
    """A root with one run."""
    root = tmp_path_factory.mktemp("one") / "runs"
    assert main(["-m", *TINY, f"root={root}", "seed=1"]) == 0
    return root


def test_status_as_table_and_json(one_finished, capsys):
    status.main([str(one_finished)])
    assert "finished" in capsys.readouterr().out
    status.main([str(one_finished), "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["status"], row["iteration"], row["total"]) == ("finished", 6, 6)


def test_status_of_an_empty_folder_says_so(tmp_path, capsys):
    assert status.main([str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"no runs in {tmp_path}\n"


def test_a_killed_run_says_so_and_is_resumed(tmp_path):
    command = launch(tmp_path, "seed=1", "budget.iterations=30", "sim.pause=0.05")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: started(tmp_path), child=process)
    (run,) = find_runs(tmp_path)
    os.kill(current_attempt(run).pid, signal.SIGKILL)
    assert process.wait(timeout=60) == 1
    (found,) = survey(tmp_path)
    assert (found.state.status, found.verdict) == ("stopped", "killed")
    assert found.state.last_event == "killed by SIGKILL"
    assert subprocess.run(command, stdout=subprocess.DEVNULL).returncode == 0
    assert run.result("evaluate") is not None


def test_dry_run_tells_what_it_will_cost_once_something_was_measured(
    one_finished, tmp_path, capsys
):
    words = ["-m", *TINY, "seed=1,2", "dry=true"]
    main([*words, f"root={tmp_path}"])
    assert "time and disk are unknown: no run of budget demo on dummy" in capsys.readouterr().out
    main([*words, f"root={one_finished}"])
    out = capsys.readouterr().out
    assert "1 of 2 runs would be executed" in out
    assert re.search(r"about \d+ s of one core and \d+ MB of disk", out)


def test_cancel_stops_local_runs(tmp_path, capsys, monkeypatch):
    command = launch(tmp_path, "seed=1", *ENDLESS)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_for(lambda: started(tmp_path), child=process)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert cancel.main([str(tmp_path)]) == 1
    assert process.poll() is None
    assert cancel.main([str(tmp_path), "--yes"]) == 0
    process.wait(timeout=60)
    assert set(states(tmp_path).values()) == {"stopped"}
    with pytest.raises(UserError, match="is not a run folder and holds none"):
        cancel.main([str(tmp_path / "nothing")])


def test_logs_show_what_a_run_printed(one_finished, tmp_path, capsys):
    shutil.copytree(one_finished, tmp_path, dirs_exist_ok=True)
    (run,) = find_runs(tmp_path)
    logs.main([str(run.path), "--lines", "1"])
    assert capsys.readouterr().out == "finished\n"
    run.log.unlink()
    with pytest.raises(UserError, match="has no run.log: its log was"):
        logs.main([str(run.path)])
    run.attempt.unlink()
    with pytest.raises(UserError, match="has printed nothing yet"):
        logs.main([str(run.path)])


SWEEP = """# A sweep of tests.
experiment: tested
cells:
  - seed=1
then:
  - -c "open(__import__('sys').argv[1], 'a').write('x')" {root}/{experiment}.txt
"""


def test_commands_after_a_sweep_run_once_for_its_runs(tmp_path, monkeypatch):
    folder = tmp_path / "sweeps"
    folder.mkdir()
    (folder / "tested.yaml").write_text(SWEEP)
    monkeypatch.setattr("s2m.config.search.SWEEPS", folder)
    root = tmp_path / "runs with ü"
    words = ["-m", *TINY, f'root="{root}"', "+sweep=tested"]
    assert main(words) == main(words) == 0
    assert (root / "tested.txt").read_text() == "x"
    assert main([*words, "seed=2"]) == 0
    assert (root / "tested.txt").read_text() == "xx"
    (folder / "tested.yaml").write_text(SWEEP.replace("open(", "1 / 0, open("))
    with pytest.raises(UserError, match="failed with exit code 1"):
        main(words)
    (folder / "tested.yaml").write_text(SWEEP.replace("{root}", "{home}"))
    with pytest.raises(UserError, match="braces may hold root, experiment or own"):
        main(words)


def test_several_cells_need_the_flag(tmp_path):
    with pytest.raises(UserError, match="add -m"):
        main([*TINY, "seed=1,2", f"root={tmp_path}"])
