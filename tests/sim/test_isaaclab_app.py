"""The application does not take the process over, and cannot keep it."""

import faulthandler
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from s2m.console.errors import UserError
from s2m.sim import isaaclab_app
from s2m.sim.isaaclab_app import Watchdog, start_app


def python(code):
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    return done, time.monotonic() - began


def test_without_isaac_lab_one_line_tells_how_to_get_it(tmp_path):
    words = ["sim=isaaclab", "sim.device=cpu", "budget=demo", f"root={tmp_path}"]
    done = subprocess.run(
        [sys.executable, "-m", "s2m.launch", *words], capture_output=True, text=True
    )
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("error: sim=isaaclab needs isaacsim, which is not installed: ")
    assert "docs/isaaclab.md" in line


@pytest.fixture
def anew(kit, monkeypatch):
    """Let the application be started once more."""
    monkeypatch.setattr(isaaclab_app, "_app", None)


@pytest.mark.parametrize(
    ("device", "words"),
    [("gpu", "allowed are cuda:0"), ("cuda", "allowed are cuda:0"), ("cuda:0", "torch sees")],
)
def test_a_device_that_is_not_there(anew, monkeypatch, device, words):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    with pytest.raises(UserError, match=words):
        start_app(device)


def test_signals_words_and_stdout_stay_ours(anew, monkeypatch):
    """A preempted run must get its SIGTERM, or it loses its checkpoint."""

    def ours(*_):
        pass

    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
    before = {number: signal.signal(number, ours) for number in numbers}
    words, stdout = ["s2m", "encoder=pfds"], sys.stdout
    monkeypatch.setattr(sys, "argv", words)
    try:
        start_app("cpu")
        assert all(signal.getsignal(number) is ours for number in numbers)
        assert signal.getsignal(signal.SIGSEGV) is signal.SIG_DFL
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert sys.argv is words and sys.stdout is stdout


def test_there_is_only_one_application(kit):
    assert start_app("cpu") is start_app("cpu")


def test_the_watchdog_ends_a_process_that_hangs():
    done, seconds = python(
        "from s2m.sim.isaaclab_app import Watchdog\nimport time\n"
        "dog = Watchdog(0.5)\ndog.feed()\ntime.sleep(50)"
    )
    assert done.returncode == 1 and seconds < 40
    assert "Timeout" in done.stderr and "line 5" in done.stderr


def test_a_stopped_watchdog_does_nothing():
    done, _ = python(
        "from s2m.sim.isaaclab_app import Watchdog\nimport time\n"
        "dog = Watchdog(0.5)\ndog.feed()\ndog.stop()\ntime.sleep(1)\nprint('alive')"
    )
    assert (done.returncode, done.stdout) == (0, "alive\n")


def test_feeding_is_cheap(monkeypatch):
    meals = []
    monkeypatch.setattr(faulthandler, "dump_traceback_later", lambda *a, **k: meals.append(a))
    clock = SimpleNamespace(monotonic=iter(range(100)).__next__)
    monkeypatch.setattr(isaaclab_app, "time", clock)
    dog = Watchdog(600)
    for _ in range(100):
        dog.feed()
    assert len(meals) == 4  # every 30 s of its 600


@pytest.mark.parametrize(("app", "code"), [("object()", 75), ("None", 1)])
def test_a_job_keeps_its_exit_code(app, code):
    """Even if something would not let Python end, when there is an application."""
    hang = "atexit.register(time.sleep, 50)" if app != "None" else ""
    done, seconds = python(
        f"import atexit, time\nfrom s2m.sim import isaaclab_app\n{hang}\n"
        f"isaaclab_app._app = {app}\nprint('last words')\nisaaclab_app.leave({code})"
    )
    assert (done.returncode, done.stdout) == (code, "last words\n") and seconds < 40
