import os
import re
import subprocess
import sys
from pathlib import Path
from unittest import mock

import psutil
import pytest

from s2m.run.process import begun

BOOT = Path("/proc/sys/kernel/random/boot_id")
on_linux = pytest.mark.skipif(not BOOT.exists(), reason="the kernel does not say")


@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


@on_linux
def test_folders_of_old_hold_the_kernels_own_word(child):
    """They were written with the boot and the 22nd field of the process's line."""
    for pid in (os.getpid(), child.pid):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        assert begun(pid) == f"{BOOT.read_text().strip()} {fields[19]}"


@on_linux
def test_a_clock_that_jumps_makes_no_other_process(child, tmp_path, monkeypatch):
    before = begun(child.pid)
    told = Path("/proc/stat").read_text()
    (tmp_path / "stat").write_text(re.sub(r"^btime .*", "btime 1000000000", told, flags=re.M))
    (tmp_path / str(child.pid)).symlink_to(f"/proc/{child.pid}")
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path))
    assert psutil.boot_time() == 1e9
    assert begun(child.pid) == before


def test_a_process_that_nobody_has_asked_about_has_ended(child):
    assert begun(child.pid) is not None
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert begun(child.pid) is None
    child.wait()
    assert begun(child.pid) is None


@pytest.mark.parametrize("error", [psutil.NoSuchProcess(1), psutil.AccessDenied(1)])
def test_a_process_of_others_that_the_machine_hides_may_live(monkeypatch, error):
    """As on login nodes that mount /proc with hidepid."""
    monkeypatch.setattr(os, "kill", mock.Mock(side_effect=PermissionError))
    monkeypatch.setattr(psutil, "Process", mock.Mock(side_effect=error))
    assert begun(1) == ""
