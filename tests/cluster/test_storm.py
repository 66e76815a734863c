"""Waves of preemption, and commands of SLURM's that fail, on real daemons."""

import pytest

from s2m.launch import main
from s2m.run.folder import RunFolder, find_runs
from tests.cluster.jobs import entries
from tests.faults.cluster import IDLE, SLURM, failing, finished, preemption_storm
from tests.faults.runs import differences, fingerprint, finish, kinds
from tests.waiting import wait_for
from tests.words import latest

pytestmark = pytest.mark.slurm


def test_an_array_of_packs_that_is_preempted_twice_ends_bit_equal(slurm, tmp_path):
    """One element of an array has the array's own id, which must not mean all of them."""
    root = tmp_path / "runs"
    words = [*SLURM, *IDLE, f"root={root}", "seed=1,2,3", "cluster.pack=2"]
    main(["-m", *latest(*words, "budget.iterations=40", "sim.pause=0.2")])
    assert min(preemption_storm(slurm, root, 2)) >= 2
    for run in find_runs(root):
        config = run.config()
        config["sim"]["pause"] = 0.0
        calm = finish(RunFolder.create(tmp_path / "calm" / run.path.name, config))
        assert differences(run, fingerprint(calm)) == []
        assert "failed" not in kinds(run) and "died" not in kinds(run)


def test_submissions_refused_and_accounting_down(slurm, tmp_path, capfd):
    root = tmp_path / "runs"
    said = "Batch job submission failed: Socket timed out on send/recv operation"
    with failing("sbatch", tmp_path / "sbatch", 2, said):
        assert main(["-m", *SLURM, f"root={root}"]) == 0
    assert capfd.readouterr().out.count("trying again in") == 2
    (run,) = find_runs(root)
    wait_for(lambda: finished(run), what="the run")
    assert kinds(run).count("attempt") == 1
    with failing("sacct", tmp_path / "sacct", 9, "Problem talking to the database"):
        assert [entry.state.status for entry in entries(root).values()] == ["finished"]
