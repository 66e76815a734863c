"""What was read of finished runs, kept beside them: one file that may be deleted at any time.

A finished run does not change, but its results may be replaced or deleted by hand: what is kept
counts as long as the files that prove it are the ones that were read.
"""

from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from s2m.cluster.state import RunState
from s2m.run.files import read_lines, sha256, write_file
from s2m.run.folder import STAGES, RunFolder
from s2m.run.lines import from_line, to_line
from s2m.run.naming import Facts
from s2m.run.settings import Settings
from s2m.run.status import FINISHED

NAME = ".finished.jsonl"
"""The file, in the folder whose runs are surveyed: settings that runs share, then the runs."""
PROOF = tuple(f"{stage}.json" for stage in STAGES)
_FIELDS = sorted(field.name for field in fields(RunState))

Marks = dict[str, list[int]]


class Index:
    """The states of finished runs below a folder."""

    def __init__(self, root: Path) -> None:
        """Read what was kept; whatever cannot be read is read from the runs again."""
        self._root, self._path = root, root / NAME
        self._found: dict[str, dict[str, Any]] = {}
        self._used: dict[str, dict[str, Any]] = {}
        self._settings: dict[str, Settings] = {}
        with suppress(OSError):
            for line in read_lines(self._path):
                with suppress(ValueError, KeyError, TypeError):
                    entry = from_line(line)
                    if "settings" in entry:
                        self._settings[entry["sum"]] = entry["settings"]
                    elif sorted(entry["state"]) == _FIELDS:  # written by an s2m like this one
                        self._found[entry["run"]] = entry

    def find(self, folder: RunFolder) -> tuple[RunState, Facts] | None:
        """Return state and facts of a finished run that has not changed since it was read."""
        entry = self._found.get(self._name(folder))
        if entry is None:
            return None
        with suppress(OSError, ValueError, TypeError, AttributeError, KeyError):
            if entry["marks"] == marks_of(folder, entry["marks"]):
                levels = {int(level): at for level, at in entry["state"]["levels"].items()}
                state = RunState(**{**entry["state"], "levels": levels})
                variant, seed, student, settings = entry["facts"]
                facts = Facts(variant, seed, student, self._settings[settings])
                if state.status == FINISHED:
                    self._used[entry["run"]] = entry
                    return state, facts
        return None

    def keep(self, folder: RunFolder, state: RunState, facts: Facts, marks: Marks) -> None:
        """Keep the state of a finished run that was read after its marks were taken."""
        if state.status == FINISHED:
            settings = sha256(to_line(dict(facts.settings)).encode())
            self._settings.setdefault(settings, facts.settings)
            own = [facts.variant, facts.seed, facts.student, settings]
            name = self._name(folder)
            self._used[name] = {
                "run": name, "marks": marks, "state": asdict(state), "facts": own,
            }  # fmt: skip

    def _name(self, folder: RunFolder) -> str:
        return folder.path.relative_to(self._root).as_posix()

    def save(self) -> None:
        """Rewrite the file if there is anything to add or drop; do nothing without permission."""
        same = self._used.keys() == self._found.keys() and all(
            self._found[name] is entry for name, entry in self._used.items()
        )
        if same or (self._root / "run.json").exists():  # nothing is put into a run's own folder
            return
        needed = {entry["facts"][-1] for entry in self._used.values()}
        shared = [{"sum": name, "settings": self._settings[name]} for name in sorted(needed)]
        text = "".join(f"{to_line(entry)}\n" for entry in [*shared, *self._used.values()])
        with suppress(OSError):
            write_file(self._path, text.encode())


def marks_of(folder: RunFolder, names: Any = PROOF) -> Marks:
    """Return what tells each of some files from a later one of its name; those there are none of.

    A run without an evaluation is not finished: of it nothing else is looked at.
    """
    marks: Marks = {}
    for name in sorted(names, key=lambda name: name != "evaluate.json"):
        try:
            found = (folder.path / name).stat()
        except FileNotFoundError:
            if name == "evaluate.json":
                return {}
            continue
        marks[name] = [found.st_size, found.st_mtime_ns, found.st_ino]
    return marks
