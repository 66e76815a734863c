"""Signals that ask a process to leave."""

import signal
import subprocess
import sys

from s2m.run.stopping import block_stop_signals

STAGE = """
import signal
from s2m.run.stopping import stop_signals

signal.raise_signal(signal.SIGUSR2)  # while Python loads
with stop_signals() as stop:
    print(stop.reason)
signal.raise_signal(signal.SIGUSR2)  # told again, as a job and its launcher both do
signal.raise_signal(signal.SIGTERM)
print("left")
"""


def test_a_launched_process_is_killed_neither_before_nor_after_its_stage():
    done = subprocess.run(
        [sys.executable, "-c", STAGE], preexec_fn=block_stop_signals, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.split()) == (0, ["SIGUSR2", "left"]), done.stderr


def test_a_process_without_a_launcher_is_as_before_after_its_stage():
    from_there = STAGE[STAGE.index("with") :]
    imports = "import signal; from s2m.run.stopping import stop_signals\n"
    done = subprocess.run([sys.executable, "-c", imports + from_there])
    assert done.returncode == -signal.SIGUSR2
