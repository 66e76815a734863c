"""A real SLURM for the tests of this folder that ask for it."""

import os
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import pytest

from benchmarks.simulated import pretend_slurm

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "slurm"))  # A folder of scripts, not a package.

from devcluster import DevCluster, missing_programs  # noqa: E402


def cannot(reason) -> NoReturn:
    """Skip a test on daemons; S2M_REQUIRE_SLURM=1 makes that a failure."""
    if os.environ.get("S2M_REQUIRE_SLURM") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def slurm_programs():
    """Skip where SLURM is not installed."""
    if missing := missing_programs():
        cannot(f"SLURM is not installed (slurm/install-debian.sh): no {', '.join(missing)}")


@pytest.fixture
def pretended(tmp_path, monkeypatch):
    """Commands that answer like SLURM's: their folder has `queue`, a line per job or array."""
    folder = tmp_path / "slurm"
    monkeypatch.setenv("PATH", pretend_slurm(folder)["PATH"])
    return folder


@pytest.fixture
def short_path():
    """A folder whose path leaves room for the names of sockets."""
    with tempfile.TemporaryDirectory(prefix="s2m-", dir="/tmp", ignore_cleanup_errors=True) as path:
        yield Path(path)


@pytest.fixture(scope="session")
def slurm(slurm_programs):
    """A cluster with accounting: nodes n1 and n2 of 8 CPUs and 2 GPUs, partitions low and high."""
    with tempfile.TemporaryDirectory(prefix="s2m-", dir="/tmp", ignore_cleanup_errors=True) as path:
        with DevCluster(Path(path), die_with_parent=True) as cluster:
            yield cluster
        assert not cluster.running()


@pytest.fixture(autouse=True)
def slurm_environment(request, monkeypatch):
    """Point SLURM's commands to the cluster during a test, and give it back whole and empty."""
    if "slurm" not in request.fixturenames:
        yield
        return
    cluster = request.getfixturevalue("slurm")
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    yield
    cluster.cancel_jobs()
    for node in cluster.settings.node_names:
        if f"slurmd.{node}" not in cluster.running():
            cluster.node_up(node)
