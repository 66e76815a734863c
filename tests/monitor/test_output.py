"""What a run has printed, and why it has not."""

import pytest

from s2m.console.errors import UserError
from s2m.monitor import output
from s2m.monitor.output import print_output
from tests.analysis.synthetic import Spec, write_run
from tests.cluster.jobs import submit


@pytest.fixture
def run(tmp_path):
    return write_run(tmp_path, Spec(state="pending"))


def submitted(run, errors=None):
    entry = submit([[run]], job="7")
    if errors is not None:
        entry.logs(0)[1].write_text(errors)


def test_the_last_lines_are_printed(run, capsys):
    run.log.write_text("".join(f"line {i}\n" for i in range(9)))
    print_output(run, 2)
    assert capsys.readouterr().out == "line 7\nline 8\n"


def test_what_slurm_wrote_about_the_job_follows(run, capsys):
    run.log.write_text("training\n")
    submitted(run, "slurmstepd: *** JOB 7 CANCELLED ***\n")
    print_output(run, 5)
    assert capsys.readouterr().out == (
        "training\n--- SLURM job 7\nslurmstepd: *** JOB 7 CANCELLED ***\n"
    )


def test_a_job_that_wrote_nothing_is_not_mentioned(run, capsys):
    run.log.write_text("training\n")
    submitted(run, "")
    print_output(run, 5)
    assert capsys.readouterr().out == "training\n"


def test_what_a_terminal_would_obey_is_shown_as_escapes(run, capsys):
    run.log.write_text("\x1b]0;title\x07 ok\n")
    print_output(run, 5)
    assert capsys.readouterr().out == "\\x1b]0;title\\x07 ok\n"


def test_a_run_that_has_printed_nothing_says_why(run, tmp_path):
    with pytest.raises(UserError, match="has printed nothing yet$"):
        print_output(run, 5)
    submitted(run)
    with pytest.raises(UserError, match="nothing yet; it was submitted as job 7$"):
        print_output(run, 5)
    done = write_run(tmp_path, Spec(seed=2, state="stopped", iteration=3))
    with pytest.raises(UserError, match="has no run.log: its log was not archived"):
        print_output(done, 5)


def test_following_prints_what_is_added(run, monkeypatch, capsys):
    run.log.write_text("before\n")
    added = iter(["one\n", "two\x1b\n"])

    def sleep(_):
        with run.log.open("a") as file:
            if (text := next(added, None)) is None:
                raise KeyboardInterrupt
            file.write(text)

    monkeypatch.setattr(output.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        print_output(run, 5, follow=True)
    assert capsys.readouterr().out == "before\none\ntwo\\x1b\n"
