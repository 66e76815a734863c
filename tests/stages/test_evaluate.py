"""Episodes are counted from step 0 to their end, one row each."""

import csv
from dataclasses import asdict

import pyarrow.parquet as pq
import pytest
import torch

from s2m.config.compose import load
from s2m.config.curriculum import CurriculumCfg
from s2m.config.env import EnvCfg
from s2m.config.evaluate import EvaluationCfg
from s2m.config.run import RunCfg
from s2m.config.task import TaskCfg
from s2m.console.errors import UserError
from s2m.env.agents import AGENTS
from s2m.env.episodes import run_episodes
from s2m.evaluate import main
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.lock import RunLock
from s2m.run.rates import rates_of_rows
from s2m.run.status import FINISHED, STOPPED
from s2m.run.stopping import StopRequest
from s2m.stages.evaluate import environment, evaluate, summary
from s2m.stages.execute import execute
from s2m.stages.progress import Progress
from s2m.task.curriculum import Curriculum


def test_one_row_per_episode_with_consistent_columns():
    rows = run_episodes(EnvCfg(task=TaskCfg(episode_steps=60)), AGENTS["zero"], [1, 5], 6)
    assert [row["k"] for row in rows] == [1] * 6 + [5] * 6
    for row in rows:
        assert row["no_drop"] == (row["steps"] == 60 and not (row["dropped"] or row["fell"]))
        assert row["strict"] == (row["no_drop"] and row["near_edge_steps"] == 0)
        assert 0 <= row["outside_steps"] <= row["steps"]


def test_an_episode_that_breaks_the_simulation_is_no_success():
    def breaker(env):
        """Break one of two simulations in the third step."""
        steps = iter(range(10))

        def act():
            if next(steps) == 2:
                env.sim.qvel[0, 0] = float("nan")
            return torch.zeros(env.num_envs, 12)

        return act

    broken, sound = run_episodes(EnvCfg(task=TaskCfg(episode_steps=10)), breaker, [1], 2)
    assert (broken["unstable"], broken["steps"], broken["no_drop"]) == (True, 3, False)
    assert (sound["unstable"], sound["steps"], sound["no_drop"]) == (False, 10, True)


def test_only_the_first_episode_of_an_environment_counts():
    def thrower(env):
        """Throw the ball off at once, then behave: a second episode must not hide the first."""
        env.sim.qpos[0, 23] += 0.5
        return lambda: torch.zeros(env.num_envs, 12)

    rows = run_episodes(EnvCfg(task=TaskCfg(episode_steps=80)), thrower, [1], 2)
    assert rows[0]["dropped"] and not rows[0]["no_drop"] and rows[0]["steps"] < 40
    assert rows[1]["no_drop"] and rows[1]["steps"] == 80


def test_same_seed_same_rows():
    cfg = EnvCfg(seed=4, task=TaskCfg(episode_steps=30))
    assert run_episodes(cfg, AGENTS["random"], [3], 4) == run_episodes(
        cfg, AGENTS["random"], [3], 4
    )


@pytest.mark.slow
def test_the_task_needs_control_and_can_be_won():
    """The figures of docs/task.md, with room for the noise of 60 episodes."""
    rates = {}
    for name in ("zero", "lqr"):
        rows = run_episodes(EnvCfg(seed=1000), AGENTS[name], [1, 5], 60)
        for k in (1, 5):
            rates[name, k] = sum(row["no_drop"] for row in rows if row["k"] == k) / 60
    assert rates["lqr", 1] >= 0.95 and rates["lqr", 5] >= 0.85
    assert rates["zero", 1] <= 0.70 and rates["zero", 5] <= 0.10


def test_summary_has_wilson_intervals():
    rows = run_episodes(EnvCfg(task=TaskCfg(episode_steps=5)), AGENTS["zero"], [1], 10)
    table = summary(rows)
    cells = [list(column.cells)[0] for column in table.columns]
    assert cells[2] == "100 [72, 100]"


def test_summary_shows_means_over_steps():
    ended = {"dropped": True, "fell": False, "unstable": False, "no_drop": False, "strict": False}
    kept = {"dropped": False, "fell": False, "unstable": False, "no_drop": True, "strict": True}
    errors = {"linear_error": 0.1, "yaw_error": 0.2}
    rows = [
        {"k": 2, "steps": 20, "near_edge_steps": 8, "outside_steps": 2, "minimum_margin": 0.1,
         **ended, **errors},
        {"k": 2, "steps": 80, "near_edge_steps": 0, "outside_steps": 0, "minimum_margin": 0.6,
         **kept, **errors},
        {"k": 1, "steps": 9, "near_edge_steps": 0, "outside_steps": 0, "minimum_margin": 0.7,
         **kept, **errors},
    ]  # fmt: skip
    shown = [list(cells) for cells in zip(*(c.cells for c in summary(rows).columns), strict=True)]
    assert shown == [
        ["1", "1", "100 [21, 100]", "100 [21, 100]", "9.000", "0.700", "0.000", "0.000", "0.100",
         "0.200"],
        ["2", "2", "50 [9, 91]", "50 [9, 91]", "50", "0.500", "0.080", "0.020", "0.100", "0.200"],
    ]  # fmt: skip


def test_command_writes_rows(tmp_path):
    out = tmp_path / "rows.csv"
    words = ["agent=lqr", "levels=[2]", "episodes=3", "task.episode_steps=20", f"out={out}"]
    main(words)
    with out.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 and rows[0]["k"] == "2" and rows[0]["no_drop"] == "True"


TINY = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.iterations=2", "encoder.width=8",
    "evaluate.levels=[1,5]", "evaluate.episodes=3", "evaluate.selection_episodes=2",
]  # fmt: skip


def create(path, *words):
    return RunFolder.create(path, asdict(load(RunCfg, [*TINY, *words])))


def table(folder, name):
    return pq.read_table(folder.path / f"{name}.parquet").to_pylist()


def test_a_run_is_evaluated_after_training_on_episodes_of_its_own(tmp_path):
    folder = create(tmp_path / "run")
    assert execute(folder) == FINISHED
    result, rows = folder.result("evaluate"), table(folder, "episodes")
    assert result is not None and result["iteration"] == 2
    assert [row["k"] for row in rows] == [1, 1, 1, 5, 5, 5]
    assert {row["run"] for row in rows} == {"run"} and {row["seed"] for row in rows} == {1000}
    assert result["successes"]["5"] == {
        "n": 3,
        "strict": sum(row["strict"] for row in rows[3:]),
        "no_drop": sum(row["no_drop"] for row in rows[3:]),
    }
    chosen_by = table(folder, "selection")
    assert [row["k"] for row in chosen_by] == [5, 5] and chosen_by[0]["seed"] == 2000
    lower = create(tmp_path / "lower", "curriculum.stop=2")
    execute(lower)
    assert [row["k"] for row in table(lower, "selection")] == [2, 2]
    assert len({event["attempt"] for event in Events(folder).read()}) == 1


def test_an_evaluation_that_was_stopped_is_done_again_without_training(tmp_path):
    folder = create(tmp_path / "run")
    execute(folder, last="train")
    journal = folder.journal.read_bytes()
    with RunLock.acquire(folder) as lock:
        assert evaluate(folder, lock, StopRequest("SIGTERM"), Progress.silent()) == STOPPED
    assert folder.result("evaluate") is None
    assert Events(folder).read()[-1]["reason"] == "SIGTERM"
    assert execute(folder) == FINISHED
    assert folder.result("evaluate") is not None and folder.journal.read_bytes() == journal


def test_a_stop_file_ends_an_evaluation(tmp_path):
    folder = create(tmp_path / "run")
    execute(folder, last="train")
    folder.stop.touch()
    assert execute(folder) == STOPPED
    assert Events(folder).read()[-1]["reason"] == "stop file"
    assert execute(folder) == FINISHED


def test_a_policy_that_has_not_learnt_to_the_end_is_told(tmp_path, capsys):
    folder = create(tmp_path / "run")
    folder.stop.touch()
    assert execute(folder, last="train") == STOPPED
    main([f"run={folder.path}", "levels=[1]", "episodes=1"])
    assert "run at iteration 0 of 2, seed 1000" in capsys.readouterr().out
    execute(folder, last="train")
    main([f"run={folder.path}", "levels=[1]", "episodes=1"])
    assert "run, seed 1000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("trained", "slots", "permute"),
    [(True, "as_trained", True), (False, "as_trained", False), (False, "permuted", True),
     (True, "fixed", False)],
)  # fmt: skip
def test_slots_are_shown_as_the_evaluation_says(trained, slots, permute):
    cfg = environment(EnvCfg(permute=trained, seed=1), EvaluationCfg(slots=slots, seed=7))
    assert cfg.permute is permute and cfg.seed == 7


def test_store_replaces_the_evaluation_of_a_run(tmp_path):
    folder = create(tmp_path / "run")
    with pytest.raises(UserError, match="has not finished training: evaluate it after training$"):
        main([f"run={folder.path}", "store=true"])
    execute(folder)
    main([f"run={folder.path}", "store=true", "levels=[2]", "episodes=4", "seed=5"])
    rows, result = table(folder, "episodes"), folder.result("evaluate")
    assert [row["k"] for row in rows] == [2] * 4 and rows[0]["seed"] == 5
    assert result is not None and result["settings"]["episodes"] == 4


def test_a_stopped_store_says_what_the_run_keeps(tmp_path, monkeypatch):
    folder = create(tmp_path / "run")
    execute(folder)
    monkeypatch.setattr("s2m.stages.evaluate.evaluate", lambda *_: STOPPED)
    with pytest.raises(UserError, match="^stopped by .*/run keeps its previous evaluation$"):
        main([f"run={folder.path}", "store=true"])


def test_store_keeps_the_settings_of_the_run_that_are_not_given(tmp_path, capsys):
    folder = create(tmp_path / "run", "evaluate.seed=7", "evaluate.slots=fixed")
    execute(folder)
    first = folder.result("evaluate")
    main([f"run={folder.path}", "store=true"])
    assert folder.result("evaluate") == first and "seed 7" in capsys.readouterr().out
    main([f"run={folder.path}", "store=true", "episodes=2"])
    again = folder.result("evaluate")
    assert first is not None and again is not None
    assert again["settings"] == {**first["settings"], "episodes": 2}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["store=true"], "store = true: needs run=FOLDER"),
        (["agent=pid"], "unknown agent 'pid'. Allowed: zero, random, lqr"),
        (["levels=[0]"], "levels = [0]: allowed 1 to 5"),
        (["levels=3"], "levels = 3: must be a list of integers, as in levels=[3]"),
        (["encoder=dshc"], "unknown setting 'encoder'. Allowed: levels, episodes"),
        (["episodes=0"], "episodes = 0: allowed 1 or more"),
        (["out=rows.xlsx"], "out = rows.xlsx: allowed is a .csv file"),
    ],
)
def test_bad_input_is_one_line(words, line):
    with pytest.raises(UserError) as error:
        main(words)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


def test_promotion_measures_are_those_of_the_curriculum():
    n, length = 12, 150
    seen = {}

    def agent(env):
        seen["env"] = env
        return AGENTS["zero"](env)

    curriculum = Curriculum(CurriculumCfg(window=n), n, length, "cpu")

    def watch(step, alive):
        outcome = seen["env"].outcome
        curriculum.record(outcome.scene)
        curriculum.finish((outcome.terminated | outcome.timed_out).nonzero().squeeze(-1))

    cfg = EnvCfg(task=TaskCfg(episode_steps=length), seed=1)
    rates = rates_of_rows(run_episodes(cfg, agent, [3], n, watch))[3]
    assert 0 < rates.no_drop < n and rates.over_steps["edge"] > 0
    # At the end its window holds the episodes that began at step 0: those of the evaluation.
    computed = {item.name: item.value for item in curriculum.criteria()}
    assert rates.criteria(length) == pytest.approx(computed, rel=1e-5)
