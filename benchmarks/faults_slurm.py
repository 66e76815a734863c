"""The part of the campaign that is done to a real SLURM on this machine."""

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from s2m.launch import main as launch
from s2m.monitor.survey import survey
from s2m.run.folder import RunFolder, find_runs
from s2m.run.journal import Journal
from tests.faults import transactions
from tests.faults.cluster import (
    IDLE,
    SLURM,
    failing,
    finished,
    node_of,
    preemption_storm,
    works,
)
from tests.faults.runs import differences, fingerprint, finish, kinds
from tests.waiting import wait_for
from tests.words import latest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "slurm"))
from devcluster import DevCluster  # noqa: E402  # pyright: ignore[reportMissingImports]

if TYPE_CHECKING:
    from benchmarks.faults import Campaign

RUNS, PREEMPTIONS = 20, 5
TABLES = 10
"""After every so many-th kill of the launcher all tables are made and compared."""


def slurm(campaign: "Campaign") -> None:
    """Disturb SLURM around its jobs."""
    with cluster_of() as (cluster, place):
        for part in (refusals, controller, lost_node):
            part(campaign, cluster, place)


def storm(campaign: "Campaign") -> None:
    """Preempt all runs again and again."""
    with cluster_of() as (cluster, place):
        preemptions(campaign, cluster, place)


@contextlib.contextmanager
def cluster_of() -> Iterator[tuple[Any, Path]]:
    """Start daemons, and a folder for runs, for a block."""
    with tempfile.TemporaryDirectory(prefix="s2m-", dir="/tmp", ignore_cleanup_errors=True) as name:
        with DevCluster(Path(name) / "slurm", die_with_parent=True) as cluster:
            with mock.patch.dict(os.environ, cluster.environment):
                yield cluster, Path(name)


def submit(root: Path, *words: str) -> list[RunFolder]:
    """Submit runs and return their folders."""
    with contextlib.redirect_stdout(io.StringIO()):
        launch(["-m", *latest(*SLURM, f"root={root}", *words)])
    return list(find_runs(root))


def judge(campaign: "Campaign", fault: str, runs: list[RunFolder], place: Path) -> None:
    """Compare runs with their undisturbed twins, which do not pause."""
    for run in runs:
        config = run.config()
        config["sim"]["pause"] = 0.0
        twin = RunFolder.create(place / "twins" / fault / run.path.name, config)
        wrong = differences(run, fingerprint(finish(twin)))
        campaign.note(fault, "wrong" if wrong else "survived", ", ".join(wrong))


def refusals(campaign: "Campaign", cluster: Any, place: Path) -> None:
    """Let sbatch refuse twice, and the accounting be silent while the runs are looked at."""
    root = place / "refused"
    said = "Batch job submission failed: Socket timed out on send/recv operation"
    with failing("sbatch", place / "sbatch", 2, said):
        runs = submit(root, "seed=1,2", "cluster.patience=60")
    wait_for(lambda: all(finished(run) for run in runs), 300, "the runs")
    judge(campaign, "submission refused twice", runs, place)
    with failing("sacct", place / "sacct", 1000, "Problem talking to the database"):
        states = [entry.state.status for entry in survey(root)]
    outcome = "survived" if states == ["finished"] * 2 else "wrong"
    campaign.note("accounting (sacct) down", outcome, str(states), len(states))


def controller(campaign: "Campaign", cluster: Any, place: Path) -> None:
    """Restart the controller under running jobs."""
    runs = submit(place / "restarted", "seed=1,2", *IDLE, "sim.pause=0.1")
    wait_for(lambda: all(works(run) or finished(run) for run in runs), 300, "the runs")
    cluster.restart_controller()
    wait_for(lambda: all(finished(run) for run in runs), 300, "the end of the runs")
    judge(campaign, "controller restarted", runs, place)


def lost_node(campaign: "Campaign", cluster: Any, place: Path) -> None:
    """Lose a node whose processes live on and do not know."""
    words = ("budget.iterations=150", "budget.steps=4", "sim.pause=0.1", "curriculum.stop=1")
    (run,) = submit(place / "lost", "seed=1", *words)
    wait_for(lambda: (Journal(run).last() or (0,))[0] >= 3, 300, "the run")
    node = node_of(cluster, run)
    cluster.node_down(node, orphans=True)
    wait_for(lambda: kinds(run).count("attempt") == 2, 300, "its second start")
    wait_for(lambda: finished(run), 900, "its end")
    judge(campaign, "node lost, its processes go on", [run], place)
    cluster.node_up(node)


def preemptions(campaign: "Campaign", cluster: Any, place: Path) -> None:
    """Submit packs of five runs as one array, and preempt them."""
    count = campaign.times(RUNS)
    seeds = ",".join(str(seed) for seed in range(count))
    words = (*IDLE, "budget.iterations=120", "sim.pause=0.25", "cluster.pack=5", f"seed={seeds}")
    runs = submit(place / "storm", *words)
    often = preemption_storm(cluster, place / "storm", PREEMPTIONS, campaign.say)
    name = f"preemption storm, {count} runs at least {min(often)} times each"
    judge(campaign, name, runs, place)


def launcher(campaign: "Campaign") -> None:
    """Kill the launcher at every write, every sbatch and every note, and give its command again."""
    with cluster_of() as (_, place):
        calm = place / "calm"
        calm.mkdir()
        transactions.launch_dying(calm, 0)
        found = transactions.finish_launch(calm) + transactions.faults_in(calm)
        campaign.note(
            "a launch that nothing disturbs", "wrong" if found else "survived", str(found)
        )
        table, calls = (calm / "runs" / "table.csv").read_bytes(), (calm / "calls").read_text()
        every = max(1, round(1 / campaign.scale))
        chosen = range(1, len(calls.splitlines()) + 1, every)
        struck = []
        for call in chosen:
            spot = place / f"{call}"
            spot.mkdir()
            died = transactions.launch_dying(spot, call)
            campaign.say(f"{call}: {died.replace(str(place), '')}")
            struck.append((call, spot, died))
            transactions.launch_again(spot)
        full = transactions.tables_of(calm)
        for call, spot, died in struck:
            found = transactions.finish_launch(spot) + transactions.faults_in(spot)
            if (spot / "runs" / "table.csv").read_bytes() != table:
                found.append("the table of the chain")
            if call % TABLES == 0 and transactions.tables_of(spot) != full:
                found.append("the tables of the analysis")
            fault = f"kill -9 of the launcher, {_where(died)}"
            campaign.note(fault, "wrong" if found else "survived", f"{call}: {found}")


def _where(died: str) -> str:
    """Return at what kind of step a launcher died."""
    for mark, name in (
        ("sbatch", died.replace(" ", " an ")),
        (".slurm/code", "as it copies the code"),
        (".slurm", "as it writes a manifest"),
        (".then", "as it makes a command due"),
    ):
        if mark in died:
            return name
    return "as it makes the folders of runs"
