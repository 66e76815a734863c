"""What the kernel tells about processes, where there is a /proc."""

from pathlib import Path


def stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; none if the process has gone."""
    try:
        # The name of the program, in brackets, may hold anything.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def is_zombie(fields: list[str]) -> bool:
    """Tell from its fields whether a process has ended and only waits for its parent to ask how."""
    return fields[:1] == ["Z"]
