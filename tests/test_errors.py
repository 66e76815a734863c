"""What a command tells its user when it cannot go on."""

import errno
import os
import sys

import pytest

from s2m.errors import UserError, run_command


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
