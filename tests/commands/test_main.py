"""`s2m COMMAND`: every command by one name, and what a shell asks of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from s2m.__main__ import commands, main
from s2m.console.errors import UserError

ROOT = Path(__file__).parents[2]


def s2m(*words, **more):
    return subprocess.run(
        [sys.executable, "-m", "s2m", *words], capture_output=True, text=True, cwd=ROOT, **more
    )


def test_every_command_is_listed_with_what_it_does(capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert [line.split()[0] for line in lines] == sorted(commands())
    assert all(len(line.split()) > 2 for line in lines)


def test_a_wrong_command_is_one_line():
    with pytest.raises(UserError, match="unknown command 'lanch'. Did you mean 'launch'"):
        main(["lanch"])


@pytest.mark.parametrize(("words", "code", "said"), [
    (["launch", "encoder=pdfs"], 2, "error: unknown encoder 'pdfs'"),
    (["tables", "--runs", "nowhere"], 2, "error: nowhere"),
    (["logs", "--help"], 0, "usage: "),
])  # fmt: skip
def test_the_command_gets_its_words_and_its_exit_code_counts(words, code, said):
    done = s2m(*words)
    assert done.returncode == code and said in done.stdout + done.stderr


@pytest.mark.parametrize(("line", "found"), [
    ("s2m lau", ["launch"]),
    ("s2m launch ppo.learn", ["ppo.learning_rate="]),
    ("s2m launch -m seed=40 encoder=ds", ["dshc", "dshc_off"]),
])  # fmt: skip
def test_a_shell_is_answered(tmp_path, line, found):
    asked = {
        "_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "COMP_TYPE": "9",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "out"),
        "_ARGCOMPLETE_COMP_WORDBREAKS": " \t\n\"'><=;|&(:", "_ARGCOMPLETE_IFS": "\n",
    }  # fmt: skip
    s2m(env=os.environ | asked)
    assert [word.strip() for word in (tmp_path / "out").read_text().split("\n")] == found


def test_a_package_without_its_repository_says_so():
    program = (
        "import s2m.config.search as search; from pathlib import Path\n"
        "search.CONF = Path('gone'); from s2m.launch import main\n"
        "from s2m.console.errors import run_command; run_command(main)"
    )
    done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "error: " in done.stderr and "pip install -e . in a clone" in done.stderr
