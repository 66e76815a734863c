"""The page of runs on localhost: rebuilt while somebody looks at it, for this machine only."""

import mimetypes
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copyfileobj
from urllib.parse import quote, unquote

from s2m.console.errors import UserError
from s2m.monitor.page import build, read_all
from s2m.monitor.survey import SurveyedRun, survey
from s2m.tracking.contents import films

HOST, PORT = "127.0.0.1", 8765
REFRESH_SECONDS = 10.0
"""How often a browser loads the page; no run folder is read more often, however many look."""


class Cache:
    """A page that is made at most once in a while, and the files that it links to."""

    def __init__(self, root: Path) -> None:
        """Name the folder of runs."""
        self._root, self._lock = root, threading.Lock()
        self._page, self._made = b"", -REFRESH_SECONDS
        self.files: dict[str, Path] = {}
        """By their addresses: films and folders of runs; nothing else is served."""

    def page(self) -> bytes:
        """Return the page, rebuilt if it is older than half of the refresh interval."""
        with self._lock:
            if time.monotonic() - self._made >= REFRESH_SECONDS / 2:
                runs = survey(self._root)
                self.files = _linked(runs)
                page = build(read_all(runs), str(self._root), _address, REFRESH_SECONDS)
                self._page, self._made = page.encode(), time.monotonic()
            return self._page


def _address(path: Path) -> str:
    return quote(f"/{path.absolute().as_posix().lstrip('/')}", errors="surrogateescape")


def _linked(runs: Sequence[SurveyedRun]) -> dict[str, Path]:
    paths = [path for run in runs for path in (run.folder.path, *films(run.folder))]
    return {unquote(_address(path), errors="surrogateescape"): path for path in paths}


def make_server(root: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of the page, bound to the loopback address; port 0 takes a free one."""
    cache = Cache(root)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # Another name for this machine is a foreign site that has its own resolve to it.
            if self.headers.get("Host", "").partition(":")[0] not in (HOST, "localhost"):
                return self.send_error(403, "only for this machine")
            if self.path == "/":
                return self._send("text/html; charset=utf-8", cache.page())
            path = cache.files.get(unquote(self.path, errors="surrogateescape"))
            if path is None:
                return self.send_error(404)
            if path.is_dir():
                names = "\n".join(sorted(item.name for item in path.iterdir()))
                return self._send("text/plain; charset=utf-8", f"{path}\n\n{names}\n".encode())
            with path.open("rb") as file:
                self._head(mimetypes.guess_type(path.name)[0] or "", path.stat().st_size)
                copyfileobj(file, self.wfile)

        def _send(self, kind: str, content: bytes) -> None:
            self._head(kind, len(content))
            self.wfile.write(content)

        def _head(self, kind: str, size: int) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(size))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the terminal shows the address only."""

    try:
        return ThreadingHTTPServer((HOST, port), Handler)
    except OSError as error:
        said = f"cannot serve on port {port}: {error.strerror}"
        raise UserError(f"{said}; choose another, or 0 for a free one: --serve 0") from None


def serve(root: Path, port: int) -> None:
    """Show the page until Ctrl-C."""
    with make_server(root, port) as server, suppress(KeyboardInterrupt):
        print(f"http://{HOST}:{server.server_port}/ shows {root}; Ctrl-C stops it", flush=True)
        server.serve_forever()
