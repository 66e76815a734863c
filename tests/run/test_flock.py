import errno
import fcntl
import os
import subprocess
import sys
from unittest import mock

import pytest

from s2m.run.flock import flock

HOLDER = """
import os, sys
from s2m.run.flock import flock
print(flock(os.open(sys.argv[1], os.O_RDWR)), flush=True)
input()
"""


@pytest.fixture
def descriptor(tmp_path):
    found = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    yield found
    os.close(found)


def test_a_lock_ends_with_its_process(descriptor, tmp_path):
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "lock")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe) as holder:
        assert holder.stdout.readline() == "True\n"
        assert flock(descriptor) is False
        holder.kill()
        holder.wait()
        assert flock(descriptor) is True


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_may_have_no_locks(descriptor, monkeypatch, number):
    monkeypatch.setattr(fcntl, "flock", mock.Mock(side_effect=OSError(number, "none")))
    assert flock(descriptor) is None


def test_whatever_else_is_wrong_is_told(descriptor, monkeypatch):
    monkeypatch.setattr(fcntl, "flock", mock.Mock(side_effect=OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken"):
        flock(descriptor)
