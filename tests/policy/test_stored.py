"""Trained policies: loading, auditing, evaluating; and what is said when there is none."""

import shutil
from dataclasses import asdict

import pytest
import torch

from s2m import audit
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.env.transport import TransportEnv
from s2m.evaluate import main as evaluate
from s2m.policy.invariance import measure
from s2m.policy.stored import Trained
from s2m.replay import main as replay
from s2m.run import checkpoint
from s2m.run.folder import RunFolder
from s2m.stages.execute import execute

TINY = ["sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=3"]


def create(path, *words):
    return RunFolder.create(path, asdict(load(RunCfg, [*TINY, *words])))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    folders = {name: create(root / name, f"encoder={name}") for name in ("pfds", "flat_mlp")}
    for folder in folders.values():
        execute(folder, last="train")
    return folders


def test_the_loaded_actor_is_the_trained_one(runs):
    trained = Trained(runs["pfds"].path)
    state = checkpoint.load_latest(runs["pfds"]).state["learner"]["actor_state_dict"]
    for name, value in trained.actor.state_dict().items():
        assert torch.equal(value, state[name])
    env = TransportEnv(trained.cfg.environment())
    expected = trained.actor(trained.scaler(env.get_observations()))
    assert torch.equal(trained.agent(env)(), expected) and expected.shape == (8, 12)


def test_audit_prints_both_groups_and_tells_invariant_from_not(runs, capsys):
    for name, folder in runs.items():
        audit.main([str(folder.path), "3"])
        out = capsys.readouterr().out
        assert "1,728,000" in out and folder.path.name in out
        largest = measure(Trained(folder.path), 5, 3)["symmetry/frame_max"]
        assert (largest < 1e-5) == (name == "pfds")


def test_evaluate_a_run(runs, capsys):
    evaluate([f"run={runs['pfds'].path}", "episodes=2", "levels=[1,3]"])
    assert "no-drop" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "word"),
    [(evaluate, "sim=dummy"), (evaluate, "task=scattered"), (evaluate, "agent=lqr"),
     (replay, "sim=dummy"), (replay, "sim.ball.rolling=0"), (replay, "task.max_roll=9")],
)  # fmt: skip
def test_a_run_acts_in_its_own_task_and_simulator(runs, command, word):
    with pytest.raises(UserError, match=f": {word.split('=')[0]} cannot be given with it"):
        command([f"run={runs['pfds'].path}", word])


def test_a_run_without_a_checkpoint_says_so(tmp_path):
    create(tmp_path / "empty")
    with pytest.raises(UserError, match="has no checkpoint yet: train it first"):
        evaluate([f"run={tmp_path / 'empty'}", "episodes=1"])


def test_a_finished_run_without_a_checkpoint_is_not_told_to_train(runs, tmp_path):
    ignored = shutil.ignore_patterns("checkpoints")
    archived = shutil.copytree(runs["pfds"].path, tmp_path / "archived", ignore=ignored)
    with pytest.raises(UserError, match="has finished, but its checkpoint was not kept"):
        audit.main([str(archived)])


def test_help_is_no_mistake(capsys):
    audit.main(["--help"])
    assert "python -m s2m.audit RUN_FOLDER" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "usage: python -m s2m.audit RUN_FOLDER"),
        (["nowhere"], "nowhere is not a run folder: it has no run.json"),
        (["nowhere", "0"], "samples = 0: must be an integer from 1"),
    ],
)
def test_bad_input_is_one_line(words, line):
    with pytest.raises(UserError) as error:
        audit.main(words)
    assert str(error.value).startswith(line)
