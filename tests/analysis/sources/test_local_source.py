"""Run folders in every state, and damaged ones: read, or named with the reason."""

import json
import shutil

import numpy as np
import pytest

from analysis.frames import ELAPSED, POINTS
from analysis.sources.local import load
from s2m.console.errors import UserError
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.metrics import write_table
from tests.analysis.synthetic import Spec, write_run

LEVELS = {2: 1000, 3: 4000, 4: 5000, 5: 6300}
RATES = {5: (41, 100)}


def only(root):
    frames = load(root)
    assert frames.unread == []
    (run,) = frames.runs
    return run


def reason(root) -> str:
    frames = load(root)
    assert frames.runs == []
    (item,) = frames.unread
    return item.reason


def test_a_finished_and_evaluated_run(tmp_path):
    write_run(tmp_path, Spec(levels=LEVELS, rates=RATES, selection={5: (40, 99)}))
    run = only(tmp_path)
    assert run.id == f"encoders/{run.name}"
    assert (run.variant, run.seed, run.state, run.iteration) == ("pfds", 40, "finished", 30_000)
    assert (run.levels, run.level, run.began(3), run.began(1)) == (LEVELS, 5, 4000, 0)
    assert run.evaluation is not None
    assert run.evaluation.reported[5].count("no_drop") == (100, 100)
    assert run.evaluation.selection[5].count("no_drop") == (99, 100)
    assert run.encoder_parameters == 166_000


def test_states_of_unfinished_runs(tmp_path):
    specs = {
        "pending": Spec(seed=1, state="pending"),
        "running": Spec(seed=2, state="running", iteration=500, levels={2: 100}),
        "failed": Spec(seed=3, state="failed", iteration=500),
        "stopped": Spec(seed=4, state="stopped", iteration=500),
    }
    for spec in specs.values():
        write_run(tmp_path, spec)
    found = {run.state: run for run in load(tmp_path).runs}
    assert sorted(found) == sorted(specs)
    assert found["failed"].reason == "cuda out of memory"
    assert (found["running"].iteration, found["running"].levels) == (500, {2: 100})
    assert found["pending"].iteration == 0


def test_a_finished_run_tells_where_its_evaluation_stands(tmp_path):
    folder = write_run(tmp_path, Spec())
    assert only(tmp_path).judging == "pending"
    attempt = json.loads(folder.attempt.read_text())
    folder.attempt.write_text(json.dumps(attempt | {"ended": None}))
    assert (only(tmp_path).state, only(tmp_path).judging) == ("finished", "running")
    folder.attempt.write_text(json.dumps(attempt))
    Events(folder, 1).append("failed", reason="out of memory")
    assert (only(tmp_path).judging, only(tmp_path).reason) == ("failed", "out of memory")


def test_a_retried_run_is_not_failed_by_its_former_attempt(tmp_path):
    folder = write_run(tmp_path, Spec(state="failed", iteration=5))
    attempt = json.loads(folder.attempt.read_text()) | {"number": 2, "ended": None}
    folder.attempt.write_text(json.dumps(attempt))
    assert only(tmp_path).state == "running"


def test_long_curves_are_thinned_but_keep_levels_audits_and_the_whole_time(tmp_path):
    write_run(tmp_path, Spec(levels={2: 1001, 3: 4003}, changed=30_000, seconds=0.5))
    run = only(tmp_path)
    assert run.seconds == pytest.approx(15_000)
    assert run.elapsed(1001) == pytest.approx(500.5)
    assert run.elapsed(4003) == pytest.approx(2001.5)
    margin = run.curves.get("criteria/margin")[0]
    audits = run.curves.get("symmetry/frame_mean")[0]
    assert POINTS <= len(margin) <= 2.2 * POINTS
    assert POINTS * 0.9 <= len(audits) <= 1.1 * POINTS
    assert run.curves.iteration[-1] == 30_000
    assert run.curves.get(ELAPSED)[1][-1] == pytest.approx(15_000)
    assert all(len(part) == 0 for part in run.curves.get("absent"))


@pytest.mark.parametrize("lost", [range(1, 9), range(21, 41), [30], range(2, 60, 2)])
def test_a_finished_run_with_holes_in_its_metrics_is_named(tmp_path, lost):
    folder = write_run(tmp_path, Spec(iterations=60))
    table = Journal(folder).table()
    kept = [i for i, at in enumerate(table["iteration"].to_pylist()) if at not in lost]
    write_table(folder.metrics, table.take(kept))
    assert reason(tmp_path) == f"its metrics have {60 - len(lost)} of 60 iterations"


def test_nan_metrics_and_torn_lines_are_no_obstacle(tmp_path, caplog):
    folder = write_run(tmp_path, Spec(state="running", iteration=50))
    journal = Journal(folder)
    journal.append(51, {"criteria/margin": float("nan"), "time/iteration": float("nan")})
    journal.append(52, {"criteria/margin": 0.25, "time/iteration": 1.0})
    journal.close()
    with folder.journal.open("ab") as file:
        file.write(b"not json\n" + b'{"iteration":53,"row":{"criteria/ma')
    run = only(tmp_path)
    assert run.iteration == 52
    assert run.curves.get("criteria/margin")[0][-1] == 52
    assert np.isfinite(run.seconds or np.nan)
    assert "skipped 1 unreadable line" in caplog.text


def test_rewound_levels_do_not_count(tmp_path):
    folder = write_run(tmp_path, Spec(state="running", iteration=50, levels={2: 40}))
    Journal(folder).rewind(30)
    Events(folder, 2).rewind(30)
    assert only(tmp_path).levels == {}


def damage(folder: RunFolder, name: str, text: str) -> None:
    (folder.path / name).write_text(text)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("run.json", '{"schema": 99}', "schema version 99"),
        ("run.json", "{", "not valid JSON"),
        ("config.yaml", "a: 1", "was changed after the run was created"),
        ("metrics.parquet", "PAR1", "is damaged"),
        ("attempt.json", "{}", "is damaged"),
    ],
)
def test_a_damaged_run_is_named_with_its_reason(tmp_path, name, text, said):
    folder = write_run(tmp_path, Spec(state="failed", iteration=5))
    damage(folder, name, text)
    assert said in reason(tmp_path)


def test_a_run_of_something_else_is_named(tmp_path):
    RunFolder.create(tmp_path / "a" / "b", {"encoder": "pfds", "permute": True, "seed": 1})
    assert reason(tmp_path) == "its config has no budget.name: it is not a run of this study"


def test_an_event_that_lacks_its_level_makes_one_run_unreadable(tmp_path):
    folder = write_run(tmp_path, Spec(state="running", iteration=5))
    with folder.events.open("a") as file:
        file.write('{"time":"","kind":"level","iteration":3}\n')
    assert "damaged" in reason(tmp_path)


@pytest.mark.parametrize("name", ["episodes.parquet", "selection.parquet"])
def test_without_its_episodes_a_run_is_not_evaluated(tmp_path, name):
    folder = write_run(tmp_path, Spec(rates=RATES))
    (folder.path / name).unlink()
    run = only(tmp_path)
    assert run.evaluation is None
    assert "episodes cannot be read" in run.remark
    damage(folder, name, "PAR1 no parquet")
    assert "episodes cannot be read" in only(tmp_path).remark


def test_a_damaged_evaluation_counts_as_absent_and_is_told(tmp_path):
    folder = write_run(tmp_path, Spec(rates=RATES))
    damage(folder, "evaluate.json", "{}")
    assert only(tmp_path).remark == "its evaluate.json is damaged"


def test_an_evaluation_of_another_shape_is_told(tmp_path):
    folder = write_run(tmp_path, Spec(rates=RATES))
    folder.write_result("evaluate", {"iteration": 30_000})
    assert "lacks something: KeyError('settings')" in only(tmp_path).remark


def test_experiments_can_be_chosen(tmp_path):
    write_run(tmp_path, Spec(experiment="one"))
    write_run(tmp_path, Spec(experiment="two"))
    assert [run.id.split("/")[0] for run in load(tmp_path, "two").runs] == ["two"]
    with pytest.raises(UserError, match="unknown experiment 'three'.* Allowed: one, two"):
        load(tmp_path, "three")
    shutil.rmtree(tmp_path / "one")
    with pytest.raises(UserError, match="is not a directory"):
        load(tmp_path / "nowhere")
