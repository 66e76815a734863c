"""Sending run folders to W&B, once or while they grow, and making sure that all arrived."""

import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from s2m.config.tracking import TrackingCfg
from s2m.console.errors import UserError
from s2m.run.folder import RunFolder
from s2m.run.journal import Journal
from s2m.run.lock import current_attempt
from s2m.run.status import PENDING, RUNNING, status_of
from s2m.tracking import contents
from s2m.tracking.client import Project, marker, split
from s2m.tracking.contents import MARKER
from s2m.tracking.history import missing
from s2m.tracking.lock import sender
from s2m.tracking.mode import tracking_of
from s2m.tracking.session import Session

CURRENT, BUSY = "up to date", "is being sent by another process"
TRIES, PAUSE_SECONDS = 3, 2.0
"""How often, and how far apart, W&B is asked whether it has everything."""


class Sender:
    """Sends runs to the projects of their configs, or all of them to one."""

    def __init__(self, scratch: Path, project: str | None = None) -> None:
        """Use a folder for the client's files; `project` is `name` or `entity/name`."""
        self.scratch, self._forced = scratch, project
        self._projects: dict[tuple[str, str], Project] = {}
        self._sessions: dict[Path, tuple[Session, str, ExitStack]] = {}
        """Runs that still train, each with the attempt that is followed."""

    def project(self, cfg: TrackingCfg) -> Project:
        """Return the project of a run, connected."""
        entity, name = cfg.entity, cfg.project
        if self._forced:
            entity, name = split(self._forced)
        if (entity, name) not in self._projects:
            self._projects[entity, name] = Project(entity, name)
        return self._projects[entity, name]

    def send(self, folder: RunFolder) -> str:
        """Send what W&B lacks of a run, make sure it has it, and say what was done."""
        cfg = tracking_of(folder)
        project = self.project(cfg)
        with sender(folder) as mine:
            if not mine:
                return BUSY
            stage = status_of(folder)
            if is_current(folder, project.find(contents.run_id(folder))):
                return CURRENT
            ended = stage not in (RUNNING, PENDING)
            session = Session(folder, cfg, project, self.scratch, final=ended)
            session.close(stage)
            if ended:
                self._confirm(folder, project)
            return f"sent {session.rows} rows and {session.files} files"

    def follow(self, folder: RunFolder) -> str:
        """Do as `send`, but keep the W&B run of an unfinished run open for the next call."""
        attempt = current_attempt(folder)
        token = attempt.token if attempt else ""
        stage = status_of(folder)
        session, known, stack = self._sessions.pop(folder.path, (None, "", ExitStack()))
        with ExitStack() as owned:
            owned.push(stack)
            if session is not None and (stage != RUNNING or token != known):
                # A later attempt may have gone back: only a fresh comparison can tell.
                session.close(stage)
                session = None
                stack.close()
            if stage != RUNNING:
                return self.send(folder)
            if session is None:
                if not stack.enter_context(sender(folder)):
                    return BUSY
                cfg = tracking_of(folder)
                session = Session(folder, cfg, self.project(cfg), self.scratch, final=False)
            # It stays open even if the folder cannot be read just now.
            self._sessions[folder.path] = session, token, owned.pop_all()
            before = session.rows
            session.push()
            return f"sent {session.rows - before} rows" if session.rows > before else CURRENT

    def leave(self) -> None:
        """Close what `follow` has kept open."""
        for session, _, stack in self._sessions.values():
            with stack, suppress(UserError):  # what was not sent still stands in the folder
                session.close(RUNNING)
        self._sessions.clear()

    def forget(self) -> None:
        """Drop all connections after a ClientError; what was open is compared again next time."""
        import wandb

        for _, _, stack in self._sessions.values():
            stack.close()
        self._sessions.clear()
        self._projects.clear()
        with suppress(Exception):
            wandb.teardown(exit_code=1)

    def _confirm(self, folder: RunFolder, project: Project) -> None:
        """Compare what W&B has with the folder, and note at W&B that both are equal."""
        journal = Journal(folder).table()
        for attempt in range(TRIES):
            time.sleep(PAUSE_SECONDS if attempt else 0)
            found = project.find(contents.run_id(folder))
            if found is None:
                continue
            due = missing(journal, project.table(found, self.scratch))
            if due == (None, []) and self._has_files(project, found):
                with project.explained():
                    note = {**marker(found), "rows": contents.digest(journal)}
                    found.config[MARKER] = note
                    found.update()
                return
        raise UserError(f"W&B does not yet show all of {contents.full_name(folder)}: sync it again")

    def _has_files(self, project: Project, run: Any) -> bool:
        with tempfile.TemporaryDirectory(dir=self.scratch) as name:
            return not project.fetch(run, Path(name))


def is_current(folder: RunFolder, run: Any | None) -> bool:
    """Tell whether W&B has confirmed to have just what the folder holds now."""
    noted = marker(run) if run is not None else {}
    if not noted.get("rows"):
        return False
    same = noted.get("files") == contents.checksums(contents.files(folder))
    return same and noted["rows"] == contents.digest(Journal(folder).table())
