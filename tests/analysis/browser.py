"""A page in a real Chromium, headless, spoken to over pipes: no driver and no socket is needed."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.waiting import wait_for

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--no-first-run",
    "--remote-debugging-pipe",
)  # fmt: skip


def find() -> str | None:
    """Return the path of a Chromium, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One tab; every message that Chromium sends about it is kept in `events`."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        """Open an empty tab."""
        self._out = os.fdopen(to_browser, "wb", buffering=0)
        self._in = os.fdopen(from_browser, "rb")
        self._number = 0
        self._session: str | None = None
        self.events: list[dict] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params) -> dict:
        """Send a command and return its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self) -> dict:
        data = bytearray()
        while (byte := self._in.read(1)) != b"\0":
            if not byte:
                raise RuntimeError("Chromium went away")
            data += byte
        return json.loads(data)

    def open(self, path: Path, width: int = 1200, height: int = 900) -> None:
        """Load a file at a window size and wait until everything is there."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.events.clear()
        self.call("Page.navigate", url=path.resolve().as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def evaluate(self, expression: str):
        """Return the value of a JavaScript expression."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        return answer["result"].get("value")

    def point(self, x: float, y: float, click: bool = False) -> None:
        """Move the mouse to a place of the window, and click there."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased") if click else ():
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wait(self, expression: str) -> None:
        """Return once a JavaScript expression holds, perhaps on the next page."""

        def holds() -> bool:
            with suppress(RuntimeError):  # between two pages there is nobody to ask
                return bool(self.evaluate(f"Boolean({expression})"))
            return False

        wait_for(holds, what=expression, tell=lambda: "\n".join(self.complaints()))

    def shoot(self, path: Path) -> None:
        """Save what the window shows as a picture."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def print(self, path: Path) -> None:
        """Save the page as it would be printed."""
        shot = self.call("Page.printToPDF", printBackground=False)
        path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        """Let the whole browser end in good order; killed, it leaves a folder behind."""
        self.call("Browser.close")

    def complaints(self) -> list[str]:
        """Return console messages, exceptions and log entries such as refused requests."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(e["params"]) for e in self.events if e.get("method") in kinds]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]


@contextmanager
def chromium(profile: Path) -> Iterator[Page]:
    """Start a browser with an own profile folder and give its page."""
    program = find()
    assert program is not None
    read_commands, commands = os.pipe()
    answers, write_answers = os.pipe()

    def wire() -> None:
        # Chromium reads from descriptor 3 and writes to 4; copies first, as they may be in use.
        source, sink = os.dup(read_commands), os.dup(write_answers)
        os.dup2(source, 3)
        os.dup2(sink, 4)

    process = subprocess.Popen(
        [program, *SWITCHES, f"--user-data-dir={profile}"],
        preexec_fn=wire,
        close_fds=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_commands)
    os.close(write_answers)
    try:
        page = Page(commands, answers)
        yield page
        page.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
    finally:
        process.kill()
        process.wait()
