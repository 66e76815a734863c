"""A malicious run folder does no harm to whoever looks at it, and does not hide the good ones."""

import json
import os
import shutil
import signal
from dataclasses import replace

import pytest
from rich.console import Console

from analysis.build import main as make_tables
from s2m import cancel, logs, status
from s2m.cluster import chain, commands, queue
from s2m.cluster.followup import make_steps
from s2m.cluster.forecast import estimate
from s2m.cluster.manifest import Ledger, roots_of
from s2m.cluster.plan import PlannedRun, plan_table
from s2m.cluster.state import RunState
from s2m.cluster.verdict import tail
from s2m.cluster.withdrawal import stop
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.console.text import LONGEST
from s2m.monitor.survey import survey
from s2m.run.folder import RunFolder, find_runs
from tests.analysis import browser
from tests.security.hostile import ATTACKS, NASTY

GOOD = 3


def assert_harmless(text: str) -> None:
    """A terminal obeys nothing in the text, and no secret is in it."""
    assert "\x1b" not in text and "\u202e" not in text and "canary" not in text


def test_status_shows_every_run(runs, capsys, monkeypatch):
    # Where there is no SLURM, nobody can say that a run waits: its end is judged by its logs.
    monkeypatch.setattr(queue.Queue, "read", classmethod(lambda *_: None))
    assert status.main([str(runs)]) == 0
    out = capsys.readouterr().out
    assert_harmless(out)
    table = out.split("\n\n")[0].splitlines()
    assert len(table) == 1 + GOOD + len(ATTACKS)
    assert sum(" finished " in line for line in table) >= GOOD
    assert status.main([str(runs), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == GOOD + len(ATTACKS)


def test_what_is_read_of_a_folder_is_harmless_before_anybody_shows_it(runs):
    found = survey(runs)
    assert len(found) == GOOD + len(ATTACKS)
    for run in found:
        state = run.state
        for text in (run.name, run.row, state.last_event, state.failure, state.doubt):
            assert text.isprintable() and len(text) <= LONGEST
            assert_harmless(text)
        log = tail(run.folder.log).replace("\n", "").replace("\t", "")
        assert log.isprintable()
    (step,) = make_steps(["a.py"], runs, "x")
    assert_harmless(replace(step, record=step.record.with_name(NASTY.replace("/", "∕"))).name)


def assert_quiet(page, tmp_path) -> None:
    """A real browser finds nothing to run and nothing to fetch."""
    if browser.find() is None:
        if os.environ.get("S2M_REQUIRE_BROWSER") == "1":
            pytest.fail("Chromium is not installed (apt-get install chromium)")
        return
    with browser.chromium(tmp_path / "profile") as tab:
        tab.open(page)
        assert tab.evaluate("document.title").startswith("S2M-Trek")
        assert tab.evaluate("document.querySelectorAll('main script, img[src=x]').length") == 0
        assert tab.evaluate("document.body.innerText.includes('<script>')")
        assert tab.complaints() == []
        asked = [url for url in tab.requests() if not url.startswith("data:")]
        assert asked == [page.resolve().as_uri()]


@pytest.mark.browser
def test_the_page_of_status_is_quiet(runs, tmp_path):
    page = tmp_path / "page.html"
    assert status.main([str(runs), "--html", str(page)]) == 0
    assert page.read_text().count("<tr") == 1 + GOOD + len(ATTACKS)
    assert_quiet(page, tmp_path)


@pytest.mark.browser
def test_tables_and_report_are_made_of_the_good_runs(runs, tmp_path, capsys):
    out = tmp_path / "tables"
    assert make_tables(["--runs", str(runs), "--out", str(out)]) == 0
    assert_harmless(capsys.readouterr().out)
    assert_quiet(out / "report.html", tmp_path)
    for path in [path for path in out.iterdir() if path.is_file() and path.suffix != ".parquet"]:
        text = path.read_text()
        assert_harmless(text)
        if path.suffix != ".html":
            assert "<script>" not in text or path.suffix in (".csv", ".json", ".tex")
    tex = "".join(path.read_text() for path in out.glob("*.tex"))
    for line in tex.splitlines():
        assert "\\input{" not in line or line.lstrip().startswith("%")
    rows = (out / "runs.csv").read_text().splitlines()
    assert not any(line.startswith("=") for line in rows)
    left = (out / "left-out.csv").read_text()
    for name in (
        "variant", "commit", "tag", "aliases", "keys", "pairs", "thresholds", "iteration",
        "level of a row", "rounds", "rounds as words", "teacher", "parameters",
    ):  # fmt: skip
        assert f" {name}," in left, name


def test_logs_are_only_printed(runs, capsys):
    for folder in find_runs(runs):
        try:
            logs.main([str(folder.path)])
        except UserError:
            continue
    assert_harmless(capsys.readouterr().out)


def test_cancel_ends_no_process_and_no_job_that_a_folder_only_names(runs, monkeypatch, capsys):
    asked, killed = [], []
    monkeypatch.setattr(chain, "ask", lambda *words: asked.append(words))
    jobs = [commands.Job("12", "12", "of others", "RUNNING", "")]

    def read(*roots):
        return queue.Queue(jobs, ledgers=map(Ledger.read, roots_of(roots)))

    monkeypatch.setattr(queue.Queue, "read", read)
    real = os.kill
    monkeypatch.setattr(
        os, "kill", lambda pid, number: killed.append(pid) if number else real(pid, number)
    )
    assert cancel.main([str(runs), "--yes"]) == 0
    assert asked == [] and killed == []
    assert_harmless(capsys.readouterr().out)


def test_a_process_that_holds_the_lock_is_still_ended(tmp_path, monkeypatch, run_folder):
    from s2m.run.lock import RunLock

    killed = []
    monkeypatch.setattr(
        os, "kill", lambda pid, number: killed.append((pid, number)) if number else None
    )
    with RunLock.acquire(run_folder):
        assert cancel.main([str(run_folder.path), "--yes"]) == 0
    assert killed == [(os.getpid(), signal.SIGTERM)]


def test_the_plan_shows_what_failed_as_it_is(runs, capsys):
    cell = PlannedRun(RunCfg(), RunFolder("runs/x"), RunState("failed", failure=NASTY))
    console = Console(width=400)
    console.print(plan_table([cell]))
    out = capsys.readouterr().out
    assert "[/bold][red]" in out and "\x1b" not in out
    estimate([cell], runs)


@pytest.mark.parametrize("name", ["journal.jsonl", "events.jsonl", "lock", "run.log", "stop"])
def test_nothing_is_written_through_a_link(tmp_path, run_folder, name):
    from s2m.run.events import Events
    from s2m.run.files import open_own
    from s2m.run.journal import Journal
    from s2m.run.lock import RunLock

    (tmp_path / "treasure").write_text("a secret")
    (run_folder.path / name).unlink(missing_ok=True)
    (run_folder.path / name).symlink_to(tmp_path / "treasure")
    writers = {
        "journal.jsonl": lambda: Journal(run_folder).append(1, {}),
        "events.jsonl": lambda: Events(run_folder, 1).append("x"),
        "lock": lambda: RunLock.acquire(run_folder),
        "run.log": lambda: open_own(run_folder.log, os.O_WRONLY),
        "stop": lambda: stop(run_folder),
    }
    with pytest.raises(UserError, match="is a symbolic link"):
        writers[name]()
    assert (tmp_path / "treasure").read_text() == "a secret"


@pytest.mark.parametrize("name", ["checkpoints", "data", "unstable"])
def test_nothing_is_written_into_a_folder_behind_a_link(tmp_path, name):
    from s2m.stages.execute import execute
    from tests.stages.test_train import create

    folder, place = create(tmp_path / "run"), tmp_path / "place"
    shutil.rmtree(folder.path / name, ignore_errors=True)
    place.mkdir()
    for file in ("000000001.pt", ".a.tmp"):
        (place / file).write_text("a secret")
    (folder.path / name).symlink_to(place)
    with pytest.raises(UserError, match=f"{name} is a symbolic link: it is not written to"):
        execute(folder)
    assert sorted(path.name for path in place.iterdir()) == [".a.tmp", "000000001.pt"]
    assert not folder.attempt.exists()


def test_a_folder_whose_config_is_of_another_run_is_not_gone_on_with(run_folder):
    from s2m.run import frozen
    from tests.security.hostile import configure

    config = frozen.parse(run_folder.config_file.read_bytes())
    configure(run_folder, ppo={"gamma": 0.5})
    with pytest.raises(UserError, match="is not the config of the run"):
        RunFolder.create(run_folder.path, config)


@pytest.fixture
def run_folder(tmp_path):
    """A plain run that was never begun."""
    from tests.analysis.synthetic import Spec, write_run

    return write_run(tmp_path / "plain", Spec(state="pending"))
