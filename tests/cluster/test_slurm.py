"""Sweeps on real SLURM daemons: submitted once, packed, followed by commands, refused."""

import shutil
import subprocess
import sys
import time
from dataclasses import asdict

import pytest
from devcluster import DevCluster, Settings

from s2m import logs
from s2m.cluster import slurm as submitting
from s2m.cluster.commands import SlurmError, listed
from s2m.cluster.followup import find_steps
from s2m.cluster.manifest import Ledger
from s2m.cluster.queue import Queue
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.monitor.survey import survey
from s2m.run.folder import find_runs
from s2m.run.identity import signature
from tests.cluster.jobs import (
    LONG,
    TINY,
    assert_as_undisturbed,
    assert_whole,
    job_of,
    launch,
    place_of,
    preempt,
    states,
    trains,
    wait_until_finished,
)
from tests.faults.runs import kinds
from tests.waiting import wait_for

pytestmark = pytest.mark.slurm


def test_a_sweep_is_submitted_once_and_only_what_is_missing_again(slurm, tmp_path, capsys):
    root = tmp_path / "with space, 'quotes' and ü"
    words = ["encoder=pfds,dshc", "permute=true,false"]
    assert launch(root, *words) == 0
    assert "submitted 4 runs as job" in capsys.readouterr().out
    jobs = {job_of(run) for run in find_runs(root)}
    assert len(jobs) == 4 and jobs <= queued()
    assert launch(root, *words) == 0
    assert "nothing to submit" in capsys.readouterr().out
    wait_until_finished(root)
    assert all(run.result("evaluate") for run in find_runs(root))
    attempts = {run.path: run.attempt.read_bytes() for run in find_runs(root)}
    victim = next(find_runs(root))
    shutil.rmtree(victim.path)
    launch(root, *words)
    assert "submitted 1 run as job" in capsys.readouterr().out
    wait_until_finished(root)
    changed = [
        run.path for run in find_runs(root) if run.attempt.read_bytes() != attempts[run.path]
    ]
    assert changed == [victim.path]


def queued():
    return {job.id for job in listed()}


def job_of_step(step):
    return Queue.read(step.record.parent).of_command(step.record).id


def job_state(cluster, job):
    return cluster.run("sacct", "-X", "-n", "-P", "-j", job, "-o", "State").strip().split(" ")[0]


def test_packed_runs_share_a_gpu_and_one_that_fails_does_not_disturb_the_other(slurm, tmp_path):
    root = tmp_path / "runs"
    words = ["ppo.kl_target=0", "ppo.learning_rate=1e30,1e-3", "cluster.pack=2"]
    launch(root, *words)
    wait_for(lambda: set(states(root).values()) <= {"failed", "finished"})
    good = [e for e in survey(root) if e.state.status == "finished"]
    bad = [e for e in survey(root) if e.state.status == "failed"]
    assert len(good) == len(bad) == 1 and good[0].state.job == bad[0].state.job
    assert good[0].folder.result("evaluate") is not None
    assert bad[0].verdict == "not a number" and "diverged" in bad[0].state.failure
    wait_for(lambda: job_state(slurm, good[0].state.job) == "FAILED")
    before = bad[0].folder.attempt.read_bytes()
    launch(root, *words)
    assert bad[0].folder.attempt.read_bytes() == before


SWEEP = """# A sweep of tests.
experiment: tested
cells:
  - seed=1 ppo.kl_target=0 ppo.learning_rate=1e30,1e-3
then:
  - -c "import pathlib, sys; pathlib.Path(sys.argv[1]).mkdir()" {root}/after
  - -c "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()" {root}/after/second
"""


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    folder = tmp_path / "sweeps"
    folder.mkdir()
    (folder / "tested.yaml").write_text(SWEEP)
    monkeypatch.setattr("s2m.config.search.SWEEPS", folder)


def test_commands_come_after_all_runs_and_depend_on_each_other(slurm, tmp_path, sweep, capsys):
    root = tmp_path / "runs"
    launch(root, "+sweep=tested")
    first, second = wait_for(lambda: len(s := find_steps(root)) == 2 and s)
    wait_for((root / "after" / "second").exists, 400)
    # One run has failed: the other was evaluated, and the commands came all the same.
    assert sorted(states(root).values()) == ["failed", "finished"]
    wait_for(lambda: first.record.exists() and second.record.exists())
    capsys.readouterr()
    launch(root, "+sweep=tested")
    assert "nothing to submit" in capsys.readouterr().out


def test_a_failing_command_cancels_those_after_it(slurm, tmp_path, sweep):
    root = tmp_path / "runs"
    (root / "after").mkdir(parents=True)  # Then the first command fails.
    launch(root, "+sweep=tested")
    steps = find_steps(root)
    wait_for(lambda: [step.state(Queue.read(root)) for step in steps] == ["failed", "failed"])
    assert not (root / "after" / "second").exists()
    jobs = [job_of_step(step) for step in steps]
    wait_for(lambda: sorted(job_state(slurm, job) for job in jobs) == ["CANCELLED", "FAILED"])


def test_commands_of_an_earlier_launch_make_way(slurm, tmp_path, sweep):
    root, later = tmp_path / "runs", 'cluster.sbatch=["--begin=now+1hour"]'
    chains = []
    for seed in (1, 2):
        launch(root, "+sweep=tested", f"seed={seed}", later)
        chains.append({job_of_step(step) for step in find_steps(root)})
    wait_for(lambda: not chains[0] & queued())
    assert len(chains[0]) == 2 and chains[1] <= queued()


def test_what_is_edited_after_submission_does_not_matter(slurm, tmp_path):
    """A copy of the project is launched, then broken while its job waits."""
    project, root = tmp_path / "project", tmp_path / "runs"
    for name in ("s2m", "conf", "sweeps"):
        source = submitting.Path(submitting.__file__).parents[2] / name
        shutil.copytree(source, project / name)
    words = [*TINY, f"root={root}", 'cluster.sbatch=["--begin=now+8"]']
    command = [sys.executable, "-m", "s2m.launch", "-m", *words]
    subprocess.run(command, cwd=project, check=True)
    (project / "s2m" / "train.py").write_text("raise SystemExit('edited')\n")
    (project / "conf" / "config.yaml").write_text("broken: [\n")
    wait_until_finished(root)
    (run,) = find_runs(root)
    assert_whole(run)


def test_code_that_was_changed_is_refused_before_anything_is_imported(slurm, tmp_path):
    root = tmp_path / "runs"
    launch(root, 'cluster.sbatch=["--begin=now+1hour"]')
    (run,) = find_runs(root)
    (entry,) = Ledger.read(root).entries
    (submitting.Path(entry.manifest.code) / "s2m" / "stages" / "train.py").unlink()
    slurm.run("scontrol", "update", f"JobId={entry.manifest.job}", "StartTime=now")
    wait_for(lambda: not queued())
    (found,) = survey(root)
    assert not run.attempt.exists() and found.verdict == "code changed"


def test_two_launches_at_once_submit_every_cell_once(slurm, tmp_path):
    root = tmp_path / "runs"
    command = [sys.executable, "-m", "s2m.launch", "-m", *TINY, f"root={root}", "seed=1,2"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    out = "".join(process.communicate()[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert out.count("submitted 2 runs") == 1 and out.count("nothing to submit") == 1
    wait_until_finished(root)
    assert all(kinds(run).count("attempt") == 1 for run in find_runs(root))


def test_a_broken_interpreter_is_told_by_the_logs(slurm, tmp_path, capsys):
    root = tmp_path / "runs"
    launch(root, "cluster.python=/nowhere/python")
    wait_for(lambda: not queued())
    (run,) = find_runs(root)
    assert set(states(root).values()) == {"failed"}
    capsys.readouterr()
    logs.main([str(run.path)])
    assert "/nowhere/python" in capsys.readouterr().out


def test_refused_submissions_are_tried_again(slurm, tmp_path, capsys, monkeypatch):
    refusals = iter([SlurmError("sbatch: Socket timed out on send/recv operation")])
    call = submitting.ask

    def refuse_once(*command, **options):
        if command[0] == "sbatch" and (error := next(refusals, None)):
            raise error
        return call(*command, **options)

    monkeypatch.setattr(submitting, "ask", refuse_once)
    launch(tmp_path, "seed=1")
    out = capsys.readouterr().out
    assert "Socket timed out on send/recv operation; trying again in 1 s" in out
    assert "submitted 1 run as job" in out


@pytest.fixture(scope="module")
def bare(slurm_programs, tmp_path_factory):
    """A cluster without accounting, without grace time, and with arrays of three at most."""
    folder = submitting.Path("/tmp") / f"s2m-bare-{time.time_ns() % 10**9}"
    settings = Settings(accounting=False, grace=0, max_array=3)
    with DevCluster(folder, settings, die_with_parent=True) as cluster:
        yield cluster
    shutil.rmtree(folder)


@pytest.fixture
def on_bare(bare, monkeypatch):
    for name, value in bare.environment.items():
        monkeypatch.setenv(name, value)
    yield bare
    bare.cancel_jobs()


def test_without_accounting_and_with_small_arrays(on_bare, tmp_path, capsys):
    words = ["seed=1,2", "ppo.kl_target=0", "ppo.learning_rate=1e30,1e-3"]
    launch(tmp_path, *words)
    found = {place_of(run).submission.manifest.job for run in find_runs(tmp_path)}
    assert len(found) == 2  # 4 runs in arrays of 3 and 1
    ends = ["failed"] * 2 + ["finished"] * 2
    wait_for(lambda: sorted(states(tmp_path).values()) == ends, 400)
    verdicts = {entry.verdict for entry in survey(tmp_path)}
    assert verdicts == {"", "not a number"}


def test_preemption_without_grace_time(on_bare, tmp_path):
    root = tmp_path / "runs"
    launch(root, *LONG)
    run = trains(root)
    preempt(on_bare)
    wait_for(lambda: kinds(run).count("attempt") == 2)
    wait_until_finished(root)
    assert_as_undisturbed(run, tmp_path)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["cluster.partition=hihg"], "unknown partition 'hihg'. Did you mean 'high'? Allowed: "),
        (["cluster.gpus=99"], "sbatch: "),
        (['cluster.sbatch=["--no-such-option=1"]'], "sbatch: "),
        (['cluster.sbatch=["begin=now"]'], "cluster.sbatch = ['begin=now']: write each option as"),
        (["cluster.partitionn=low"], "unknown setting 'cluster.partitionn'. Did you mean"),
        (["cluster.pack=0"], "cluster.pack = 0: allowed 1 or more"),
        (["root=/proc/runs"], "cannot write to the folder of runs /proc/runs"),
        (["root=/tmp/100%"], "root = /tmp/100%: SLURM would replace the %"),
        (["cluster=slurm,example"], "'cluster=slurm' and 'cluster=example' are the same run"),
    ],
)
def test_bad_input_is_one_line_and_submits_nothing(slurm, tmp_path, words, line):
    with pytest.raises(UserError) as error:
        launch(tmp_path / "runs", "cluster.patience=2", *words)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)
    assert not queued()


def test_without_slurm_the_way_to_get_one_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(UserError, match="SLURM is not installed here"):
        launch(tmp_path)


def test_a_dry_run_needs_no_cluster(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", "/nowhere")
    assert launch(tmp_path / "runs", "dry=true") == 0
    out = capsys.readouterr().out
    assert "not checked against a cluster: SLURM is not installed here" in out
    assert "#SBATCH --signal=USR2@120" in out and "1 of 1 runs would be executed" in out
    assert not (tmp_path / "runs").exists()


def test_settings_of_the_job_do_not_change_the_identity(slurm, tmp_path):
    launch(tmp_path, 'cluster.sbatch=["--begin=now+1hour"]')
    (run,) = find_runs(tmp_path)
    assert run.config()["cluster"]["kind"] == "slurm"
    local = load(RunCfg, [word for word in TINY if not word.startswith("cluster")])
    assert run.identity.signature == signature(asdict(local))
    launch(tmp_path, "cluster.minutes=5")
    assert [r.path for r in find_runs(tmp_path)] == [run.path]
