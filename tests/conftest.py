"""Fixtures, order and limits shared by all tests."""

from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from s2m.cluster.distill import compose_student
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.robot.model import MAX_BALLS, ROBOT
from s2m.run.folder import RunFolder
from s2m.run.identity import run_path
from s2m.stages.execute import execute
from s2m.task.state import TransportState
from tests.pretend_cards import PretendedCards
from tests.sim.kernels import compile_kernels
from tests.taught import STUDENT, TEACHER
from tests.words import latest

# A busy machine is no failure, and the same code is tried on the same examples.
settings.register_profile("tests", deadline=None, derandomize=True)
settings.load_profile("tests")

LONGEST = [
    "cluster/test_transaction.py", "cluster/test_disturbed.py", "tracking/test_faults.py",
    "cluster/test_local.py",
    "cluster/test_slurm.py", "tracking/test_interrupted.py", "cluster/test_storm.py",
    "faults/test_damage.py", "tracking/test_pull.py", "cluster/test_slurm_distill.py",
    "cluster/test_devcluster.py", "cluster/test_dealer.py",
]  # fmt: skip
"""Files of more than a minute: begun last, one of them would keep a single core busy at the end."""
SLURM_SECONDS = 900
"""What a test on SLURM daemons may take: it mostly waits for them."""


def pytest_collection_modifyitems(items):
    """Begin with the longest files, and give the tests on SLURM more time than the others."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))
    for item in items:
        if item.get_closest_marker("slurm"):
            item.add_marker(pytest.mark.timeout(SLURM_SECONDS))


@pytest.fixture(autouse=True)
def one_thread():
    """Small tensors and two cores: threads only get in each other's way."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def no_wandb(monkeypatch):
    """Whoever runs the tests may be logged in; nothing of them goes to an account."""
    monkeypatch.setenv("WANDB_MODE", "disabled")


@pytest.fixture(scope="session")
def make_state():
    """Return a function that builds an upright, resting state with balls at given places."""

    def build(places, **changes):
        """`places` is a list (environments) of lists of (x, y) on the plate."""
        n = len(places)
        rest = ROBOT.plate_height + 0.055
        position = torch.zeros(n, MAX_BALLS, 3)
        active = torch.zeros(n, MAX_BALLS, dtype=torch.bool)
        for row, balls in enumerate(places):
            for slot, (x, y) in enumerate(balls):
                position[row, slot] = torch.tensor([x, y, rest])
                active[row, slot] = True
        rotation = torch.zeros(n, MAX_BALLS, 4)
        rotation[..., 0] = active.float()
        fields = {
            "base_height": torch.full((n, 1), ROBOT.stance_height),
            "gravity": torch.tensor([0.0, 0.0, -1.0]).repeat(n, 1),
            "linear_velocity": torch.zeros(n, 3),
            "angular_velocity": torch.zeros(n, 3),
            "joint_position": torch.zeros(n, 12),
            "joint_velocity": torch.zeros(n, 12),
            "ball_position": position,
            "ball_velocity": torch.zeros(n, MAX_BALLS, 3),
            "ball_rotation": rotation,
            "ball_angular_velocity": torch.zeros(n, MAX_BALLS, 3),
            "ball_contact": active.clone(),
            "ball_active": active,
            "unstable": torch.zeros(n, dtype=torch.bool),
        }
        return TransportState.of(**{**fields, **changes})

    return build


@pytest.fixture(scope="session")
def teacher(tmp_path_factory):
    """A trained and evaluated run."""
    root = tmp_path_factory.mktemp("runs")
    config = asdict(load(RunCfg, [*TEACHER, f"root={root}", "experiment=small"]))
    folder = RunFolder.create(run_path(root, "small", config), config)
    execute(folder)
    return folder


@pytest.fixture
def student(teacher, tmp_path):
    """Return a function that creates the folder of a student."""

    def create(name, *words, **frozen):
        cfg = compose_student(latest(f"teacher={teacher.path}", *STUDENT, *words))
        return RunFolder.create(tmp_path / name, asdict(cfg) | frozen)

    return create


@pytest.fixture
def pretended_cards(tmp_path, monkeypatch):
    """Return a function that puts so many cards into this machine, which has no others."""
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
        monkeypatch.delenv(name, raising=False)

    def pretend(count, **versions):
        cards = PretendedCards(tmp_path / "pretended", count, **versions)
        monkeypatch.setenv("PATH", str(cards.folder), prepend=":")
        return cards

    return pretend


@pytest.fixture(scope="session")
def kernels():
    """MuJoCo Warp with its kernels on disk; several processes do not compile them at once."""
    compile_kernels()
