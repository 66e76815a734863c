import errno
import hashlib
import os
import pickle
import resource
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import torch

from s2m.console.errors import UserError
from s2m.run.checkpoint import CheckpointError, load, load_latest, save, saved
from s2m.run.events import Events


def names(folder) -> list[str]:
    return [path.name for path in saved(folder)]


def signed(content: bytes) -> bytes:
    return content + b"\ns2m-sha256 " + hashlib.sha256(content).hexdigest().encode() + b"\n"


def test_a_full_state_reads_back(folder):
    network = torch.nn.Linear(3, 2)
    optimizer = torch.optim.Adam(network.parameters())
    network(torch.ones(3)).sum().backward()
    optimizer.step()
    generator = np.random.default_rng(1).bit_generator.state
    state = {
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "torch": torch.get_rng_state(),
        "numpy": generator,
        "window": [1, 2.5, float("nan"), None, True, (b"x", "y")],
        "balls": torch.arange(6, dtype=torch.float64).reshape(2, 3),
    }
    path = save(folder, 7, state)
    found = load(path)
    assert (found.iteration, found.path) == (7, path)
    torch.testing.assert_close(
        found.state["network"], OrderedDict(network.state_dict()), rtol=0, atol=0
    )
    torch.optim.Adam(network.parameters()).load_state_dict(found.state["optimizer"])
    assert found.state["numpy"] == generator
    assert torch.equal(found.state["torch"], state["torch"])
    assert repr(found.state["window"]) == repr(state["window"])
    assert found.state["balls"].dtype == torch.float64


def test_torch_opens_the_file_as_it_is(folder):
    path = save(folder, 7, {"a": torch.ones(3)})
    assert torch.load(path, weights_only=True)["iteration"] == 7


@pytest.mark.parametrize(
    "value, kind",
    [
        (np.zeros(2), "numpy.ndarray"),
        (np.float64(1), "numpy.float64"),
        (np.random.default_rng(0), "Generator"),
        (torch.float32, "torch.dtype"),
        ({1, 2}, "builtins.set"),
    ],
)
def test_what_could_not_be_loaded_is_not_saved(folder, value, kind):
    with pytest.raises(TypeError, match=rf"state\['sim'\]\[1\] is a .*{kind}"):
        save(folder, 1, {"sim": [0, value]})
    assert names(folder) == []


def test_keys_are_text_or_whole_numbers(folder):
    with pytest.raises(TypeError, match="key 1.5"):
        save(folder, 1, {"a": {1.5: 0}})


@pytest.mark.parametrize("change", [{"iteration": -1}, {"tag": "../x"}, {"tag": "A"}, {"keep": 0}])
def test_names_that_cannot_be_are_refused(folder, change):
    with pytest.raises(ValueError, match="cannot save"):
        save(**({"folder": folder, "iteration": 1, "state": {}} | change))


def test_last_three_and_tagged_ones_stay(folder):
    for iteration in range(10):
        save(folder, iteration, {}, tag={2: "level2", 9: "final"}.get(iteration))
    assert names(folder) == [
        "000000002-level2.pt",
        "000000006.pt",
        "000000007.pt",
        "000000008.pt",
        "000000009-final.pt",
    ]


def test_a_resumed_run_does_not_drop_its_own_checkpoints_for_damaged_later_ones(folder):
    for iteration in [10, 20, 30, 40]:
        save(folder, iteration, {}, keep=4)
    for path in saved(folder)[1:]:
        path.write_bytes(b"")
    found = load_latest(folder)
    assert found is not None and found.iteration == 10
    save(folder, 15, {})
    found = load_latest(folder)
    assert found is not None and found.iteration == 15


def test_a_full_disk_leaves_the_older_ones_and_no_rubbish(folder):
    save(folder, 1, {"a": torch.ones(1)})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    try:
        with pytest.raises(OSError):
            save(folder, 2, {"a": torch.ones(10_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in folder.checkpoints.iterdir()] == ["000000001.pt"]


def test_no_checkpoint_is_none(folder):
    assert load_latest(folder) is None


@pytest.mark.parametrize("spoil", ["cut", "one byte", "flip", "no sum", "empty", "gone"])
def test_an_unsound_checkpoint_is_passed_over(folder, caplog, spoil):
    save(folder, 1, {"a": torch.ones(100)})
    path = save(folder, 2, {"a": torch.ones(100)})
    data = bytearray(path.read_bytes())
    if spoil == "flip":
        data[len(data) // 2] ^= 1
    keep = {"cut": len(data) // 2, "one byte": -1, "no sum": -77, "empty": 0}.get(spoil)
    path.write_bytes(data[:keep])
    if spoil == "gone":
        path.unlink()
        path.symlink_to("nowhere")
    events = Events(folder, attempt=2)
    found = load_latest(folder, events)
    assert found is not None and found.iteration == 1
    (event,) = events.read()
    assert (event["kind"], event["file"]) == ("checkpoint_fallback", path.name)
    assert "falling back" in caplog.text and "\n" not in event["reason"]
    # Should it turn out to be readable, nobody must go on from it: the run has gone back.
    assert names(folder) == ["000000001.pt"]
    assert path.with_name("000000002.pt.damaged").is_symlink() == (spoil == "gone")


def test_a_reader_leaves_an_unsound_checkpoint_where_it_is(folder):
    save(folder, 1, {})
    save(folder, 2, {}).write_bytes(b"")
    assert load_latest(folder).iteration == 1
    assert names(folder) == ["000000001.pt", "000000002.pt"]


@pytest.mark.parametrize("number", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_a_checkpoint_that_cannot_be_read_just_now_is_not_passed_over(folder, monkeypatch, number):
    save(folder, 1, {})
    newest = save(folder, 2, {})
    read = Path.read_bytes

    def fail(path):
        if path == newest:
            raise OSError(number, os.strerror(number), str(path))
        return read(path)

    events = Events(folder, attempt=2)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", fail)
        with pytest.raises(UserError, match=f"000000002.pt: {os.strerror(number)}; try again"):
            load_latest(folder, events)
    assert events.read() == []
    assert load_latest(folder, events).iteration == 2


def test_a_pickle_is_refused_and_never_run(folder, tmp_path):
    proof = tmp_path / "executed"

    class Payload:
        def __reduce__(self):
            return (proof.touch, ())

    pickle.loads(pickle.dumps(Payload()))
    assert proof.exists(), "the payload must work for the test to mean anything"
    proof.unlink()
    path = folder.checkpoints / "000000001.pt"
    torch.save({"iteration": 1, "state": {"x": Payload()}}, path)
    archive = path.read_bytes()
    for content in [archive, pickle.dumps(Payload(), protocol=2)]:
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="no checksum"):
            load(path)
        path.write_bytes(signed(content))
        with pytest.raises(CheckpointError, match="refused.*foreign code") as caught:
            load(path)
        assert "\n" not in str(caught.value)
    assert load_latest(folder) is None
    assert not proof.exists()


def test_a_sound_file_that_is_no_checkpoint_is_told_in_one_line(folder):
    path = folder.checkpoints / "000000001.pt"
    torch.save([1, 2], path)
    for content in [path.read_bytes(), path.read_bytes()[:-30], b""]:
        path.write_bytes(signed(content))
        with pytest.raises(CheckpointError, match="000000001.pt") as caught:
            load(path)
        assert "\n" not in str(caught.value)


def test_the_next_save_clears_what_a_kill_left(folder):
    (folder.checkpoints / ".000000001.pt.ab12.tmp").write_bytes(b"half")
    save(folder, 2, {})
    assert [path.name for path in folder.checkpoints.iterdir()] == ["000000002.pt"]
