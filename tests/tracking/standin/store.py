"""What the stand-in keeps: runs with their history, files, artifacts and views."""

import base64
import io
import json
from dataclasses import dataclass, field
from typing import Any

import pyarrow
import pyarrow.parquet

CREATED = "2026-01-01T00:00:00Z"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@dataclass
class StoredRun:
    """One run; its history is kept as the lines that the client sent."""

    entity: str
    project: str
    name: str
    display: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    state: str = "running"
    group: str | None = None
    job_type: str | None = None
    exported: bool = False
    """Whether the history has been written to a Parquet file, as the cloud does after a while."""
    exit_code: int | None = None

    @property
    def id(self) -> str:
        return encoded(f"Run:v1:{self.name}:{self.project}:{self.entity}")

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.history]

    def between(self, low: int, high: int) -> list[str]:
        """Return the lines whose step is at least `low` and below `high`."""
        return [line for line in self.history if low <= json.loads(line)["_step"] < high]

    def parquet(self) -> bytes:
        """Return the history as the file that the cloud offers for download."""
        buffer = io.BytesIO()
        rows = self.rows()
        names = sorted({name for row in rows for name in row})
        plain = [
            name
            for name in names
            if not any(isinstance(row.get(name), dict | list) for row in rows)
        ]
        columns = {name: [row.get(name) for row in rows] for name in plain}
        pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
        return buffer.getvalue()


@dataclass
class Store:
    """Everything one server knows."""

    entity: str
    runs: dict[tuple[str, str], StoredRun] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    """By the path under which they are uploaded and downloaded."""
    views: dict[str, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[str, dict[str, Any]] = field(default_factory=dict)

    def projects(self) -> set[str]:
        return {project for project, _ in self.runs}

    def find(self, project: str, name: str) -> StoredRun | None:
        return self.runs.get((project, name))

    def make(self, project: str, name: str) -> StoredRun:
        """Return a run, new if need be."""
        return self.runs.setdefault((project, name), StoredRun(self.entity, project, name))
