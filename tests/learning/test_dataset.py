"""The data set gives back what the student saw, and every step once per epoch."""

import numpy as np
import pytest
import torch

from s2m.config.distill import StudentCfg
from s2m.console.errors import UserError
from s2m.env.transport import TransportEnv
from s2m.learning.dataset import STEP, DataSet, write_steps
from s2m.policy.scaling import Scaler


def fill(path, first, n=None):
    """Write steps whose numbers tell where they came from."""
    first = np.array(first, dtype=bool)
    steps = np.zeros(first.shape, dtype=STEP)
    steps["first"] = first
    number = np.arange(first.size).reshape(first.shape)
    steps["label"] = number[..., None] % 2048
    write_steps(path, steps)
    return path


def test_trajectories_end_where_the_next_one_begins(tmp_path):
    first = [[1, 0, 0, 1, 0], [1, 0, 0, 0, 0], [1, 1, 0, 0, 1]]
    data = DataSet([fill(tmp_path / "a.npy", first), fill(tmp_path / "b.npy", [[1, 0]])])
    assert data.trajectories.tolist() == [
        [0, 0, 0, 3], [0, 0, 3, 2], [0, 1, 0, 5], [0, 2, 0, 1], [0, 2, 1, 3], [0, 2, 4, 1],
        [1, 0, 0, 2],
    ]  # fmt: skip
    assert data.steps == 17


@pytest.mark.parametrize("size", [1, 6, 12, 1000])
def test_an_epoch_has_every_trajectory_once_and_keeps_to_the_size(tmp_path, size):
    chance = np.random.default_rng(0)
    first = chance.random((20, 50)) < 0.1
    first[:, 0] = True
    data = DataSet([fill(tmp_path / "a.npy", first)])
    batches = data.batches(size, np.random.default_rng(1))
    assert sorted(np.concatenate(batches)) == list(range(len(data.trajectories)))
    for batch in batches:
        longest = data.trajectories[batch, 3].max()
        assert longest * len(batch) <= max(size, longest)
    again = data.batches(size, np.random.default_rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(batches, again, strict=True))


def test_a_batch_says_where_its_steps_lie_in_the_grid(tmp_path):
    data = DataSet([fill(tmp_path / "a.npy", [[1, 0, 0, 1, 0]])])
    batch = data.assemble(np.array([1, 0]))
    assert batch.shape == (3, 2)
    assert batch.place.tolist() == [0, 2, 1, 3, 5]
    assert batch.label[:, 0].tolist() == [3, 4, 0, 1, 2]


def test_windows_are_what_the_environment_showed(tmp_path, make_run):
    """Stacks and windows rebuilt from single frames equal the observations, resets included."""
    steps, vectors, stacks = make_run(30)
    write_steps(tmp_path / "a.npy", steps)
    data = DataSet([tmp_path / "a.npy"])
    assert len(data.trajectories) > len(steps)
    for index, (_, row, start, length) in enumerate(data.trajectories):
        batch = data.assemble(np.array([index]))
        seen = torch.stack(stacks[start : start + length])[:, row]
        assert torch.equal(batch.tactile[:length], seen.float())
        assert len(batch.tactile) % 512 == 0 and not batch.tactile[length:].any()
        expected = torch.stack(vectors[start : start + length])[:, row]
        assert torch.equal(batch.vector, expected.half().float())


@pytest.fixture
def make_run():
    """Drive an environment at random and keep both its steps and its observations."""

    def run(length):
        from s2m.learning.collection import _note

        cfg = StudentCfg().environment()
        cfg.num_envs, cfg.task.episode_steps = 4, 11
        env = TransportEnv(cfg, balls=torch.tensor([1, 2, 3, 5]))
        scaler = Scaler(cfg.task.command)
        steps = np.zeros((4, length), dtype=STEP)
        vectors, stacks = [], []
        generator = torch.Generator().manual_seed(0)
        for time in range(length):
            _note(steps[:, time], env, scaler)
            observed = env.get_observations()
            vectors.append(scaler.vector(observed["proprio"], observed["command"]))
            stacks.append(observed["tactile"])
            env.step(torch.randn(4, 12, generator=generator))
        env.close()
        return steps, vectors, stacks

    return run


@pytest.mark.parametrize("spoil", ["cut", "other", "headless"])
def test_a_file_that_is_not_ours_is_one_line(tmp_path, spoil):
    path = fill(tmp_path / "a.npy", [[1, 0, 0]] if spoil != "headless" else [[0, 1, 0]])
    if spoil == "cut":
        path.write_bytes(path.read_bytes()[:-5])
    if spoil == "other":
        np.save(path, np.zeros((3, 3)))
    with pytest.raises(UserError, match="a.npy (is damaged|does not hold)"):
        DataSet([path])
