"""The W&B client, held to finite waits, and its errors in one line each."""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from s2m.console.errors import UserError
from s2m.run.files import sha256
from s2m.run.folder import FILES
from s2m.tracking.contents import MARKER
from s2m.tracking.history import replay
from s2m.tracking.key import has_key

WAIT_SECONDS = 30.0
"""Longest wait for one answer of the server."""
LIMITS = {
    "WANDB_SILENT": "true",
    "WANDB_CONSOLE": "off",
    "WANDB_ERROR_REPORTING": "false",
    "WANDB_X_GRAPHQL_RETRY_MAX": "3",
    "WANDB_X_GRAPHQL_TIMEOUT_SECONDS": "15",
}
"""The client's own settings; what the user has set stays."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give the client a folder for all that it writes, and delete it at the end.

    Nothing in it is needed again: whatever could not be sent still stands in the run folder.
    """
    with tempfile.TemporaryDirectory(prefix="s2m-wandb-", ignore_cleanup_errors=True) as name:
        before = dict(os.environ), tempfile.tempdir
        for variable in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_DATA_DIR", "TMPDIR"):
            os.environ[variable] = name
        tempfile.tempdir = name
        try:
            yield Path(name)
        finally:
            os.environ.clear()
            os.environ.update(before[0])
            tempfile.tempdir = before[1]


class ClientError(UserError):
    """What the client or the server had to say; whatever is open there may be broken."""


class Project:
    """A W&B project as the owner of an API key sees it."""

    def __init__(self, entity: str, name: str) -> None:
        """Connect, or say in one line why that cannot be."""
        for variable, value in LIMITS.items():
            os.environ.setdefault(variable, value)
        # This client is only made where something is to be read or sent at once.
        os.environ["WANDB_MODE"] = "online"
        self.name, self.entity = name, entity
        try:
            import wandb
        except ImportError:
            raise UserError("the package wandb is not installed: pip install wandb") from None
        if not has_key():
            raise UserError("there is no W&B API key: wandb login, or set WANDB_API_KEY")
        with self.explained():
            self.api = wandb.Api(timeout=int(WAIT_SECONDS))
            self.entity = entity or str(self.api.default_entity)

    @property
    def path(self) -> str:
        """`entity/name`."""
        return f"{self.entity}/{self.name}"

    @contextmanager
    def explained(self, folder: Path | None = None) -> Iterator[None]:
        """Turn whatever the client raises into a ClientError of one line.

        Files below `folder` are not the client's: what is wrong with them is a UserError.
        """
        try:
            yield
        except UserError:
            raise
        except Exception as error:
            if folder and isinstance(error, OSError) and isinstance(name := error.filename, str):
                if Path(name).is_relative_to(folder):
                    raise UserError(f"cannot read {name}: {error.strerror}") from None
            raise ClientError(explain(error, self.entity, self.name)) from error

    def find(self, run_id: str) -> Any | None:
        """Return a run of the project, or None if there is none of that id."""
        with self.explained():
            self.api.flush()  # it would give the run as it was when last asked for
            try:
                return self.api.run(f"{self.path}/{run_id}")
            except Exception as error:
                if "could not find run" in str(error).lower():
                    return None
                raise

    def runs(self) -> list[Any]:
        """Return all runs of this project that s2m has sent."""
        with self.explained():
            return [run for run in self.api.runs(self.path, lazy=False) if marker(run)]

    def table(self, run: Any, scratch: Path) -> Any:
        """Return the metrics of a run: from Parquet exports, or row by row while it is fresh."""
        with self.explained():
            return replay(_exported(run, scratch) or _scanned(run))

    def fetch(self, run: Any, folder: Path) -> list[str]:
        """Bring the small files of a run into a folder; return those W&B does not have as noted.

        Files that are already there, as noted, are not fetched again.
        """
        noted = {n: checksum for n, checksum in marker(run)["files"].items() if n in FILES}

        def wrong() -> list[str]:
            return [name for name in noted if _checksum(folder / MARKER / name) != noted[name]]

        if names := [f"{MARKER}/{name}" for name in wrong()]:
            with self.explained():
                for file in run.files(names=names):
                    file.download(root=str(folder), replace=True)
        return wrong()


def _checksum(path: Path) -> str:
    try:
        return sha256(path.read_bytes())
    except FileNotFoundError:
        return ""


def split(project: str) -> tuple[str, str]:
    """Return entity (or nothing) and name of `entity/name` or `name`."""
    entity, _, name = project.rpartition("/")
    if not name or "/" in entity:
        raise UserError(f"--project {project}: write entity/name, or name for your own entity")
    return entity, name


def marker(run: Any) -> dict[str, Any]:
    """Return what s2m has noted at W&B about a run; empty for a run of others."""
    found = run.config.get(MARKER)
    if not isinstance(found, dict) or "run" not in found:
        return {}
    sums = {name: found.get(name) for name in ("files", "media")}
    return found | {name: value if isinstance(value, dict) else {} for name, value in sums.items()}


def _scanned(run: Any) -> list[dict[str, Any]]:
    rows = list(run.scan_history(page_size=10_000, use_cache=False))
    return sorted(rows, key=lambda row: row["_step"])


def _exported(run: Any, scratch: Path) -> list[dict[str, Any]]:
    """Return the rows of the Parquet exports; none while they are incomplete."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        try:
            result = run.download_history_exports(folder, require_complete_history=True)
        except Exception:  # older clients have none; what is really wrong shows row by row
            return []
        if result.errors:
            return []
        tables = []
        for path in result.paths:
            schema = pq.read_schema(path)
            plain = [f.name for f in schema if not pa.types.is_nested(f.type)]
            if "_step" in plain:  # a run without rows has no columns
                tables.append(pq.read_table(path, columns=plain))
    if not tables:
        return []
    return pa.concat_tables(tables, promote_options="permissive").sort_by("_step").to_pylist()


def explain(error: Exception, entity: str, project: str) -> str:
    """Say in one line what the client's error means and what to do about it."""
    text = " ".join(str(error).split())
    words = text.lower()
    url = os.environ.get("WANDB_BASE_URL", "W&B")
    if re.search(r"\b401\b|not logged in|api key|unauthenticated", words):
        return f"{url} refuses the API key: wandb login --relogin, or set WANDB_API_KEY"
    if re.search(r"\bentity\b.*not found", words):
        return f"{url} knows no entity '{entity}': write --project entity/name, or tracking.entity="
    if re.search(r"\b403\b|permission|forbidden", words):
        return f"no permission for {entity}/{project} at {url}: ask its owner, or use another one"
    if "could not find project" in words or re.search(r"project.*not found", words):
        return f"{url} has no project {entity}/{project}: look for a typo, or send runs to it first"
    if re.search(r"giving up|dial tcp|timed? ?out|deadline|did not respond|refused|reset", words):
        reason = re.findall(r"HTTP \d+|connection \w+|no such host|timed out|deadline \w+", text)
        why = f" ({reason[-1]})" if reason else ""
        return f"cannot reach {url}{why}: is there a network?"
    return f"W&B: {type(error).__name__}: {text[:200]}"
