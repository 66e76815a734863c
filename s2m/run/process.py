"""Whether a process still runs, and whether it is the one that was meant."""

import os
from contextlib import suppress
from pathlib import Path

import psutil

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_TICKS = os.sysconf("SC_CLK_TCK")


def begun(pid: int) -> str | None:
    """Return what tells a process from a later one with its number; None if it has ended.

    Empty where nothing tells them apart: the machine does not, or hides what others run.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    with suppress(psutil.Error, OSError):
        booted = psutil.boot_time()  # asked first: older versions keep what they were told last
        process = psutil.Process(pid)
        # In a container nobody may ever ask how a killed process ended.
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        # Counted from the boot: the time of day jumps when a clock is set.
        ticks = (process.create_time() - booted) * _TICKS
        return f"{_BOOT.read_text().strip()} {ticks:.0f}"
    return ""
