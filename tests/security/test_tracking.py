"""What goes to W&B and what comes from it stays where it belongs."""

import shutil
from types import SimpleNamespace

import psutil
import pytest

from analysis.archive import archive
from analysis.sources import wandb as source
from s2m.console.errors import UserError
from s2m.run.folder import FILES
from s2m.run.journal import Journal
from s2m.tracking.client import Project
from s2m.tracking.contents import files, sha256
from tests.analysis.synthetic import Spec, write_run
from tests.tracking.standin import StandIn


@pytest.mark.parametrize("name", FILES)
def test_a_link_out_of_the_folder_is_not_sent(tmp_path, name):
    folder = write_run(tmp_path / "runs", Spec(iterations=50, rates={5: (1, 1)}))
    (tmp_path / "netrc").write_text("a secret")
    (folder.path / name).unlink(missing_ok=True)
    (folder.path / name).symlink_to(tmp_path / "netrc")
    with pytest.raises(UserError, match="leads out of the run folder|damaged"):
        files(folder)


def test_a_link_out_of_the_folder_is_not_archived(tmp_path):
    folder = write_run(tmp_path / "runs", Spec(iterations=50, rates={5: (1, 1)}))
    (tmp_path / "netrc").write_text("a secret")
    folder.patch.symlink_to(tmp_path / "netrc")
    with pytest.raises(UserError, match="leads out of the run folder"):
        archive(tmp_path / "runs", tmp_path / "out", 40)
    assert not list((tmp_path / "out").rglob("code.patch"))


@pytest.mark.parametrize(
    "name", ["../../../treasure", "/treasure", "a/../../treasure", "..", "a/..", ["a"], "a\nb/c"]
)
def test_a_name_at_wandb_deletes_and_writes_nothing_elsewhere(tmp_path, monkeypatch, name):
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "kept").touch()
    run = SimpleNamespace(id="1", config={"s2m": {"run": name, "files": {}}}, url="https://x")
    project = SimpleNamespace(entity="e", name="p", runs=lambda: [run])
    monkeypatch.setattr(source, "Project", lambda *_: project)
    frames = source.load("e/p", None, tmp_path / "cache")
    assert frames.runs == [] and "is not the name of a run folder" in frames.unread[0].reason
    assert (treasure / "kept").exists()


@pytest.mark.parametrize("id_", ["../../../../treasure", "..", "a\n", ""])
def test_an_id_at_wandb_leads_nowhere_else(tmp_path, monkeypatch, id_):
    run = SimpleNamespace(id=id_, config={"s2m": {"run": "a/b", "files": {"run.json": "x"}}})
    run.url, run.files = "https://x", lambda names: []
    monkeypatch.setattr(source, "Project", Offline)
    monkeypatch.setattr(Offline, "found", [run])
    frames = source.load("e/p", None, tmp_path / "cache")
    assert frames.runs == [] and "is not the name of a folder" in frames.unread[0].reason
    assert not (tmp_path / "treasure").exists() and list(tmp_path.iterdir()) == [tmp_path / "cache"]


@pytest.mark.parametrize("note", [{}, {"files": {}}, {"files": "run.json"}])
def test_a_note_at_wandb_that_leads_to_nothing_is_left_out(tmp_path, monkeypatch, note):
    """Beside it stands a run that is read: its files have been fetched before."""
    good = write_run(tmp_path / "runs", Spec(iterations=50, rates={5: (1, 1)}))
    names = [name for name in FILES if (good.path / name).exists()]
    sums = {name: sha256((good.path / name).read_bytes()) for name in names}
    shutil.copytree(good.path, tmp_path / "cache" / "e" / "p" / "files" / "1" / "s2m")
    runs = [
        SimpleNamespace(id=id_, config={"s2m": told}, url="https://x", lastHistoryStep=1)
        for id_, told in (
            ("1", {"run": "encoders/good", "files": sums}), ("2", {"run": "encoders/bad", **note})
        )
    ]  # fmt: skip
    monkeypatch.setattr(source, "Project", Offline)
    monkeypatch.setattr(Offline, "found", runs)
    monkeypatch.setattr(Offline, "metrics", Journal(good).table())
    frames = source.load("e/p", None, tmp_path / "cache")
    assert [run.id for run in frames.runs] == ["encoders/good"]
    assert [item.id for item in frames.unread] == ["encoders/bad"]


class Offline(Project):
    """A project that holds some runs and no file."""

    found: list = []
    metrics = None

    def __init__(self, entity, name):
        self.entity, self.name = entity, name

    def runs(self):
        return self.found

    def table(self, run, scratch):
        return self.metrics


def test_the_stand_in_listens_on_loopback_only():
    server = StandIn().start()
    port = int(server.url.rpartition(":")[2])
    try:
        assert listening(port) == {"127.0.0.1"}
    finally:
        server.stop()


def listening(port: int) -> set[str]:
    """Return the addresses at which the kernel accepts connections to a port."""
    found = [c for c in psutil.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    return {c.laddr.ip for c in found if c.laddr and c.laddr.port == port}
