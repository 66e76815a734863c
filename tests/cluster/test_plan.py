"""What a launch will do about each cell, by where its run stands."""

from dataclasses import replace

import pytest
from rich.console import Console

from s2m.cluster.cells import expand
from s2m.cluster.plan import create_folders, make_plan, plan_table
from s2m.run.events import Events
from s2m.run.lock import RunLock


@pytest.fixture
def planned(tmp_path):
    """Return a function that plans one run."""

    def plan(*words):
        (cell,) = make_plan(expand(["sim=dummy", f"root={tmp_path}", *words]).compose(), None)
        return cell

    return plan


def leave(folder, failed=False):
    """Let an attempt at a run have ended."""
    with RunLock.acquire(folder) as lock:
        if failed:
            Events(folder, lock.attempt.number).append("failed", reason="out of memory")


def shown(cell):
    console = Console(width=300)
    with console.capture() as found:
        console.print(plan_table([cell]))
    return " ".join(found.get().split())


def test_planning_writes_nothing_and_executing_begins_with_the_folder(planned, tmp_path):
    cell = planned()
    assert cell.due() and list(tmp_path.iterdir()) == []
    create_folders([cell])
    assert cell.folder.run_file.exists() and planned().due()


def test_a_plan_names_runs_by_what_differs(planned):
    cells = [planned(f"ppo.gamma={gamma}") for gamma in (0.97, 0.99)]
    console = Console(width=200)
    with console.capture() as captured:
        console.print(plan_table(cells))
    assert "/pfds γ=0.97 s40 " in captured.get() and "/pfds γ=0.99 s40 " in captured.get()


def test_what_was_to_stop_is_to_run_again_when_it_is_launched(planned):
    cell = planned()
    create_folders([cell])
    cell.folder.stop.touch()
    create_folders([planned()])
    assert not cell.folder.stop.exists()


def test_a_run_that_somebody_is_at_is_left_alone(planned):
    create_folders([planned()])
    with RunLock.acquire(planned().folder):
        cell = planned()
        assert cell.state.status == "running" and not cell.due()
        assert shown(cell).endswith("leave")
    assert planned().state.status == "stopped" and shown(planned()).endswith("run")


def test_a_run_that_failed_runs_again_only_when_that_is_asked_for(planned):
    create_folders([planned()])
    leave(planned().folder, failed=True)
    cell = planned()
    assert cell.state.status == "failed" and not cell.due()
    assert shown(cell).endswith("leave (out of memory; retry_failed=true runs it again)")
    assert planned("retry_failed=true").due()


def test_a_folder_that_holds_another_run_is_damage_and_left_alone(planned, tmp_path):
    cell, other = planned("seed=1"), planned("seed=2")
    create_folders([other])
    other.folder.path.rename(cell.folder.path)
    found = planned("seed=1")
    assert found.state.status == "unreadable" and not found.due()
    assert "belongs to the run" in found.state.failure and "leave (" in shown(found)


def test_each_cell_has_its_own_files(tmp_path):
    cells = expand(["sim=dummy", f"root={tmp_path}", "seed=1,2"]).compose()
    files = [{"encoder/a.py": b"1"}, {}]
    assert [cell.own for cell in make_plan(cells, None, files)] == files
    assert [cell.own for cell in make_plan(cells, None)] == [{}, {}]


def test_a_state_of_doubt_is_told(planned):
    create_folders([planned()])
    cell = planned()
    doubtful = replace(cell, state=replace(cell.state, status="running", doubt="ask n1"))
    assert shown(doubtful).endswith("leave (ask n1)")
