"""Launches on real daemons that die half way, meet other users, clusters and limits."""

import json
import os
import pwd
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from devcluster import DevCluster, Settings

from benchmarks.simulated import pretend_slurm
from s2m.cluster.commands import listed
from s2m.cluster.followup import find_steps
from s2m.cluster.manifest import Ledger
from s2m.monitor.survey import survey
from s2m.run.folder import find_runs
from tests.cluster.conftest import cannot
from tests.cluster.jobs import (
    LONG,
    TINY,
    assert_whole,
    entries,
    job_of,
    launch,
    states,
    stop_reasons,
    trains,
    wait_until_finished,
)
from tests.faults import transactions
from tests.faults.runs import kinds
from tests.waiting import wait_for
from tests.words import latest

pytestmark = pytest.mark.slurm

ROOT = Path(__file__).parents[2]
LATER = 'cluster.sbatch=["--begin=now+1hour"]'


@pytest.mark.parametrize("moment", [("inside sbatch", 1), ("after sbatch", 3)])
def test_a_launcher_that_dies_around_an_sbatch_costs_nothing(slurm, tmp_path, monkeypatch, moment):
    what, which = moment
    (tmp_path / "counted").mkdir()
    with monkeypatch.context() as empty:
        empty.setenv("PATH", pretend_slurm(tmp_path / "commands")["PATH"])
        call = transactions.call_of(tmp_path / "counted", what, which)
    assert transactions.launch_dying(tmp_path, call) == what
    assert transactions.finish_launch(tmp_path) == []
    assert transactions.faults_in(tmp_path) == []


def test_jobs_that_die_on_arrival_are_told_and_not_submitted_again(slurm, tmp_path, capsys):
    root = tmp_path / "runs"
    launch(root, "seed=1,2", "cluster.python=/no/such/python")
    wait_for(lambda: not listed())
    assert [entry.verdict for entry in survey(root)] == ["dead on arrival"] * 2
    assert all("/no/such/python" in entry.state.failure for entry in survey(root))
    capsys.readouterr()
    assert launch(root, "seed=1,2") == 1
    out = capsys.readouterr().out
    assert "nothing to submit" in out and "-> check cluster.python" in out and not listed()
    # Neither the variables of this shell nor a package of the launcher's is needed.
    launch(root, "seed=1,2", "retry_failed=true", 'cluster.sbatch=["--export=NONE"]')
    wait_until_finished(root)


def test_every_job_has_the_cores_that_srun_binds_it_to(slurm, tmp_path):
    cores = tmp_path / "cores"
    launch(tmp_path / "runs", "cluster.cpus=3", f'cluster.setup=["env > {cores}"]', LATER)
    (entry,) = Ledger.read(tmp_path / "runs").entries
    lines = (entry.folder / "job.sh").read_text().split("# command")[0]
    (tmp_path / "job.sh").write_text(f"{lines}\nsrun sh -c 'echo $SLURM_CPUS_PER_TASK' > {cores}")
    shown = ["sbatch", "--begin=now", f"--output={tmp_path}/out", f"--chdir={tmp_path}"]
    slurm.run(*shown, str(tmp_path / "job.sh"))
    wait_for(lambda: cores.exists() and cores.read_text() == "3\n")


def test_jobs_ahead_carry_a_run_on_where_requeueing_is_forbidden(slurm, tmp_path):
    """Three warnings, as of time limits: nobody launches anything again."""
    root = tmp_path / "runs"
    launch(root, *LONG, "cluster.requeue=false", "cluster.chain=3")
    (run,) = find_runs(root)
    for stops in range(3):
        wait_for(lambda stops=stops: kinds(run).count("attempt") == stops + 1, 300)
        trains(root)
        if run.result("train"):
            break
        slurm.run("scancel", "--signal=USR2", job_of(run))
        wait_for(lambda stops=stops: len(stop_reasons(run)) == stops + 1, 300)
    wait_until_finished(root)
    assert stop_reasons(run) and set(stop_reasons(run)) == {"SIGUSR2"}
    assert_whole(run)


@pytest.mark.slow
def test_a_run_of_more_than_three_time_limits_finishes_without_a_hand(slurm, tmp_path):
    root = tmp_path / "runs"
    words = ["budget.iterations=240", "cluster.minutes=1", "cluster.signal_seconds=15"]
    launch(root, *LONG, *words, "cluster.requeue=false", "cluster.chain=12")
    (run,) = find_runs(root)
    wait_for(lambda: run.result("evaluate"), 1500)
    assert len(stop_reasons(run)) >= 3 and set(stop_reasons(run)) == {"SIGUSR2"}
    assert_whole(run)


@pytest.fixture
def limited(slurm_programs, short_path, monkeypatch):
    """A cluster whose user may have six jobs in the queue."""
    with DevCluster(short_path / "c", Settings(max_submit=6), die_with_parent=True) as cluster:
        monkeypatch.setenv("SLURM_CONF", cluster.environment["SLURM_CONF"])
        yield cluster


SWEEP = """# A sweep of tests.
experiment: tested
cells:
  - seed=range(20)
then:
  - -c "import pathlib, sys; pathlib.Path(sys.argv[1]).mkdir()" {root}/after
  - -c "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()" {root}/after/second
"""


@pytest.mark.slow
@pytest.mark.parametrize("wait", [True, False])
def test_more_runs_than_a_user_may_submit(limited, tmp_path, monkeypatch, wait):
    (tmp_path / "tested.yaml").write_text(SWEEP)
    monkeypatch.setattr("s2m.config.search.SWEEPS", tmp_path)
    root, words = tmp_path / "runs", ["+sweep=tested", "budget.iterations=2", "cluster.gpus=0"]
    if wait:
        assert launch(root, *words, "cluster.poll=2", "--wait") == 0
    else:
        wait_for(
            lambda: launch(root, *words) == 0 and (root / "after" / "second").exists(),
            1500, pause=5,
        )  # fmt: skip
    assert len(states(root)) == 20 and set(states(root).values()) == {"finished"}
    assert (root / "after" / "second").exists()
    assert all(kinds(run).count("attempt") == 1 for run in find_runs(root))


@pytest.fixture
def far(slurm_programs, short_path):
    """Another cluster with the same file system."""
    settings = Settings(name="far", accounting=False, nodes=1)
    with DevCluster(short_path / "f", settings, die_with_parent=True) as cluster:
        yield cluster


@dataclass
class Somebody:
    """Another user of this machine, with a view of the project and a Python to execute."""

    name: str
    project: Path
    python: str = ""

    def __post_init__(self):
        """Find a Python: that of the tests may lie where only its owner may look."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        for self.python in (sys.executable, f"/usr/local/bin/{version}", f"/usr/bin/{version}"):
            with suppress(OSError):
                if self.run("-c", "import hydra, torch").returncode == 0:
                    return
        pytest.skip(f"no Python here that {self.name} may execute, with the packages of this one")

    def __call__(self, *words, **variables):
        """Run Python as that user and return what it prints."""
        done = self.run(*words, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def run(self, *words, **variables):
        site = [Path(path) for path in sys.path if path.endswith("site-packages")]
        seen = [self.project / x.relative_to(ROOT) if x.is_relative_to(ROOT) else x for x in site]
        path = ":".join(map(str, [self.project, *seen]))
        return subprocess.run(
            [self.python, *words], user=self.name, group=pwd.getpwnam(self.name).pw_gid,
            extra_groups=[], umask=0, text=True, capture_output=True, cwd=self.project,
            env=os.environ | variables | {"PYTHONPATH": path, "HOME": "/tmp"},
        )  # fmt: skip

    def launch(self, cluster, root, *words):
        given = latest(*TINY, f"root={root}", "tracking=disabled", *words)
        return self("-m", "s2m.launch", "-m", *given, **cluster.environment)


@pytest.fixture
def shared(slurm):
    """A folder, and a cluster, that all users of this machine can use; and one of these users."""
    if os.geteuid() != 0:
        cannot("only root can be two users")
    folder, name = Path("/tmp") / f"s2m-shared-{os.getpid()}", "games"
    project = folder / "project"
    project.mkdir(parents=True)
    folder.chmod(0o777)
    # The checkout may lie below a folder that is closed to others. Mounted read-only, so that no
    # clean-up of this place can reach it.
    mount = ["mount", "-o", "bind,ro", str(ROOT), str(project)]
    if subprocess.run(mount, check=False).returncode:
        shutil.rmtree(folder)
        pytest.skip("needs the right to mount")
    slurm.folder.chmod(0o755)
    before = os.umask(0)
    try:
        yield folder, Somebody(name, project)
    finally:
        os.umask(before)
        slurm.run("scancel", f"--user={name}")
        wait_for(lambda: not subprocess.run(["umount", str(project)], check=False).returncode)
        shutil.rmtree(folder)


def test_two_users_and_two_clusters_share_a_folder(slurm, far, shared, monkeypatch, capsys):
    root, somebody = shared[0] / "runs", shared[1]
    launch(root, "seed=1,2", LATER)
    mine = {job.id for job in listed()}
    assert len(mine) == 2
    out = somebody.launch(slurm, root, "seed=1,2,3", LATER)
    assert "2 of 3 runs queued, skipped" in out and "submitted 1 run as job" in out
    everyone = {job.id for job in listed()}
    assert mine < everyone and len(everyone) == 3
    # Both see the runs of both.
    seen = json.loads(somebody("-m", "s2m.status", str(root), "--json", **slurm.environment))
    assert [(run["status"], run["job"] in mine) for run in seen] == [
        ("queued", True), ("queued", True), ("queued", False)
    ]  # fmt: skip
    # Back to the first user: the third run is somebody's, and all see all.
    capsys.readouterr()
    launch(root, "seed=1,2,3")
    assert "3 of 3 runs queued, skipped" in capsys.readouterr().out
    assert list(states(root).values()) == ["queued"] * 3
    monkeypatch.setenv("SLURM_CONF", far.environment["SLURM_CONF"])
    launch(root, "seed=1,2,3,4", LATER)
    out = capsys.readouterr().out
    assert "3 of 4 runs queued, skipped" in out and "submitted 1 run as job" in out
    assert out.count("on cluster devcluster: this is cluster far; if it is gone, delete") == 3
    assert [job.name for job in listed()] == [Ledger.read(root).entries[-1].manifest.name]
    assert [entry.state.status for entry in entries(root).values()] == ["queued"] * 4
    far.run("scontrol", "update", f"JobId={listed()[0].id}", "StartTime=now")
    monkeypatch.setenv("SLURM_CONF", slurm.environment["SLURM_CONF"])
    for job in everyone:
        slurm.run("scontrol", "update", f"JobId={job}", "StartTime=now")
    wait_until_finished(root)
    assert all(kinds(run).count("attempt") == 1 for run in find_runs(root))
    assert not find_steps(root)
