"""Waiting ends: with what was waited for, with the child that was to do it, or with the time."""

import os
import signal
import subprocess
import sys

import pytest

from tests.waiting import wait_for


def test_what_a_condition_gives_is_returned():
    looks = iter([None, 0, "found"])
    assert wait_for(lambda: next(looks), pause=0.001) == "found"


def test_the_time_is_limited_and_what_is_there_is_told():
    with pytest.raises(AssertionError, match="waited 0 s for a row\nonly rubbish"):
        wait_for(lambda: False, 0.0, "a row", pause=0.001, tell=lambda: "only rubbish")


def test_a_child_that_has_ended_is_not_waited_for():
    started = subprocess.Popen([sys.executable, "-c", ""])
    with pytest.raises(AssertionError, match="a row of a process that has ended"):
        wait_for(lambda: False, what="a row", child=started)
    forked = os.fork()
    if forked == 0:
        signal.pause()
    os.kill(forked, signal.SIGKILL)
    with pytest.raises(AssertionError, match="a row of a process that has ended"):
        wait_for(lambda: False, what="a row", child=forked)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == -signal.SIGKILL


def test_what_a_child_did_last_counts(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", f"open({str(tmp_path / 'it')!r}, 'w')"])
    child.wait()
    assert wait_for((tmp_path / "it").exists, child=child)
