"""A run goes on in the other MuJoCo, from its checkpoint, and says so."""

from dataclasses import asdict

import pytest
import torch

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.job import main
from s2m.run.checkpoint import load_latest
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.lock import RunLock
from s2m.run.status import FINISHED, STOPPED
from s2m.stages.execute import execute
from s2m.stages.move import move
from s2m.task.randomness import Streams, take_up

SMALL = [
    "budget=demo", "budget.num_envs=6", "budget.steps=6", "budget.iterations=6", "encoder.width=8",
    "encoder.embedding=8", "ppo.epochs=1", "ppo.mini_batches=2", "task.episode_steps=12",
    "evaluate.episodes=1", "evaluate.selection_episodes=1", "sim.ball.rolling=0.001",
]  # fmt: skip


class Leaving:
    """A mirror that asks its run to leave after some iterations."""

    def __init__(self, folder, iterations):
        self.folder, self.left = folder, iterations

    def start(self, attempt):
        pass

    def check(self):
        self.left -= 1
        if self.left < 0:
            self.folder.stop.touch()


def make(path, *words):
    return RunFolder.create(path / "run", asdict(load(RunCfg, [*SMALL, *words])))


def moves(folder):
    return [event for event in Events(folder).read() if event["kind"] == "moved"]


def test_a_run_moves_to_warp_and_back(tmp_path, kernels):
    folder = make(tmp_path)
    assert execute(folder, mirror=Leaving(folder, 2)) == STOPPED
    move(folder, "warp", "cpu")
    sim = folder.executed()["sim"]
    assert (sim["name"], sim["device"], sim["ball"]["rolling"]) == ("warp", "cpu", 0.001)
    assert folder.config()["sim"]["name"] == "mujoco"
    assert execute(folder, mirror=Leaving(folder, 2)) == STOPPED
    newest = load_latest(folder)
    assert newest is not None and newest.iteration == 4
    assert newest.state["env"]["sim"]["qpos"].dtype == torch.float32
    move(folder, "mujoco")
    assert execute(folder) == FINISHED
    assert [(e["before"], e["sim"]) for e in moves(folder)] == [
        ("mujoco", "warp on cpu"), ("warp on cpu", "mujoco")
    ]  # fmt: skip
    assert Journal(folder).table(["level"])["iteration"].to_pylist() == list(range(1, 7))
    folder.require(folder.config())  # it is still the same run


def test_the_command_moves_and_goes_on(tmp_path, kernels, capsys):
    folder = make(tmp_path, "tracking=disabled")
    assert execute(folder, mirror=Leaving(folder, 2)) == STOPPED
    assert main([str(folder.path), "sim=warp", "sim.device=cpu"]) == 0
    assert "resumed at iteration 2" in capsys.readouterr().out
    assert [event["sim"] for event in moves(folder)] == ["warp on cpu"]
    with pytest.raises(UserError, match="has finished: there is nothing left"):
        main([str(folder.path), "sim=mujoco"])


def test_to_stay_is_no_move(tmp_path):
    folder = make(tmp_path)
    move(folder, "mujoco")
    assert not folder.moved.exists() and not moves(folder)


def test_what_cannot_be_moved_is_refused(tmp_path):
    folder = make(tmp_path)
    with pytest.raises(UserError, match="unknown simulator to move from or to 'isaaclab'"):
        move(folder, "isaaclab")
    with pytest.raises(UserError, match="sim=mujoco runs on the CPU"):
        move(folder, None, "cuda:0")
    with pytest.raises(UserError, match=r"usage: .*sim=warp"):
        main([str(folder.path), "seed=3"])
    with RunLock.acquire(folder), pytest.raises(UserError, match="is busy|attempt 1"):
        move(folder, "warp")
    assert not folder.moved.exists()


def test_random_numbers_of_another_kind_of_device_are_new_but_repeat():
    here, there = torch.Generator().manual_seed(1), torch.zeros(16, dtype=torch.uint8)
    take_up(here, there)
    drawn = torch.rand(3, generator=here)
    again = torch.Generator()
    take_up(again, there)
    assert torch.equal(drawn, torch.rand(3, generator=again))
    take_up(again, there + 1)
    assert not torch.equal(drawn, torch.rand(3, generator=again))


def test_streams_of_the_same_device_go_on():
    streams = Streams(3)
    saved = streams.state_dict()
    drawn = torch.rand(3, generator=streams["noise"])
    streams.load_state_dict(saved)
    assert torch.equal(drawn, torch.rand(3, generator=streams["noise"]))
