"""Processes that outlive the command that starts them, found again by records in a folder."""

import ctypes
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from s2m.run.process import begun


class Daemons:
    """The daemons of one folder: records in `run`, what they print in `log`."""

    def __init__(self, folder: Path, die_with_parent: bool) -> None:
        """Manage the daemons of a folder, whoever has started them."""
        self._folder = folder
        self._die_with_parent = die_with_parent
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: list[str], environment: Mapping[str, str]) -> None:
        """Start a daemon in a session of its own, out of reach of this terminal's Ctrl-C."""
        with (self._folder / "log" / f"{name}.out").open("ab") as log:
            child = subprocess.Popen(
                [find_program(command[0]) or command[0], *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
                preexec_fn=_ask_for_death_with_parent if self._die_with_parent else None,
            )
        self._children[name] = child
        record = self._folder / "run" / f"{name}.started"
        record.write_text(f"{child.pid} {begun(child.pid)}")

    def running(self) -> dict[str, int]:
        """Return the process ids of the live daemons by name."""
        found = {}
        for record in sorted(self._folder.glob("run/*.started")):
            process, started = record.read_text().split(" ", 1)
            if begun(int(process)) == started:
                found[record.stem] = int(process)
        return found

    def failed(self) -> list[str]:
        """Return the names of those started here that have ended by themselves."""
        return [name for name, child in self._children.items() if child.poll() is not None]

    def end(self, name: str, how: signal.Signals, patience: float = 60) -> None:
        """Send a signal and wait for the end, which SIGKILL brings when patience is over."""
        deadline = time.monotonic() + patience
        if process := self.running().get(name):
            _send(process, how)
            while name in self.running():
                if time.monotonic() > deadline:
                    _send(process, signal.SIGKILL)
                time.sleep(0.05)
        if child := self._children.pop(name, None):
            child.wait()


def find_program(name: str) -> str | None:
    """Find a program; daemons live where an ordinary user's PATH does not lead."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/local/sbin:/usr/sbin")


def find_processes(variables: list[set[str]]) -> set[int]:
    """Return the processes that began with one variable (`NAME=value`) out of each given set."""
    wanted = [{text.encode() for text in choice} for choice in variables]
    found = set()
    # psutil reads up to the first gap, and slurmstepd writes its title over the first variables.
    for entry in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            present = set(entry.read_bytes().split(b"\0"))
            if all(choice & present for choice in wanted):
                found.add(int(entry.parent.name))
    return found


def kill(processes: set[int]) -> None:
    """Kill and wait for the end; parents go first, lest they report the end of their children."""
    meant = {process: begun(process) for process in processes}
    for process in sorted(processes, key=lambda process: _parent(process) in processes):
        _send(process, signal.SIGKILL)
    deadline = time.monotonic() + 5
    while any(meant[process] and begun(process) == meant[process] for process in processes):
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)


def _send(process: int, how: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, how)


def _parent(process: int) -> int | None:
    with suppress(psutil.Error):
        return psutil.Process(process).ppid()


def _ask_for_death_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
