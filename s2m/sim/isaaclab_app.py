"""The Omniverse application under Isaac Lab: one per process, started late and left in a hurry.

It takes over signals, the command line and stdout, may hang when it starts, steps or stops, and may
turn a failure into exit code 0. Here it is made to leave the run's own rules alone.
"""

import atexit
import faulthandler
import importlib.util
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import torch

from s2m.config.sim import INSTALL_ISAAC
from s2m.console.errors import UserError

START_SECONDS = 1800
"""Longest start: a first one compiles shaders and may read gigabytes from a shared disk."""
STALL_SECONDS = 900
"""Longest pause between two control steps, learning and checkpoints included."""
STDERR = 2
"""The stream that no redirection of Python hides."""
EXIT_SECONDS = 60
"""Longest way out of the process once Python has finished."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2, signal.SIGABRT, signal.SIGSEGV)

_app: Any = None


class Watchdog:
    """Ends the process when it has not been fed for too long, with a traceback of every thread.

    It is a thread of C code, so that an engine which holds Python's lock cannot stop it.
    """

    def __init__(self, seconds: float) -> None:
        """Watch from the first meal on."""
        self.seconds = seconds
        self.fed = -seconds

    def feed(self) -> None:
        """Grant another `seconds`; cheap enough for every control step."""
        now = time.monotonic()
        if now - self.fed > self.seconds / 20:
            self.fed = now
            faulthandler.dump_traceback_later(self.seconds, exit=True, file=STDERR)

    def stop(self) -> None:
        """Watch no more."""
        self.fed = -self.seconds
        faulthandler.cancel_dump_traceback_later()


def start_app(device: str) -> Any:
    """Return the running application; start it, without windows and on one GPU, if there is none.

    Only after this can `isaaclab`'s other modules be imported.
    """
    global _app
    if _app is not None:
        return _app
    _check(device)
    watchdog = Watchdog(START_SECONDS)
    watchdog.feed()
    with _own_process():
        from isaaclab.app import AppLauncher  # pyright: ignore[reportMissingImports]

        _app = AppLauncher(headless=True, device=device, multi_gpu=False, fast_shutdown=True).app
        _expose_sources()
    watchdog.stop()
    # What the engine's libraries do after Python's end is out of reach of any thread.
    atexit.register(signal.alarm, EXIT_SECONDS)
    return _app


def leave(code: int) -> NoReturn:
    """End the process with this code, although the application would hang or end it with 0."""
    if _app is None:
        sys.exit(code)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _check(device: str) -> None:
    for package in ("isaacsim", "isaaclab"):
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:  # a mere folder of that name has no origin
            raise UserError(
                f"sim=isaaclab needs {package}, which is not installed: {INSTALL_ISAAC}"
            )
    if device == "cpu":
        return
    kind, _, number = device.partition(":")
    if kind != "cuda" or not number.isdigit():
        raise UserError(f"sim.device = {device}: allowed are cuda:0, cuda:1, ... and cpu")
    if int(number) >= torch.cuda.device_count():
        raise UserError(
            f"sim.device = {device}: torch sees {torch.cuda.device_count()} GPUs; "
            "`python -m s2m.doctor --cluster` tells what is missing"
        )


@contextmanager
def _own_process() -> Iterator[None]:
    """Keep signal handlers, command line and stdout as they are.

    The launcher catches SIGTERM to close the application, which would cost a preempted run its
    checkpoint, and it replaces sys.stdout; the application reads sys.argv as its own.
    """
    argv, stdout = sys.argv, sys.stdout
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    # Other threads may not set handlers, and the launcher could not have changed them there.
    main = threading.current_thread() is threading.main_thread()
    sys.argv = argv[:1]
    try:
        yield
    finally:
        sys.argv, sys.stdout = argv, stdout
        for number, handler in handlers.items():
            if main and handler is not None:
                signal.signal(number, handler)


def _expose_sources() -> None:
    """Make the wheel's modules importable: it keeps them in folders of its own.

    The application finds most of them by itself, but not `isaaclab_contrib`, which scenes import.
    """
    import isaaclab  # pyright: ignore[reportMissingImports]

    folder = Path(isaaclab.__file__ or "").parent / "source"
    core = folder / "isaaclab" / "isaaclab"
    if core.is_dir() and str(core) not in isaaclab.__path__:
        isaaclab.__path__.append(str(core))
    contrib = folder / "isaaclab_contrib"
    if contrib.is_dir() and importlib.util.find_spec("isaaclab_contrib") is None:
        sys.path.append(str(contrib))
