"""Launches into a queue that is full, refuses for ever, or has lost what it was asked for.

Commands that answer like SLURM's stand in for it: no job ever starts.
"""

import os
import pwd
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest

from s2m import cancel
from s2m.cluster import commands
from s2m.cluster.followup import find_steps, results_of
from s2m.cluster.manifest import FILE, FOLDER, Ledger
from s2m.cluster.queue import Queue
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.run.folder import find_runs
from s2m.run.lock import RunLock
from tests.cluster.jobs import TINY, launch, place_of, states
from tests.faults.surroundings import enlarge, small_disk
from tests.waiting import wait_for

SWEEP = """# A sweep of tests.
experiment: tested
cells:
  - seed=1,2
then:
  - -c "pass"
  - -c "1"
  - -c "2"
"""
VIOLATION = (
    "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit "
    "limit, user's size and/or time limits)"
)
GUARD = """#!/bin/sh
eval "script=\\${{$#}}"
last=$(sed -n 's/^#SBATCH --array=0-\\([0-9]*\\).*/\\1/p' "$script")
have=$(awk '{{ n += NF == 3 ? $3 + 1 : 1 }} END {{ print n + 0 }}' {folder}/queue)
echo "$have" >> {folder}/asked
if [ $((have + ${{last:-0}} + 1)) -gt {most} ]; then
  echo 'sbatch: error: {word}' >&2
  echo "{violation}" >&2
  exit 1
fi
exec {folder}/sbatch.real "$@"
"""


@pytest.fixture(autouse=True)
def sweep(tmp_path, monkeypatch):
    """A sweep by the name of `tested`."""
    (tmp_path / "tested.yaml").write_text(SWEEP)
    monkeypatch.setattr("s2m.config.search.SWEEPS", tmp_path)


def refuse_beyond(folder, most, word):
    """Let sbatch refuse what would be more jobs than that."""
    (folder / "sbatch").rename(folder / "sbatch.real")
    text = GUARD.format(folder=folder, most=most, word=word, violation=VIOLATION)
    (folder / "sbatch").write_text(text)
    (folder / "sbatch").chmod(0o755)


def jobs(folder):
    return [line.split()[0] for line in (folder / "queue").read_text().splitlines()]


def elements(folder):
    lines = [line.split() for line in (folder / "queue").read_text().splitlines()]
    return sum(int(words[2]) + 1 if len(words) == 3 else 1 for words in lines)


def finish(run):
    run.write_result("train", {"iterations": 6})
    run.write_result("evaluate", {})


def end(folder, *ids):
    """Let jobs have ended, or all of them."""
    lines = (folder / "queue").read_text().splitlines(keepends=True)
    kept = [line for line in lines if ids and line.split()[0] not in ids]
    (folder / "queue").write_text("".join(kept))


def finish_what_is_queued(folder, root):
    queued = {name for name, status in states(root).items() if status == "queued"}
    for run in find_runs(root):
        if run.path.name in queued:
            finish(run)
    end(folder)


def test_what_fits_is_submitted_and_the_same_command_submits_the_rest(pretended, tmp_path, capsys):
    root = tmp_path / "runs"
    refuse_beyond(pretended, 6, "QOSMaxSubmitJobPerUserLimit")
    words = ["+sweep=tested", "seed=range(20)"]
    rounds = []
    for _ in range(9):
        assert launch(root, *words) == 0
        rounds.append(elements(pretended))
        if find_steps(root):
            break
        finish_what_is_queued(pretended, root)
    # All that fits, every time; then the commands.
    assert rounds == [6, 6, 6, 5]
    out = capsys.readouterr().out
    assert "submitted 6 of 20 runs as job 1, job 2" in out
    assert "14 runs do not fit yet (sbatch: QOSMaxSubmitJobPerUserLimit: " in out
    assert "): rerun the command to submit them, or add --wait" in out
    assert "2 runs do not fit yet" in out and "3 commands wait for runs without a job" in out
    assert all(entry.manifest.job for entry in Ledger.read(root).entries)


def test_waiting_feeds_the_queue_until_nothing_is_left(pretended, tmp_path, monkeypatch, capsys):
    root = tmp_path / "runs"
    refuse_beyond(pretended, 3, "AssocMaxSubmitJobLimit")

    def sleep(seconds):
        finish_what_is_queued(pretended, root)
        for step in find_steps(root):
            step.succeeded(results_of(find_runs(root)))

    # Only there: subprocess, too, sleeps while a command ends.
    monkeypatch.setattr("s2m.cluster.feed.time", SimpleNamespace(sleep=sleep))
    assert launch(root, "+sweep=tested", "seed=range(7)", "--wait") == 0
    assert set(states(root).values()) == {"finished"} and elements(pretended) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "7 finished" in lines[-1]
    assert any(line.startswith("1 run does not fit yet (") for line in lines)
    assert any(line.startswith("1 command waits until there is room (") for line in lines)
    assert not any("add --wait" in line for line in lines)
    assert all(one != other for one, other in zip(lines, lines[1:], strict=False))


def test_what_is_refused_for_ever_is_told_at_once_by_its_reason(pretended, tmp_path):
    root = tmp_path / "runs"
    refuse_beyond(pretended, 0, "QOSMinGRES")
    with pytest.raises(UserError, match="^sbatch: QOSMinGRES: Batch job .*; 2 of 2 runs were not"):
        launch(root, "+sweep=tested")
    assert len((pretended / "asked").read_text().split()) == 1
    assert Ledger.read(root).entries == [] and not list(root.glob(f"{FOLDER}/*/{FILE}"))


def test_commands_wait_for_runs_that_no_job_of_the_queue_brings_about(pretended, tmp_path, capsys):
    """One run is at work on this machine: nothing tells SLURM when it ends."""
    root = tmp_path / "runs"
    launch(root, "experiment=tested", "seed=1")
    (run,) = find_runs(root)
    end(pretended)
    with RunLock.acquire(run):
        launch(root, "+sweep=tested", "seed=1")
        assert "3 commands wait for runs without a job" in capsys.readouterr().out
        assert jobs(pretended) == []
    finish(run)
    launch(root, "+sweep=tested", "seed=1")
    assert len(jobs(pretended)) == 3 and len(find_steps(root)) == 3
    end(pretended)
    steps = find_steps(root)
    for step in steps:
        step.succeeded({run.path.name: "what it was at that time"})
    launch(root, "+sweep=tested", "seed=1")
    assert len(jobs(pretended)) == 3  # they have read something else


def test_a_chain_that_was_submitted_by_half_goes_on_where_it_was(pretended, tmp_path):
    root = tmp_path / "runs"
    refuse_beyond(pretended, 3, "QOSMaxJobsPerUserLimit")  # two runs and one command fit
    with pytest.raises(UserError, match="; 2 of 3 commands after the runs were not submitted"):
        launch(root, "+sweep=tested")
    first = jobs(pretended)
    (pretended / "sbatch.real").rename(pretended / "sbatch")
    launch(root, "+sweep=tested")
    assert jobs(pretended)[:2] == first and len(jobs(pretended)) == 4
    scripts = {path.parent.name: path.read_text() for path in root.glob(f"{FOLDER}/*/job.sh")}
    entries = Ledger.read(root).entries
    ahead = [f"afterany:{first[0]}", f"afterok:{first[1]}", f"afterok:{jobs(pretended)[2]}"]
    for entry, dependency in zip(entries[1:], ahead, strict=True):
        assert f"#SBATCH --dependency={dependency}\n" in scripts[entry.manifest.name]


def test_a_launch_that_died_before_the_answer_finds_its_job_by_name(pretended, tmp_path, capsys):
    root = tmp_path / "runs"
    launch(root, "+sweep=tested")
    before = jobs(pretended)
    for entry in Ledger.read(root).entries:
        entry.note(job="")
    capsys.readouterr()
    launch(root, "+sweep=tested")
    assert jobs(pretended) == before and "nothing to submit" in capsys.readouterr().out
    assert [entry.manifest.job for entry in Ledger.read(root).entries] == before


def test_what_was_never_submitted_is_withdrawn(pretended, tmp_path):
    """The launcher died before sbatch was called."""
    root = tmp_path / "runs"
    launch(root, "seed=1")
    (entry,) = Ledger.read(root).entries
    entry.note(job="")
    end(pretended)
    launch(root, "seed=1")
    (fresh,) = Ledger.read(root).entries
    assert fresh.manifest.name != entry.manifest.name and jobs(pretended) == ["2"]


def test_cancelling_an_experiment_takes_its_commands_along(pretended, tmp_path, capsys):
    root = tmp_path / "runs"
    launch(root, "+sweep=tested")
    launch(root, "experiment=other", "seed=1")
    assert len(jobs(pretended)) == 5
    assert cancel.main([str(root / "tested"), "--yes"]) == 0
    assert "cancelled 3 commands after the runs" in capsys.readouterr().out
    assert jobs(pretended) == ["5"]


def test_cancelling_a_run_leaves_the_commands_of_its_experiment(pretended, tmp_path):
    root = tmp_path / "runs"
    launch(root, "+sweep=tested")
    run, _ = (run.path for run in find_runs(root))
    cancel.main([str(run), "--yes"])
    assert len(jobs(pretended)) == 4


def test_a_chain_of_jobs_that_does_not_fit_is_told(pretended, tmp_path, capsys):
    refuse_beyond(pretended, 2, "QOSMaxSubmitJobPerUserLimit")
    launch(tmp_path / "runs", "cluster.requeue=false", "cluster.chain=3")
    out = capsys.readouterr().out
    assert "only 1 of 3 follow-up jobs (cluster.chain) were submitted" in out


@pytest.mark.parametrize("write", ["manifest", "script", "run"])
def test_on_a_full_disk_nothing_is_submitted_and_nothing_half_written_stays(
    pretended, tmp_path, monkeypatch, write
):
    root = tmp_path / "runs"
    place = {
        "manifest": "s2m.cluster.manifest.write_sealed",
        "script": "s2m.cluster.slurm.write_script",
        "run": "s2m.run.folder.write_durably",
    }[write]

    def full(path, *_, **__):
        raise OSError(28, "No space left on device", str(path))

    with monkeypatch.context() as disk, pytest.raises((UserError, OSError)) as told:
        disk.setattr(place, full)
        launch(root, "seed=1")
    assert "No space left on device" in str(told.value) and jobs(pretended) == []
    assert not list(root.glob(f"{FOLDER}/s2m-*"))
    launch(root, "seed=1")
    assert jobs(pretended) == ["1"]


def test_a_job_of_another_cluster_or_unseen_user_is_left_alone_and_told(
    pretended, tmp_path, monkeypatch, capsys
):
    root = tmp_path / "runs"
    launch(root, "seed=1,2")
    (entry,) = Ledger.read(root).entries
    entry.note(cluster="far", user="somebody")
    (pretended / "queue").write_text("")
    commands._config.cache_clear()
    (pretended / "scontrol").write_text('#!/bin/sh\necho "ClusterName = near"\n')
    capsys.readouterr()
    launch(root, "seed=1,2")
    out = capsys.readouterr().out
    line = "somebody's job 1_0 on cluster far: this is cluster near; if it is gone, delete"
    assert f"{line} {entry.file}" in out and jobs(pretended) == []
    assert set(states(root).values()) == {"queued"}
    entry.exit_file(0).write_text("75\n")  # one has ended since
    launch(root, "seed=1,2")
    assert elements(pretended) == 1
    entry.file.unlink()
    launch(root, "seed=1,2")
    assert elements(pretended) == 2


@pytest.mark.parametrize("hidden", ["jobs", "accounts,jobs,users"])
def test_where_nobody_sees_the_jobs_of_others_theirs_are_left_alone(
    pretended, tmp_path, capsys, hidden
):
    root = tmp_path / "runs"
    launch(root, "seed=1")
    (entry,) = Ledger.read(root).entries
    entry.note(user="somebody")
    end(pretended)
    (pretended / "scontrol").write_text(f'#!/bin/sh\necho "PrivateData = {hidden}"\n')
    commands._config.cache_clear()
    capsys.readouterr()
    launch(root, "seed=1")
    out = capsys.readouterr().out
    assert "squeue does not show the jobs of others; if it is gone, delete" in out
    assert jobs(pretended) == [] and set(states(root).values()) == {"queued"}
    (pretended / "scontrol").write_text('#!/bin/sh\necho "PrivateData = none"\n')
    commands._config.cache_clear()
    launch(root, "seed=1")
    assert jobs(pretended) == ["2"]


@pytest.fixture
def colleague(pretended):
    """Somebody with an account here; squeue shows the jobs of those it is asked about only."""
    name = next(user.pw_name for user in pwd.getpwall() if user.pw_uid != os.getuid())
    (pretended / "squeue").rename(pretended / "squeue.real")
    (pretended / "squeue").write_text(
        f"""#!/bin/sh
users=$(echo "$@" | sed -n 's/.*--user=\\([^ ]*\\).*/\\1/p')
case ",$users," in *,{name},*) unseen=none;; *) unseen=1;; esac
{pretended}/squeue.real | grep -v "^$unseen[_|]" || true
"""
    )
    (pretended / "squeue").chmod(0o755)
    return name


def test_the_jobs_of_all_who_submitted_are_asked_for_and_waited_for(
    pretended, colleague, tmp_path, capsys
):
    """Job 1 is a colleague's: squeue tells of it only if asked about that user."""
    root = tmp_path / "runs"
    launch(root, "experiment=tested", "seed=1")
    (entry,) = Ledger.read(root).entries
    assert set(states(root).values()) == {"pending"}  # as it is nobody's who submitted here
    entry.note(user=colleague)
    assert set(states(root).values()) == {"queued"}
    capsys.readouterr()
    launch(root, "+sweep=tested")
    assert "1 of 2 runs queued, skipped" in capsys.readouterr().out
    assert len(jobs(pretended)) == 5
    first, *_ = [e for e in Ledger.read(root).entries if e.manifest.command]
    script = (first.folder / "job.sh").read_text()
    assert "#SBATCH --dependency=afterany:1:2\n" in script


def test_a_job_that_has_ended_since_its_launcher_died_is_found_in_the_accounting(
    pretended, tmp_path
):
    root = tmp_path / "runs"
    launch(root, "seed=1")
    (entry,) = Ledger.read(root).entries
    entry.note(job="")
    end(pretended)
    (run,) = find_runs(root)
    finish(run)
    (pretended / "sacct").write_text(
        f'#!/bin/sh\necho "41|other"; echo "42|{entry.manifest.name}"\n'
    )
    launch(root, "seed=1")
    (found,) = Ledger.read(root).entries
    assert (found.manifest.job, found.manifest.over) == ("42", True)
    assert jobs(pretended) == []


def test_a_job_that_ended_before_its_run_began_is_a_failure(pretended, tmp_path, capsys):
    root = tmp_path / "runs"
    launch(root, "seed=1,2")
    (entry,) = Ledger.read(root).entries
    for index in (0, 1):
        entry.exit_file(index).write_text("2\n")
        entry.logs(index)[1].write_text(
            "slurmstepd: error: execve(): /no/python: No such file or directory\n"
            "srun: error: n1: task 0: Exited with exit code 2\n"
        )
    end(pretended)
    capsys.readouterr()
    assert launch(root, "seed=1,2") == 1
    out = capsys.readouterr().out
    assert jobs(pretended) == [] and "nothing to submit" in out
    assert (
        "no element of job 1 reached its run: job 1_0 ended with exit code 2 before the run" in out
    )
    assert "/no/python: No such file or directory" in out and "check cluster.python" in out
    assert "2 of 2 runs failed, skipped (retry_failed=true reruns them)" in out
    launch(root, "seed=1,2", "retry_failed=true")
    assert elements(pretended) == 2 and set(states(root).values()) == {"queued"}
    end(pretended)
    assert set(states(root).values()) == {"pending"}  # cancelled, say, before they began


@pytest.mark.parametrize(
    ("state", "found"), [("FAILED", "failed"), ("CANCELLED by 0", "pending"), ("", "pending")]
)
def test_a_job_that_never_came_to_its_script_is_believed_to_have_failed(
    pretended, tmp_path, capsys, state, found
):
    """After a failed prolog, or without a folder for its logs, only the accounting knows."""
    root = tmp_path / "runs"
    launch(root, "seed=1,2")
    (entry,) = Ledger.read(root).entries
    asked = pretended / "accounting"
    lines = [f'[ -z "{state}" ] || echo "1_{i}|{entry.manifest.name}|{state}"' for i in (0, 1)]
    said = "\n".join(["#!/bin/sh", f'echo "$@" >> {asked}', *lines])
    (pretended / "sacct").write_text(said)
    end(pretended)
    assert set(states(root).values()) == {found}
    asked.unlink()
    capsys.readouterr()
    code = launch(root, "seed=1,2", "dry=true")
    assert code == 0 and len(asked.read_text().splitlines()) == 1
    failed = found == "failed"
    out = capsys.readouterr().out
    assert (
        "is FAILED in SLURM's accounting, without an exit code, before the run" in out
    ) is failed
    assert f"{0 if failed else 2} of 2 runs would be executed" in out


def test_where_jobs_cannot_be_requeued_others_wait_to_go_on(pretended, tmp_path):
    root = tmp_path / "runs"
    words = ["+sweep=tested", "cluster.requeue=false", "cluster.chain=2"]
    launch(root, *words)
    assert elements(pretended) == 3 * 2 + 3
    entries = Ledger.read(root).entries
    scripts = [(entry.folder / "job.sh").read_text() for entry in entries]
    assert all("#SBATCH --no-requeue\n" in s and "#SBATCH --requeue" not in s for s in scripts)
    assert ["--dependency=aftercorr:1\n" in scripts[1], "--dependency=aftercorr:2\n" in scripts[2]]
    assert "#SBATCH --dependency=afterany:1:2:3\n" in scripts[3]
    assert ["leave 0; esac" in script for script in scripts[:3]] == [True, True, False]
    launch(root, *words)
    assert elements(pretended) == 9
    end(pretended, "1")
    assert set(states(root).values()) == {"queued"}
    with pytest.raises(UserError, match="cluster.chain = 2: allowed with cluster.requeue=false"):
        launch(root, "cluster.chain=2")


def test_profiles_differ_within_a_sweep_and_scripts_have_resources_of_their_own(
    pretended, tmp_path
):
    (tmp_path / "tested.yaml").write_text(
        SWEEP.replace(
            "  - seed=1,2\n", "  - seed=1 cluster.gpus=0\n  - seed=2 cluster.gpu_type=a100\n"
        )
    )
    root = tmp_path / "runs"
    launch(root, "+sweep=tested", "cluster.then.gpus=1", "cluster.then.qos=night")
    entries = Ledger.read(root).entries
    first, second, script, *_ = [(entry.folder / "job.sh").read_text() for entry in entries]
    assert "--gres" not in first and "#SBATCH --gres=gpu:a100:1\n" in second
    assert "#SBATCH --gres=gpu:1\n" in script and "#SBATCH --qos=night\n" in script
    assert [place_of(run).id for run in find_runs(root)] == ["1", "2"]


@pytest.mark.parametrize("per, option", [("cpu", "--mem-per-cpu"), ("gpu", "--mem-per-gpu")])
def test_memory_may_be_that_of_a_core_or_a_gpu(pretended, tmp_path, per, option):
    launch(tmp_path / "runs", f"cluster.memory_per={per}", "cluster.memory=4")
    (entry,) = Ledger.read(tmp_path / "runs").entries
    script = (entry.folder / "job.sh").read_text()
    assert f"#SBATCH {option}=4096MB\n" in script and "--mem=" not in script
    with pytest.raises(UserError, match="memory is set by cluster.memory = 1 and"):
        launch(tmp_path / "runs", 'cluster.sbatch=["--mem-per-gpu=4G"]')


def scripts(root):
    """Return the scripts of all submissions, in their order."""
    return [(entry.folder / "job.sh").read_text() for entry in Ledger.read(root).entries]


def test_memory_is_left_to_the_site(pretended, tmp_path):
    launch(tmp_path / "runs", "cluster.memory=0")
    (script,) = scripts(tmp_path / "runs")
    assert "--mem" not in script
    launch(tmp_path / "runs", "seed=2", "cluster.memory=0", 'cluster.sbatch=["--mem-per-gpu=4G"]')
    assert "#SBATCH --mem-per-gpu=4G\n" in scripts(tmp_path / "runs")[1]


def test_several_partitions_may_be_named_and_scripts_have_one_of_their_own(pretended, tmp_path):
    root = tmp_path / "runs"
    (pretended / "sinfo").write_text("#!/bin/sh\nprintf 'low\\nhigh\\ncpu\\n'\n")
    launch(root, "+sweep=tested", "cluster.partition='low,high'", "cluster.then.partition=cpu")
    runs, *after = scripts(root)
    assert "#SBATCH --partition=low,high\n" in runs
    assert len(after) == 3 and all("#SBATCH --partition=cpu\n" in script for script in after)
    for words in (["cluster.partition='low,hihg'"], ["cluster.then.partition=cup"]):
        with pytest.raises(UserError, match="unknown partition"):
            launch(root, "seed=3", "cluster.partition=low", *words)


def test_a_sweep_may_name_a_profile_in_each_line(pretended, tmp_path):
    root, own = tmp_path / "runs", tmp_path / "own"
    (own / "cluster").mkdir(parents=True)
    for name, gpu in (("old", "v100"), ("new", "h100")):
        text = f"defaults:\n  - slurm_schema\ngpu_type: {gpu}\npack: 2\n"
        (own / "cluster" / f"{name}.yaml").write_text(text)
    lines = "  - seed=1,2 cluster=old\n  - seed=3,4,5 cluster=new\n"
    (tmp_path / "tested.yaml").write_text(SWEEP.replace("  - seed=1,2\n", lines))
    words = [word for word in TINY if not word.startswith("cluster")]
    assert main(["-m", f"--config-dir={own}", "+sweep=tested", *words, f"root={root}"]) == 0
    first, second, *_ = Ledger.read(root).entries
    assert [len(pack) for pack in first.manifest.packs] == [2]
    assert [len(pack) for pack in second.manifest.packs] == [2, 1]
    old, new, *after = scripts(root)
    assert "--gres=gpu:v100:1\n" in old and "--gres=gpu:h100:1\n" in new
    assert len(after) == 3 and "#SBATCH --dependency=afterany:1:2\n" in after[0]


@pytest.mark.parametrize("kilobytes", [16, 64, 1024])
def test_a_launch_onto_a_full_disk_ends_with_one_line_and_leaves_no_halves(
    pretended, tmp_path, kilobytes
):
    """The first size has no room for the folders of the runs, the last none for all of the code."""
    words = ["-m", *TINY, "seed=1,2,3", f"root={tmp_path}/disk/runs"]
    command = [sys.executable, "-m", "s2m.launch", *words]

    def call():
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    try:
        with small_disk(tmp_path / "disk", kilobytes) as disk:
            done = call()
            (line,) = done.stderr.splitlines()
            assert done.returncode == 2 and line.startswith("error: "), done.stderr
            assert "No space left on device" in line and jobs(pretended) == []
            assert not list(disk.rglob("*.tmp")) and not list(disk.glob(f"runs/{FOLDER}/s2m-*"))
            assert set(states(disk / "runs").values()) <= {"pending"}
            enlarge(disk, 100_000)
            assert call().returncode == 0 and elements(pretended) == 3
    except PermissionError:
        pytest.skip("needs the right to mount")


def test_a_launch_syncs_little_per_run(pretended, tmp_path):
    """On a file server each takes a while, and all are done under the lock of the launch."""
    counts = []
    for seeds in ("range(2)", "range(2,7)"):
        with mock.patch("os.fsync") as synced:
            launch(tmp_path / "runs", f"seed={seeds}")
        counts.append(synced.call_count)
    assert 0 < counts[1] - counts[0] <= 4 * 3


def test_the_lock_is_held_as_long_as_sbatch_works(pretended, tmp_path):
    """A launcher that is killed inside it must not let another one look too early."""
    root = tmp_path / "runs"
    real = (pretended / "sbatch").read_text()
    first = f"#!/bin/sh\necho $$ > {tmp_path}/orphan\nkill -9 $PPID\nsleep 3\n"
    slow = real.replace("#!/bin/sh\n", first, 1)
    (pretended / "sbatch").write_text(slow)
    child = os.fork()
    if child == 0:
        try:
            launch(root, "seed=1")
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    (pretended / "sbatch").write_text(real)
    launch(root, "seed=1")
    orphan = Path("/proc", (tmp_path / "orphan").read_text().strip())
    wait_for(lambda: not orphan.exists(), what="the sbatch that was left alone")
    assert jobs(pretended) == ["1"]
    queue = Queue.read(root)
    assert queue and [entry.manifest.job for entry in Ledger.read(root).entries] == ["1"]
