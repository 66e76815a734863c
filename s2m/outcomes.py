"""How an attempt at a run ends, as a word and as an exit code."""

FINISHED, STOPPED, FAILED, BUSY = "finished", "stopped", "failed", "busy"
CODES = {FINISHED: 0, FAILED: 1, BUSY: 3, STOPPED: 75}
"""75 (EX_TEMPFAIL): the run was asked to stop and can go on; 3: another process is at it."""


def outcome_of(code: int) -> str:
    """Return the word for an exit code; whatever is unknown has failed."""
    return {number: word for word, number in CODES.items()}.get(code, FAILED)
