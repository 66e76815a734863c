"""The stand-in's HTTP side: GraphQL, the stream of rows, uploads, and faults on demand."""

import gzip
import http.server
import json
import re
import threading
import urllib.parse
from base64 import b64decode
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.tracking.standin.operations import Operations, Refused
from tests.tracking.standin.store import Store

ENTITY = "loopback"
KEY = "local" + "0" * 35

Fault = str | int
"""`drop` closes the connection, `hang` answers after `hang_seconds`, a number is a status."""


class StandIn:
    """A server in a thread; `fault` may spoil requests, told their path and operation."""

    def __init__(self, port: int = 0) -> None:
        self.store = Store(ENTITY)
        self.unknown: list[str] = []
        """Operations and paths that it was asked for and does not know."""
        self.asked: Counter[str] = Counter()
        """How often each operation or path was asked for."""
        self.fault: Callable[[str, str], Fault | None] = lambda path, operation: None
        self.hang_seconds = 60.0
        self.released = threading.Event()
        """Ends every hanging answer."""
        self._lock = threading.RLock()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._operations = Operations(self.store, self.url)

    def start(self) -> "StandIn":
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def environment(self) -> dict[str, str]:
        """Return the variables that lead a client here and nowhere else."""
        return {
            "WANDB_BASE_URL": self.url,
            "WANDB_API_KEY": KEY,
            "WANDB_ERROR_REPORTING": "false",
            "WANDB_MODE": "online",
        }

    def close(self, project: str) -> None:
        """Let nobody read or write a project."""
        self._operations.closed.add(project)

    def answer(self, method: str, path: str, key: str, body: bytes) -> tuple[Any, Fault]:
        """Return the content and status of an answer, or a fault in the place of the status."""
        query = json.loads(body) if path == "/graphql" else {}
        operation = _operation(query)
        with self._lock:
            self.asked[operation or _kind(method, path)] += 1
        fault = self.fault(path, operation)
        if fault is not None:
            return {"error": "asked to fail"}, fault
        if path.startswith("/sdk/otel/") or path == "/healthz":
            return {}, 200
        if key != KEY and not path.startswith("/storage/"):
            return {"errors": [{"message": "user is not logged in"}]}, 401
        with self._lock:
            if path == "/graphql":
                return self._graphql(operation, query)
            return self._plain(method, path, body)

    def _graphql(self, operation: str, query: dict[str, Any]) -> tuple[Any, int]:
        handler = getattr(self._operations, operation, None)
        if handler is None:
            self.unknown.append(f"{operation}: {query['query']}")
            return {"errors": [{"message": f"stand-in: unknown operation {operation}"}]}, 200
        try:
            return {"data": handler(query.get("variables") or {})}, 200
        except Refused as error:
            return {"errors": [{"message": str(error)}], "data": None}, error.status

    def _plain(self, method: str, path: str, body: bytes) -> tuple[Any, int]:
        stream = re.fullmatch(r"/files/([^/]+)/([^/]+)/([^/]+)/file_stream", path)
        if stream and method == "POST":
            return self._file_stream(stream[2], stream[3], json.loads(body)), 200
        if path.startswith("/storage/"):
            if method == "PUT":
                self.store.files[path] = body
                return {}, 200
            found = self.store.files.get(path)
            return (found, 200) if found is not None else ({}, 404)
        self.unknown.append(f"{method} {path}")
        return {}, 404

    def _file_stream(self, project: str, name: str, sent: dict[str, Any]) -> dict[str, Any]:
        run = self.store.make(project, name)
        for file, chunk in (sent.get("files") or {}).items():
            lines, offset = chunk.get("content", []), chunk.get("offset", 0)
            if file == "wandb-summary.json":
                run.summary = json.loads(lines[-1]) if lines else run.summary
                continue
            kept = {"wandb-history.jsonl": run.history, "wandb-events.jsonl": run.events}
            kept.get(file, run.log)[offset : offset + len(lines)] = lines
        if sent.get("preempting"):
            run.state = "preempting"
        if sent.get("complete"):
            run.exit_code = sent.get("exitcode", 0)
            ended = "finished" if run.exit_code == 0 else "failed"
            run.state = "preempted" if run.state == "preempting" and run.exit_code else ended
        return {}


def _operation(query: dict[str, Any]) -> str:
    if not query:
        return ""
    found = re.search(r"(?:query|mutation)\s+(\w+)", query["query"])
    return query.get("operationName") or (found[1] if found else "unnamed")


def _kind(method: str, path: str) -> str:
    return "file_stream" if path.endswith("/file_stream") else f"{method} /{path.split('/')[1]}"


def _handler(owner: StandIn) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Say nothing: tests look at `asked`."""

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding") == "chunked":
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                data = b"".join(parts)
            else:
                length = int(self.headers.get("Content-Length") or 0)
                data = self.rfile.read(length)
                if len(data) < length:
                    raise EOFError
            return gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data

        def _key(self) -> str:
            kind, _, word = (self.headers.get("Authorization") or "").partition(" ")
            return b64decode(word).decode().partition(":")[2] if kind == "Basic" else ""

        def _serve(self) -> None:
            path = urllib.parse.unquote(urllib.parse.urlparse(self.path).path)
            try:
                body = self._body()
            except (OSError, EOFError, ValueError):  # its sender was killed half way
                self.close_connection = True
                return
            try:
                content, status = owner.answer(self.command, path, self._key(), body)
            except Exception as error:
                owner.unknown.append(f"{path}: {error!r}")
                content, status = {"errors": [{"message": repr(error)}]}, 400
            if status == "hang":
                owner.released.wait(owner.hang_seconds)
            if isinstance(status, str):
                self.close_connection = True
                return
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        do_GET = do_HEAD = do_POST = do_PUT = _serve

    return Handler
