"""The archive of runs: little, and the same tables as the runs themselves."""

from pathlib import Path

import pytest
import torch

from analysis.archive import archive, main
from analysis.sources.local import load
from analysis.study import make_study
from analysis.tables.every import every_table
from analysis.tables.write import to_csv
from s2m.config.env import EnvCfg
from s2m.console.errors import UserError
from s2m.env.transport import TransportEnv
from s2m.policy.stored import Trained
from s2m.run.checkpoint import saved
from s2m.run.folder import RunFolder, find_runs
from s2m.run.status import status_of
from s2m.stages.execute import execute
from tests.analysis.synthetic import DATA, Spec, write_run
from tests.stages.test_train import create


def tables(place):
    study = make_study(load(place))
    return {table.name: to_csv(table) for table in every_table(study)}


def test_finished_runs_give_the_same_tables_from_their_archive(tmp_path):
    runs = tmp_path / "runs"
    rates = {k: (5, 9) for k in range(1, 6)}
    for seed in (40, 41):
        write_run(runs, Spec("pfds", seed, levels={2: 100 * seed}, rates=rates))
    write_run(runs, Spec("dshc", 40, rates=rates))
    kept, waiting = archive(runs, tmp_path / "kept", seed=40)
    assert len(kept) == 3 and not waiting
    assert tables(tmp_path / "kept") == tables(runs)
    archive(runs, tmp_path / "kept", seed=40)  # Again: the same archive.
    assert tables(tmp_path / "kept") == tables(runs)


def test_runs_that_go_on_wait_and_failed_ones_stay_in_the_tables(tmp_path, capsys):
    main([str(DATA / "runs"), str(tmp_path)])
    said = capsys.readouterr().out
    stored = {run.path.name for run in find_runs(tmp_path)}
    for run in find_runs(DATA / "runs"):
        assert (run.path.name in stored) == (str(run.path) not in said)
        assert (run.path.name in stored) == (status_of(run) in ("finished", "failed"))
    assert "left out" in said and stored
    states = {run.name: run.state for run in load(tmp_path).runs}
    assert "failed" in states.values()
    assert states == {r.name: r.state for r in load(DATA / "runs").runs if r.name in states}


@pytest.mark.parametrize("out", ["runs", "runs/archive", "."])
def test_an_archive_over_its_own_runs_is_refused(tmp_path, out, monkeypatch):
    write_run(tmp_path / "runs", Spec("pfds", 40))
    (run,) = find_runs(tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="must be outside"):
        archive(tmp_path / "runs", Path(out), seed=40)
    assert run.result("train")


def test_names_are_whole_wherever_it_is_started(tmp_path, monkeypatch):
    write_run(tmp_path / "runs", Spec("pfds", 40, rates={5: (5, 9)}))
    (run,) = find_runs(tmp_path / "runs")
    monkeypatch.chdir(run.path)
    archive(Path(), tmp_path / "kept", seed=40)
    (kept,) = find_runs(tmp_path / "kept")
    assert kept.path.relative_to(tmp_path / "kept") == run.path.relative_to(tmp_path / "runs")


def test_a_kept_policy_acts_as_before_and_the_others_are_gone(tmp_path):
    words = "budget.iterations=2", "evaluate.episodes=2"
    for seed in (40, 41):
        folder = create(tmp_path / "runs" / "some" / f"s{seed}", f"seed={seed}", *words)
        execute(folder)
    archive(tmp_path / "runs", tmp_path / "kept", seed=40)
    first, second = (tmp_path / "kept" / "some" / f"s{seed}" for seed in (40, 41))
    assert saved(RunFolder(first))[0].stat().st_size < 0.5 * size(tmp_path / "runs/some/s40")
    assert not saved(RunFolder(second))
    policy = Trained(tmp_path / "runs" / "some" / "s40")
    env = TransportEnv(EnvCfg(num_envs=4, sim=policy.cfg.sim))
    assert torch.equal(policy.agent(env)(), Trained(first).agent(env)())


def size(run):
    return saved(RunFolder(run))[-1].stat().st_size


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(UserError, match="holds none"):
        archive(tmp_path / "none", tmp_path / "kept", seed=40)
