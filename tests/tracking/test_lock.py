import errno
import fcntl
from unittest import mock

from s2m.tracking.lock import sender
from tests.analysis.synthetic import Spec, write_run


def test_one_process_at_a_time_sends_a_run(tmp_path):
    folder = write_run(tmp_path, Spec(iterations=9))
    with sender(folder) as mine:
        assert mine
        with sender(folder) as also:
            assert not also
    with sender(folder) as mine:
        assert mine


def test_without_locks_everybody_may_send(tmp_path, monkeypatch):
    folder = write_run(tmp_path, Spec(iterations=9))
    monkeypatch.setattr(fcntl, "flock", mock.Mock(side_effect=OSError(errno.ENOLCK, "none")))
    with sender(folder) as mine, sender(folder) as also:
        assert mine and also
