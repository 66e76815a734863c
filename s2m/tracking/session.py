"""An open W&B run that is made equal to a run folder, once or again and again."""

import math
import tempfile
from pathlib import Path
from typing import Any

from s2m.config.tracking import TrackingCfg
from s2m.run.events import Events
from s2m.run.folder import RunFolder
from s2m.run.journal import KEPT, Journal
from s2m.run.metrics import ITERATION, MetricsRow, merge, rows_of
from s2m.run.status import FINISHED, PENDING, RUNNING, STOPPED
from s2m.tracking import contents
from s2m.tracking.client import Project, marker
from s2m.tracking.contents import MARKER
from s2m.tracking.history import MEDIA, REWIND, missing
from s2m.tracking.media import SUCCESS, artifacts, films, tables
from s2m.tracking.panels import derived

SETTINGS = {
    "console": "off", "silent": True, "disable_git": True, "save_code": False,
    "x_save_requirements": False, "x_skip_transaction_log": True, "reinit": "create_new",
}  # fmt: skip
"""No output, no code (the folder has its own patch), no second copy of the rows on disk."""


class Session:
    """Sends what W&B lacks of one run folder; `push` may be called as often as one likes."""

    def __init__(
        self,
        folder: RunFolder,
        cfg: TrackingCfg,
        project: Project,
        scratch: Path,
        live: bool = False,
        final: bool = True,
    ) -> None:
        """Look at what W&B has, and open the run.

        A `live` one also shows the load of this machine; only a `final` one says how it ended.
        """
        import wandb

        self.folder, self.project, self.cfg = folder, project, cfg
        self.rows = self.files = 0
        """What was sent so far."""
        self._rewinds = len(_rewinds(folder))
        # Before W&B is asked for anything: a folder that cannot be read shall cost nothing there.
        table = Journal(folder).table()
        found = project.find(contents.run_id(folder))
        self._sent, self._shown = _arrived(project, found, scratch) if found else ({}, {})
        mirrored = project.table(found, scratch) if found else merge(None, {}, math.inf)
        known = wandb.Settings.model_fields
        settings = SETTINGS | {
            "init_timeout": cfg.init_seconds, "finish_timeout": cfg.finish_seconds,
            "finish_timeout_raises": True, "x_disable_stats": not live,
            "x_update_finish_state": final,
        }  # fmt: skip
        told = contents.description(folder)
        self._config = told["config"]
        with project.explained():
            self.run = wandb.init(
                entity=project.entity, project=project.name, resume="allow", dir=str(scratch),
                settings=wandb.Settings(**{k: v for k, v in settings.items() if k in known}),
                **{key: value for key, value in told.items() if key != "config"},
            )  # fmt: skip
            self.run.config.update(told["config"], allow_val_change=True)
            self.run.define_metric(ITERATION, hidden=True)
            self.run.define_metric("*", step_metric=ITERATION)
        self._stamp: tuple[Any, ...] = ()
        self._last = int(table[ITERATION][-1].as_py()) if len(table) else -1
        limit, rows = missing(table, mirrored)
        with project.explained():
            if limit is not None:
                self.run.log({REWIND: limit})
            self._log(rows)

    def push(self, ended: bool = False) -> None:
        """Send the rows and files that are new."""
        with self.project.explained(self.folder.path):
            stamp = contents.stamp(self.folder)
            if stamp != self._stamp:
                self._go_back()
            self._log(self._new_rows())
            if stamp != self._stamp or ended:
                self._send_files(ended)
                self._stamp = stamp

    def _go_back(self) -> None:
        """Void what the run has taken back: an attempt may resume after the first look at it."""
        found = _rewinds(self.folder)
        limit = min(found[self._rewinds :], default=self._last)
        self._rewinds = len(found)
        if limit < self._last:
            self.run.log({REWIND: limit})
            self._last = limit

    def _new_rows(self) -> list[tuple[int, MetricsRow]]:
        newest = Journal(self.folder).tail(KEPT)
        if newest and newest[0][0] > self._last + 1:
            newest = list(rows_of(Journal(self.folder).table()).items())
        return [entry for entry in newest if entry[0] > self._last]

    def _log(self, rows: list[tuple[int, MetricsRow]]) -> None:
        for iteration, row in rows:
            self.run.log({ITERATION: iteration, **row, **derived(self._config, row)})
            self._last = max(self._last, iteration)
            self.rows += 1

    def _send_files(self, ended: bool) -> None:
        found = contents.files(self.folder, ended)
        sums = contents.checksums(found)
        fresh = [name for name, checksum in sums.items() if self._sent.get(name) != checksum]
        base = Path(self.run.dir)
        for name in fresh:
            path = base / MARKER / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(found[name])
            self.run.save(str(path), base_path=str(base), policy="now")
        self.files += len(fresh)
        self._sent = sums
        shown = self._shown
        if "evaluate.json" in sums and shown.get(SUCCESS) != sums["evaluate.json"]:
            self.run.log({MEDIA + name: table for name, table in tables(self.folder).items()})
            shown[SUCCESS] = sums["evaluate.json"]
        for checksum, name, film in films(self.folder):
            if shown.get(name) != checksum:
                shown[name] = checksum
                self.run.log({MEDIA + name: film})
        if self.cfg.artifacts:
            for checksum, name, artifact, aliases in artifacts(self.folder, self.run.id):
                if shown.get(name) != checksum:
                    shown[name] = checksum
                    self.run.log_artifact(artifact, aliases=aliases)
        self.run.summary.update(contents.summary(self.folder))
        note = {
            "run": contents.full_name(self.folder), "files": sums, "media": dict(shown),
            "signature": self.folder.identity.signature,
        }  # fmt: skip
        self.run.config.update({MARKER: note}, allow_val_change=True)

    def close(self, outcome: str) -> None:
        """Send the rest and end the W&B run as the run itself has ended."""
        self.push(ended=outcome not in (RUNNING, PENDING))
        with self.project.explained():
            if outcome == STOPPED:
                self.run.mark_preempting()
            self.run.finish(exit_code=0 if outcome == FINISHED else 1)


def _rewinds(folder: RunFolder) -> list[int]:
    """Return to which iterations a run has gone back, oldest first."""
    return [event["iteration"] for event in Events(folder).read() if event["kind"] == "rewind"]


def _arrived(project: Project, run: Any, scratch: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the checksums of the files, and of the media, that W&B really has of a run.

    The note in its config is quicker than an upload: a client that was killed leaves it behind.
    """
    noted = marker(run)
    files, media = dict(noted.get("files", {})), dict(noted.get("media", {}))
    if not noted.get("rows"):
        with tempfile.TemporaryDirectory(dir=scratch) as name:
            for lacking in project.fetch(run, Path(name)):
                files.pop(lacking, None)
        media = {name: found for name, found in media.items() if f"{MEDIA}{name}" in run.summary}
    return files, media
