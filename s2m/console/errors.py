"""Mistakes of a user, told in one line: what was wrong, what is allowed, what to do."""

import difflib
import io
import logging
import os
import select
import signal
import sys
from collections.abc import Callable, Iterable

from s2m.console.text import excerpt, harmless


class UserError(Exception):
    """A wrong value, a missing file, an absent library: printed without a traceback."""


def unknown(what: str, value: object, allowed: Iterable[object], near: str = "") -> UserError:
    """Return the error for a name that is not among the allowed ones, with the nearest of them.

    `near` is what was meant, where the caller knows better than the spelling.
    """
    names = [str(name) for name in allowed]
    near = near or next(iter(difflib.get_close_matches(str(value), names, n=1)), "")
    hint = f" Did you mean '{near}'?" if near else ""
    return UserError(f"unknown {what} '{value}'.{hint} Allowed: {', '.join(names)}")


def in_words(error: Exception) -> str:
    """Return what is wrong with a run's folder, in one harmless line."""
    said = f"damaged: {error!r}"
    if isinstance(error, UserError):
        said = str(error)
    elif isinstance(error, OSError) and error.filename is not None:
        said = f"cannot open {error.filename}: {error.strerror}"
    return excerpt(said)


class _Harmless(logging.Formatter):
    """Warnings may name files that somebody else has named."""

    def format(self, record: logging.LogRecord) -> str:
        return harmless(super().format(record))


def _reader_left() -> bool:
    """Tell whether nobody reads stdout any more, as after `| head`."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poll.poll(0))


def print_anything() -> None:
    """Let stdout and stderr show as escapes what their encoding has no characters for.

    A dash or a path in the words of a run must not end it.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run_command(command: Callable[[list[str]], int | None]) -> None:
    """Run a command line tool: user errors become one line on stderr and exit code 2."""
    print_anything()
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(_Harmless("%(message)s"))
    try:
        code = command(sys.argv[1:])
        sys.stdout.flush()  # what fails after this would be told by Python, in a traceback
    except UserError as error:
        print(f"error: {harmless(str(error))}", file=sys.stderr)
        code = 2
    except BrokenPipeError:
        if not _reader_left():
            raise
        # Python flushes once more at its end, which must not complain either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 128 + signal.SIGPIPE
    except OSError as error:
        # A file that cannot be read or written; whatever else goes wrong keeps its traceback.
        if error.filename is None or error.strerror is None:
            raise
        print(f"error: {harmless(str(error.filename))}: {error.strerror}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    sys.exit(code or 0)
