"""When a run need not be sent, and to which project it goes."""

from types import SimpleNamespace

import pytest

from s2m.config.tracking import TrackingCfg
from s2m.run.journal import Journal
from s2m.tracking import contents, send
from s2m.tracking.contents import MARKER
from s2m.tracking.send import Sender, is_current


def noted(folder, **changes):
    """Return a run of W&B whose note says that it has just what the folder holds."""
    note = {
        "run": contents.full_name(folder),
        "files": contents.checksums(contents.files(folder)),
        "rows": contents.digest(Journal(folder).table()),
    }
    return SimpleNamespace(config={MARKER: note | changes})


def test_a_run_is_current_if_its_files_and_rows_were_confirmed(make):
    folder = make()
    assert is_current(folder, noted(folder))
    assert not is_current(folder, None)
    assert not is_current(folder, SimpleNamespace(config={}))
    assert not is_current(folder, noted(folder, rows=""))  # sent, but nobody has compared it
    assert not is_current(folder, noted(folder, rows="other"))
    assert not is_current(folder, noted(folder, files={}))


def test_a_run_that_goes_on_is_no_longer_current(make):
    folder = make()
    before = noted(folder)
    journal = Journal(folder)
    journal.append(1, {"reward/mean": 1.0})
    journal.close()
    assert not is_current(folder, before) and is_current(folder, noted(folder))


@pytest.mark.parametrize("forced, names", [(None, ["a/x", "b/x"]), ("c/y", ["c/y"])])
def test_each_project_is_connected_once_and_one_may_be_forced(monkeypatch, tmp_path, forced, names):
    found = []
    monkeypatch.setattr(send, "Project", lambda entity, name: found.append(f"{entity}/{name}"))
    sender = Sender(tmp_path, forced)
    for entity in ("a", "b", "a"):
        sender.project(TrackingCfg(entity=entity, project="x"))
    assert found == names
