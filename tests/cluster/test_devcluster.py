"""The private SLURM: that it behaves as a real one, is seen by nobody, and leaves nothing."""

import json
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from devcluster import DevCluster, main
from slurmconf import Settings

from s2m.console.errors import UserError
from tests.processes import mentioning
from tests.waiting import wait_for

SLURM = Path(__file__).parents[2] / "slurm"
SMALL = Settings(accounting=False, nodes=1, gpus=1, grace=3, max_array=50)


def submit(cluster, folder, script, *options):
    """Submit a shell script that works in a folder, and return the job id."""
    output = f"--output={folder}/%j.out"
    return cluster.run(
        "sbatch", "--parsable", f"--chdir={folder}", output, *options, f"--wrap={script}"
    )


def lines(path):
    return path.read_text().split() if path.exists() else []


def state(cluster, job):
    return cluster.run("squeue", "--noheader", f"--jobs={job}", "--states=all", "--format=%T")


@pytest.mark.slurm
def test_two_nodes_are_idle(slurm):
    # The jobs of other tests may still be leaving.
    wait_for(lambda: slurm.node_states() == {"n1": "idle", "n2": "idle"})
    partitions = slurm.run("sinfo", "--noheader", "--format=%R %D %c %G").splitlines()
    assert partitions == ["low 2 8 gpu:2", "high 2 8 gpu:2"]


@pytest.mark.slurm
def test_jobs_on_one_node_see_different_gpus(slurm, tmp_path):
    script = "echo $CUDA_VISIBLE_DEVICES; until [ -e go ]; do sleep 0.1; done"
    options = ("--gres=gpu:1", "--nodelist=n1")
    outputs = [tmp_path / f"{submit(slurm, tmp_path, script, *options)}.out" for _ in range(2)]
    seen = wait_for(lambda: all(map(lines, outputs)) and [lines(output) for output in outputs])
    assert sorted(seen) == [["0"], ["1"]]
    third = submit(slurm, tmp_path, script, *options)
    assert state(slurm, third) == "PENDING"
    (tmp_path / "go").touch()
    wait_for(lambda: state(slurm, third) == "COMPLETED")


@pytest.mark.slurm
def test_accounting_tells_how_jobs_ended(slurm, tmp_path):
    jobs = [submit(slurm, tmp_path, script) for script in ("true", "exit 3", "sleep 600")]
    wait_for(lambda: state(slurm, jobs[2]) == "RUNNING")
    slurm.run("scancel", jobs[2])
    ask = ("sacct", "-X", "--noheader", "--parsable2", f"--jobs={','.join(jobs)}")

    def ends():
        rows = [row.split("|") for row in slurm.run(*ask, "--format=State,ExitCode").splitlines()]
        return [(word.split()[0], code) for word, code in rows]

    # The controller reports to the database every 5 s.
    expected = [("COMPLETED", "0:0"), ("FAILED", "3:0"), ("CANCELLED", "0:0")]
    wait_for(lambda: ends() == expected)


@pytest.mark.slurm
def test_it_listens_on_loopback_only(slurm):
    if shutil.which("ss") is None:
        pytest.skip("no ss here (package iproute2)")
    daemons = {str(process) for process in slurm.running().values()}
    listening = subprocess.run(["ss", "-Hltunp"], capture_output=True, text=True, check=True).stdout
    addresses = [
        line.split()[4].rpartition(":")[0]
        for line in listening.splitlines()
        if daemons & set(re.findall(r"pid=(\d+)", line))
    ]
    assert addresses == ["127.0.0.1"] * 4  # Controller, database daemon and two nodes.


@pytest.mark.slurm
def test_a_job_outlives_a_restart_of_the_controller(slurm, tmp_path):
    job = submit(slurm, tmp_path, "touch begun; until [ -e go ]; do sleep 0.1; done")
    wait_for((tmp_path / "begun").exists)
    slurm.restart_controller()
    assert state(slurm, job) == "RUNNING"
    (tmp_path / "go").touch()
    wait_for(lambda: state(slurm, job) == "COMPLETED")


@pytest.mark.slow
@pytest.mark.slurm
def test_the_job_of_a_crashed_node_goes_to_the_other(slurm, tmp_path):
    script = "echo $SLURMD_NODENAME >>nodes; sleep 600"
    job = submit(slurm, tmp_path, script)
    (first,) = wait_for(lambda: lines(tmp_path / "nodes"))
    slurm.node_down(first)
    with pytest.raises(UserError, match=f"node {first} is already down"):
        slurm.node_down(first)
    wait_for(lambda: len(lines(tmp_path / "nodes")) == 2)
    assert sorted(lines(tmp_path / "nodes")) == ["n1", "n2"]
    assert "Restarts=1" in slurm.run("scontrol", "show", "job", job)
    slurm.node_up(first)
    wait_for(lambda: slurm.node_states()[first] == "idle")


@pytest.mark.slurm
def test_stop_leaves_no_process_and_the_folder_can_be_used_again(
    slurm_programs, short_path, tmp_path
):
    with DevCluster(short_path, SMALL) as cluster:
        assert "GraceTime=3 " in cluster.run("scontrol", "show", "partition", "low")
        assert re.search(r"MaxArraySize\s+= 50\n", cluster.run("scontrol", "show", "config"))
        with pytest.raises(UserError, match="already runs in"):
            DevCluster(short_path).start()
        job = submit(cluster, tmp_path, "touch begun; sleep 600")
        wait_for((tmp_path / "begun").exists)  # SLURM calls it running before it has a process.
        assert len(mentioning(str(short_path))) >= 5
        cluster.node_down("n1", orphans=True)
    assert mentioning(str(short_path)) == []
    with DevCluster(short_path) as again:
        assert again.settings == SMALL
        assert int(submit(again, tmp_path, "true")) > int(job)
    assert mentioning(str(short_path)) == []


@pytest.mark.slurm
def test_the_daemons_die_with_their_parent_when_asked(slurm_programs, short_path):
    code = (
        "import sys; from pathlib import Path; from devcluster import DevCluster, Settings; "
        "s = Settings(accounting=False); DevCluster(Path(sys.argv[1]), s, True).start(); "
        "print('up', flush=True); sys.stdin.read()"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, short_path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=SLURM,
    )  # fmt: skip
    assert parent.stdout.readline() == "up\n"
    cluster = DevCluster.existing(short_path)
    assert len(cluster.running()) == 4
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    wait_for(lambda: not cluster.running())


def refusal(*words):
    """Return the one line by which a command is refused."""
    command = [sys.executable, SLURM / "devcluster.py", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    (line,) = done.stderr.splitlines()
    return line


def test_too_long_a_path_is_refused(tmp_path):
    folder = tmp_path / ("long" * 30)
    assert "too long a path for unix sockets" in refusal("start", folder)
    assert not folder.exists()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("start", "/tmp/with space"), "does not fit in slurm.conf"),
        (("start", "/tmp/s2m", "--nodes", "0"), "nodes is 0; allowed: 1 or more"),
        (("stop", "/tmp/s2m-none"), "no cluster was ever started in /tmp/s2m-none"),
    ],
)
def test_other_mistakes_are_told_in_one_line(words, reason):
    assert reason in refusal(*words)


def test_missing_programs_are_named_with_the_way_to_get_them(monkeypatch):
    found = {"munged": "/usr/sbin/munged"}
    monkeypatch.setattr("shutil.which", lambda name, path: found.get(name))
    with pytest.raises(UserError, match="slurm/install-debian.sh") as error:
        main(["start", "/tmp/s2m-none"])
    assert "missing: slurmctld, slurmd, " in str(error.value) and "\n" not in str(error.value)
    assert not Path("/tmp/s2m-none").exists()


@pytest.mark.slurm
def test_a_folder_with_other_files_is_refused(slurm_programs, short_path):
    (short_path / "thesis.tex").touch()
    with pytest.raises(UserError, match="holds other files"):
        DevCluster(short_path).start()


def test_a_restart_keeps_what_it_is_not_told_anew(short_path, monkeypatch):
    started = []

    def start(cluster):
        started.append(cluster.settings)
        cluster._record.write_text(json.dumps(asdict(cluster.settings)))

    monkeypatch.setattr(DevCluster, "start", start)
    main(["start", str(short_path), "--nodes", "1", "--cpus", "3", "--no-accounting"])
    main(["start", str(short_path), "--cpus", "5"])
    main(["start", str(short_path)])
    first, second, third = started
    assert (first.nodes, first.cpus, first.accounting) == (1, 3, False)
    assert second == third == replace(first, cpus=5)


@pytest.mark.parametrize("settings", [{"name": "Far away"}, {"max_submit": 3, "accounting": False}])
def test_settings_that_make_no_cluster_are_refused(settings):
    with pytest.raises(UserError, match="allowed: a-z and 0-9|limits need the accounting"):
        Settings(**settings)
