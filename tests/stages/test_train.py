"""Training survives anything: kills, signals, damaged files; and it spends exactly its budget."""

import os
import random
import signal
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pytest
import torch

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.run import checkpoint
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.status import CODES, FINISHED, STOPPED
from s2m.stages.attempt import Diverged
from s2m.stages.execute import execute
from tests.faults.kills import ended_by, in_child, killed_at, struck_at
from tests.faults.runs import course, kinds
from tests.waiting import wait_for

TINY = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=6", "budget.iterations=12",
    "encoder.width=8", "encoder.embedding=8", "ppo.epochs=2", "ppo.mini_batches=2",
    "task.episode_steps=12", "curriculum.window=8", "curriculum.min_stage_episodes=8",
    "curriculum.min_steps_per_level=12", "curriculum.check_steps=6",
]  # fmt: skip
MOMENT = 0.015
"""Seconds of computing, less than an iteration takes; by the clock one may take any time."""
ENCODERS = ("flat_mlp", "branch_mlp", "dshc", "set_transformer", "pfds", "set_transformer_pf")


def create(path, *words):
    config = asdict(load(RunCfg, [*TINY, *words]))
    return RunFolder.create(path, config)


@pytest.mark.parametrize(
    "words",
    [
        *([f"encoder={name}"] for name in ENCODERS),
        ["permute=false"],
        ["encoder=dshc", "permute=false"],
        ["normalise=frozen"],
        ["normalise=running", "critic.encoder=flat_mlp"],
    ],
    ids=lambda words: "-".join(word.split("=")[1] for word in words),
)
def test_a_killed_run_ends_bit_equal_to_an_undisturbed_one(tmp_path, words):
    calm = create(tmp_path / "calm", *words)
    shaken = create(tmp_path / "shaken", *words)
    assert execute(calm, last="train") == FINISHED
    chance = random.Random(str(words))
    for iteration in sorted(chance.sample(range(9), 2)):
        killed_at(shaken, iteration, chance.uniform(0, MOMENT), last="train")
    assert execute(shaken, last="train") == FINISHED
    assert course(calm) == course(shaken)
    assert kinds(shaken).count("attempt") == 3


@pytest.mark.slow
def test_forty_iterations_on_mujoco_survive_ten_kills(tmp_path):
    words = [
        "sim=mujoco",
        "budget.iterations=40",
        "budget.num_envs=24",
        "budget.checkpoint_every=3",
    ]
    calm, shaken = (create(tmp_path / name, *words) for name in ("calm", "shaken"))
    assert execute(calm, last="train") == FINISHED
    chance = random.Random(5)
    for iteration in sorted(chance.sample(range(1, 29), 10)):
        killed_at(shaken, iteration, chance.uniform(0, 3 * MOMENT), last="train")
    assert execute(shaken, last="train") == FINISHED
    assert course(calm) == course(shaken)
    frame = Journal(shaken).read()
    assert frame["iteration"].tolist() == list(range(1, 41))
    assert kinds(shaken).count("attempt") == 11


def test_the_budget_is_spent_exactly_and_once(tmp_path):
    folder = create(tmp_path / "run")
    assert execute(folder, last="train") == FINISHED
    before = folder.journal.read_bytes()
    assert execute(folder, last="train") == FINISHED
    assert folder.journal.read_bytes() == before
    result = folder.result("train")
    assert result and result["iterations"] == 12 and result["samples"] == 12 * 8 * 6
    assert result["levels"] == {
        str(e["level"]): e["iteration"] for e in Events(folder).read() if e["kind"] == "level"
    }
    assert len(result["levels"]) >= 1


def test_a_signal_leaves_a_checkpoint_and_the_run_goes_on_from_it(tmp_path):
    calm, folder = create(tmp_path / "calm"), create(tmp_path / "run")
    assert execute(calm, last="train") == FINISHED
    for iteration, number in ((2, signal.SIGTERM), (5, signal.SIGUSR2)):
        warn = partial(signal.raise_signal, number)
        assert struck_at(folder, iteration, warn, last="train") == CODES[STOPPED]
        assert checkpoint.load_latest(folder).iteration == iteration
    assert execute(folder, last="train") == FINISHED
    stops = [event for event in Events(folder).read() if event["kind"] == "stopped"]
    assert [(event["iteration"], event["reason"]) for event in stops] == [
        (2, "SIGTERM"), (5, "SIGUSR2")
    ]  # fmt: skip
    assert course(calm) == course(folder)


def test_a_stop_file_ends_the_run_and_is_used_up(tmp_path):
    folder = create(tmp_path / "run")
    folder.stop.touch()
    assert execute(folder, last="train") == STOPPED
    assert not folder.stop.exists() and folder.result("train") is None
    (stopped,) = [event for event in Events(folder).read() if event["kind"] == "stopped"]
    assert stopped["reason"] == "stop file"
    assert execute(folder, last="train") == FINISHED


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_checkpoint_is_passed_over_with_an_event(tmp_path, damage):
    calm, folder = create(tmp_path / "calm"), create(tmp_path / "run")
    assert execute(calm, last="train") == FINISHED
    assert execute(folder, last="train") == FINISHED
    folder.result_file("train").unlink()
    newest = checkpoint.saved(folder)[-1]
    data = bytearray(newest.read_bytes())
    if damage == "cut":
        del data[len(data) // 2 :]
    else:
        data[len(data) // 2] ^= 1
    newest.write_bytes(data)
    assert execute(folder, last="train") == FINISHED
    assert any(event["kind"] == "checkpoint_fallback" for event in Events(folder).read())
    assert course(calm) == course(folder)


def test_a_checkpoint_of_another_encoder_is_refused_in_one_line(tmp_path):
    folder, other = create(tmp_path / "run"), create(tmp_path / "other", "encoder=dshc")
    for run in (folder, other):
        run.stop.touch()
        assert execute(run, last="train") == STOPPED
    (own,), (foreign,) = checkpoint.saved(folder), checkpoint.saved(other)
    own.write_bytes(foreign.read_bytes())
    with pytest.raises(UserError, match="does not fit this run's config") as error:
        execute(folder, last="train")
    assert "\n" not in str(error.value)


def test_a_second_trainer_on_a_folder_leaves_with_one_line(tmp_path):
    folder = create(tmp_path / "run", "budget.iterations=2000")
    child = in_child(execute, folder, last="train")
    try:
        wait_for(Journal(folder).last, child=child, pause=0.01)
        with pytest.raises(UserError, match="is being written by attempt 1") as error:
            execute(folder, last="train")
        assert "\n" not in str(error.value)
    finally:
        os.kill(child, signal.SIGKILL)
        ended_by(child)


def test_divergence_is_reported_and_never_finishes(tmp_path):
    folder = create(tmp_path / "run", "ppo.learning_rate=1e30", "ppo.kl_target=0")
    with pytest.raises(Diverged, match="diverged at iteration"):
        execute(folder, last="train")
    assert folder.result("train") is None
    (event,) = [event for event in Events(folder).read() if event["kind"] == "diverged"]
    assert event["what"]


@pytest.mark.parametrize("name", ["pfds", "set_transformer_pf"])
def test_permutation_cannot_matter_to_an_invariant_policy(tmp_path, float64, name):
    on, off = _five_iterations(tmp_path, name)
    for part in ("actor_state_dict", "critic_state_dict"):
        for key, value in _learner(on)[part].items():
            assert torch.allclose(value, _learner(off)[part][key], atol=1e-8, rtol=0), key
    rewards = [Journal(run).read()["reward/mean"].to_numpy() for run in (on, off)]
    assert rewards[0] == pytest.approx(rewards[1], abs=1e-9)
    assert _levels(on) == _levels(off) and _levels(on)


def test_permutation_matters_to_dshc(tmp_path, float64):
    on, off = (_learner(run)["actor_state_dict"] for run in _five_iterations(tmp_path, "dshc"))
    assert max((value - off[key]).abs().max() for key, value in on.items()) > 1e-4


def _five_iterations(tmp_path, name):
    words = [f"encoder={name}", "sim=mujoco", "budget.iterations=5"]
    runs = [create(tmp_path / flag, f"permute={flag}", *words) for flag in ("true", "false")]
    assert [execute(run, last="train") for run in runs] == [FINISHED, FINISHED]
    return runs


def _learner(run):
    return checkpoint.load_latest(run).state["learner"]


def _levels(run):
    events = Events(run).read()
    return [(event["level"], event["iteration"]) for event in events if event["kind"] == "level"]


@pytest.fixture
def float64():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def test_rows_hold_levels_criteria_rewards_and_the_symmetry_audit(tmp_path):
    folder = create(tmp_path / "run")
    execute(folder, last="train")
    frame: Any = Journal(folder).read().set_index("iteration")
    for column in ("curriculum/level", "reward/margin", "loss/value", "policy/std"):
        assert frame[column].count() == len(frame), column
    audited = frame["symmetry/frame_max"].dropna()
    assert set(range(5, 13, 5)) | {12} <= set(audited.index)
    assert audited.max() < 1e-4  # PFDS is invariant
    assert {"criteria/margin", "time/update"} <= set(frame.columns)


def test_learning_rate_and_generators_are_part_of_the_state(tmp_path):
    folder = create(tmp_path / "run")
    execute(folder, last="train")
    state = checkpoint.load_latest(folder).state["learner"]
    assert state["learning_rate"] != replace(load(RunCfg, TINY)).ppo.learning_rate
    assert [generator.dtype for generator in state["random"]] == [torch.uint8]
