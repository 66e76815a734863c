"""No process that was started for a mirror outlives it."""

import subprocess
import sys

import psutil
import pytest

from s2m.tracking.descendants import end_descendants, end_tree
from tests.waiting import wait_for

PARENT = """
import subprocess, sys
sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
child = subprocess.Popen(sleeping, stdout=subprocess.DEVNULL, start_new_session=True)
print(child.pid, flush=True)
{then}
"""


def start(then="input()"):
    """Start a process whose child has left its group; return it and the child."""
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT.format(then=then)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    return process, psutil.Process(int(process.stdout.readline()))


def over(process):
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


@pytest.fixture
def family():
    process, child = start()
    yield process, child
    for left in (process, child):
        if left.pid and psutil.pid_exists(left.pid) and not over(psutil.Process(left.pid)):
            left.kill()
    process.communicate()


def test_a_child_that_has_left_the_group_ends_with_its_parent(family):
    process, child = family
    end_tree(process.pid)
    assert process.wait(30) == -9
    wait_for(lambda: over(child))


def test_a_process_ends_its_descendants_and_lives_on():
    then = (
        "input()\n"
        "from s2m.tracking.descendants import end_descendants\n"
        "end_descendants(); print(child.wait())"
    )
    process, child = start(then)
    assert process.communicate("\n", timeout=60)[0] == "-9\n" and process.returncode == 0
    wait_for(lambda: over(child))


def test_a_process_that_is_gone_is_no_error():
    process, child = start()
    end_tree(process.pid)
    process.communicate()
    wait_for(lambda: over(child))
    end_tree(process.pid)
    end_descendants()
