"""What a command tells its user when it cannot go on."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from s2m.console.errors import UserError, run_command

IMPORT = "from s2m.console.errors import run_command"


def said(error, capsys, monkeypatch):
    def command(words):
        raise error

    monkeypatch.setattr(sys, "argv", ["command"])
    with pytest.raises(SystemExit) as end:
        run_command(command)
    return end.value.code, capsys.readouterr().err


def test_mistakes_and_files_are_one_line(capsys, monkeypatch):
    assert said(UserError("no"), capsys, monkeypatch) == (2, "error: no\n")
    denied = PermissionError(errno.EACCES, os.strerror(errno.EACCES), "/there/\x1b[31m")
    code, line = said(denied, capsys, monkeypatch)
    assert code == 2 and line.startswith("error: /there/") and line.count("\n") == 1
    assert line.endswith("Permission denied\n") and "\x1b" not in line


def test_what_is_no_file_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["command"])
    with pytest.raises(ConnectionError):
        run_command(lambda words: (_ for _ in ()).throw(ConnectionError("lost")))


@pytest.mark.parametrize("size", [1, 100_000])
def test_a_reader_that_leaves_ends_a_command_quietly(size):
    """As `| head` does; the code is that of every Unix tool."""
    read, write = os.pipe()
    os.close(read)
    code = f"{IMPORT}; run_command(lambda words: print('x' * {size}))"
    with os.fdopen(write, "wb") as out:
        done = subprocess.run([sys.executable, "-c", code], stdout=out, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def test_what_the_output_has_no_characters_for_is_shown_as_an_escape():
    code = f"{IMPORT}; run_command(lambda words: print('level \u2013'))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, b"level \\u2013\n"), done.stderr


def test_another_broken_pipe_keeps_its_traceback():
    code = f"{IMPORT}; import os; r, w = os.pipe(); os.close(r); "
    code += "run_command(lambda words: os.write(w, b'x'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1 and "BrokenPipeError" in done.stderr
