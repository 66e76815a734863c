"""Tiny runs on SLURM, and how to look at them."""

import pandas as pd

from s2m.cluster.manifest import Submission, new_submission
from s2m.cluster.queue import Place, Queue
from s2m.launch import main
from s2m.monitor.survey import survey
from s2m.run.events import Events
from s2m.run.folder import RunFolder, find_runs
from s2m.run.journal import Journal
from s2m.stages.execute import execute
from tests.run.conftest import deterministic
from tests.waiting import wait_for
from tests.words import latest

TINY = [
    "sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=6",
    "encoder.width=8", "encoder.embedding=8", "evaluate.episodes=2",
    "evaluate.selection_episodes=2", "cluster=slurm", "cluster.cpus=1", "cluster.memory=1",
]  # fmt: skip
LONG = [
    "budget.iterations=30", "sim.pause=0.1", "task.episode_steps=10", "curriculum.stop=1",
    "budget.checkpoint_every=1000",
]  # fmt: skip
"""Twelve idle seconds without a planned checkpoint: whatever goes on later was told to stop."""


def place_of(run) -> Place:
    """Return where a run was submitted last."""
    queue = Queue.read(run.path)
    place = queue.of(run.path) if queue else None
    assert place is not None
    return place


def job_of(run):
    return place_of(run).id


def submit(runs, job="", number=1, **content) -> Submission:
    """Write the manifest of an array, as if its runs, given by pack, had been submitted."""
    packs = [[f"{run.path.parent.name}/{run.path.name}" for run in pack] for pack in runs]
    root = runs[0][0].path.parent.parent
    known = {"code": "", "cluster": "", "job": job, "packs": packs}
    known["attempts"] = [[0 for _ in pack] for pack in packs]
    entry = new_submission(root, number, "x", **(known | content))
    entry.write()
    return entry


def launch(root, *words):
    return main(["-m", *latest(*TINY, f'root="{root}"', *words)])


def entries(root):
    return {entry.folder.path.name: entry for entry in survey(root)}


def states(root):
    return {name: entry.state.status for name, entry in entries(root).items()}


def wait_until_finished(root):
    wait_for(lambda: set(states(root).values()) == {"finished"}, 400, "the runs to finish")


def trains(root):
    """Return the run once it has trained a few iterations."""
    (run,) = find_runs(root)
    wait_for(lambda: (Journal(run).last() or (0,))[0] >= 3)
    return run


def stop_reasons(run):
    return [event["reason"] for event in Events(run).read() if event["kind"] == "stopped"]


def assert_whole(run):
    """Every iteration is there once, and the run was evaluated."""
    total = run.config()["budget"]["iterations"]
    assert Journal(run).read()["iteration"].tolist() == list(range(1, total + 1))
    assert run.result("evaluate") is not None


def assert_as_undisturbed(run, tmp_path):
    """Every iteration is what it would have been without the disturbance."""
    assert_whole(run)
    config = run.config()
    config["sim"]["pause"] = 0.0
    calm = RunFolder.create(tmp_path / "calm", config)
    execute(calm, last="train")
    found, expected = (deterministic(Journal(folder).read()) for folder in (run, calm))
    pd.testing.assert_frame_equal(found, expected, check_exact=True)


def preempt(cluster):
    """Take both nodes for a moment by a higher partition."""
    options = ["--partition=high", "--nodes=2", "--exclusive", "--wrap=sleep 2"]
    cluster.run("sbatch", *options, "--output=/dev/null")
