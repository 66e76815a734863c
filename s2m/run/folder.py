"""The run folder: its files, its identity, and the results that prove a stage is done."""

import logging
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from s2m.config.encoder import Card, cards, parse_card
from s2m.console.errors import UserError, unknown
from s2m.run import frozen
from s2m.run.clock import timestamp
from s2m.run.code import CodeState
from s2m.run.files import (
    read_file,
    read_json,
    read_record,
    read_sealed,
    sha256,
    write_durably,
    write_file,
    write_sealed,
)
from s2m.run.finding import locate, run_paths
from s2m.run.identity import seed, signature, variant
from s2m.run.kind import TEACHER, Kind, kind_of, kind_of_variant

if TYPE_CHECKING:
    from s2m.run.events import Events

SCHEMA = 3
"""Version of the folder's formats; a stored folder of each one is among the tests.

Since version 2 `run.json`, `attempt.json`, every line and every column of metrics have checksums;
since version 3 a run knows its group, label and colour, and signatures leave out what cannot decide
a result.
"""

STAGES = ("train", "evaluate", "distill")
"""All stages: teachers are trained, students distilled, and either is then evaluated."""

FILES = (
    "run.json", "config.yaml", "code.patch", "attempt.json", "events.jsonl", "train.json",
    "distill.json", "evaluate.json", "episodes.parquet", "selection.parquet",
)  # fmt: skip
"""With the metrics they are all that the analysis reads of a run."""

_FORMS = {
    "signature": re.compile(r"[0-9a-f]{64}"),
    "variant": re.compile(r"[a-z0-9][a-z0-9_]{0,43}"),
    "commit": re.compile(r"[0-9a-f]{4,64}"),
    "config_sha256": re.compile(r"[0-9a-f]{64}"),
    "group": re.compile(r"[A-Za-z0-9_]{0,20}"),
    "label": re.compile(r"[^\x00-\x1f\x7f-\x9f]{0,60}"),
    "colour": re.compile(r"(#[0-9A-Fa-f]{6})?"),
}
"""What the texts of `run.json` look like, whoever wrote it: they become names, and words of git."""

CHECKPOINT = re.compile(r"(\d{9})(?:-([a-z0-9]{1,20}))?\.pt")
"""The name of a checkpoint: the iteration, and for what it is kept."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Identity:
    """What `run.json` says: the run, and the code and config it was created with."""

    schema: int
    signature: str
    variant: str
    seed: int
    created: str
    """UTC time of creation."""
    commit: str | None
    """Commit of the code; None where it did not come from a repository."""
    dirty: bool
    """Whether the code differed from the commit; the difference is `code.patch`."""
    config_sha256: str
    """Checksum of `config.yaml`, which is frozen."""
    group: str = ""
    """The symmetry group of its encoder; empty for students, and in folders before version 3."""
    label: str = ""
    """What its encoder is called in tables and legends."""
    colour: str = ""
    """The encoder's colour, if it has one of its own."""


class RunFolder:
    """The paths of one run and what they hold; making the object touches no file."""

    def __init__(self, path: Path | str) -> None:
        """Name the files; `create` and `open` also look at them."""
        self.path = Path(path)
        self.config_file = self.path / "config.yaml"
        self.run_file = self.path / "run.json"
        self.patch = self.path / "code.patch"
        self.journal = self.path / "journal.jsonl"
        self.metrics = self.path / "metrics.parquet"
        self.events = self.path / "events.jsonl"
        self.checkpoints = self.path / "checkpoints"
        self.data = self.path / "data"
        """Folder of the steps from which a student learns."""
        self.log = self.path / "run.log"
        """What the run's processes print."""
        self.unstable = self.path / "unstable"
        """Folder of the simulator states that exploded."""
        self.stop = self.path / "stop"
        """A file whose presence asks the run to end at the next iteration."""
        self.tracking_log = self.path / "tracking.log"
        """What the process that mirrors the run to W&B had to say."""
        self.tracking_lock = self.path / "tracking.lock"
        """Held by whoever sends the run to W&B."""
        self.own = self.path / "own"
        """Copies of what the run used from outside of s2m, laid out as a --config-dir."""
        self.moved = self.path / "moved.json"
        """The simulator in which the run resumes, if that is not its config's."""
        self.lock = self.path / "lock"
        self.attempt = self.path / "attempt.json"

    @classmethod
    def create(
        cls,
        path: Path | str,
        config: dict[str, Any],
        code: CodeState | None = None,
        own: Mapping[str, bytes] | None = None,
        twin: "RunFolder | None" = None,
    ) -> "RunFolder":
        """Freeze a resolved config and its code in a folder; once it is there, only check it.

        `own` are files from outside of s2m that it uses, by their place in a --config-dir. With a
        `twin` that was just created with the same code, both share the file of their patch.

        `run.json` is written last: without it the folder does not count as created. A config that
        differs only in what cannot change a result belongs to the same run, whose first one stays.
        """
        folder, code = cls(path), code or CodeState()
        if not _make_folder(folder.path):
            folder.require(config)
            if folder.run_file.exists():
                return folder
        card = _card(config, own or {})
        try:
            text = frozen.dump(config)
        except UserError as error:
            raise UserError(f"the config of {folder.path} {error}") from None
        identity = Identity(
            schema=SCHEMA,
            signature=signature(config),
            variant=variant(config),
            seed=seed(config),
            created=timestamp(),
            commit=code.commit,
            dirty=code.dirty,
            config_sha256=sha256(text),
            group=card.group if card else "",
            label=card.label if card else "",
            colour=card.colour if card else "",
        )
        try:
            folder.checkpoints.mkdir(exist_ok=True)
            write_durably(folder.config_file, text)
            for name, content in (own or {}).items():
                (folder.own / name).parent.mkdir(parents=True, exist_ok=True)
                write_file(folder.own / name, content)
            if code.patch:
                folder._store_patch(code.patch, twin)
            write_sealed(folder.run_file, asdict(identity))
        except OSError as error:
            raise UserError(f"cannot create the run folder {path}: {error.strerror}") from None
        return folder

    def _store_patch(self, patch: str, twin: "RunFolder | None") -> None:
        if twin is not None:
            with suppress(OSError):  # where there are no hard links, each has its own
                os.link(twin.patch, self.patch)
                return
        # Replaced, not written to: what a killed launch has left may be shared.
        write_file(self.patch, patch.encode("utf-8", "surrogateescape"))

    def require(self, config: dict[str, Any]) -> None:
        """Raise UserError where the folder is there, but is not that of a config's run."""
        if self.run_file.exists():
            mark = signature(config)
            if self.identity.signature != mark:
                raise UserError(
                    f"{self.path} belongs to the run {self.identity.signature}, "
                    f"not to {mark}: choose another folder"
                )
            if signature(self.config()) != mark:
                raise UserError(f"{self.config_file} is not the config of the run {mark}")
        elif self.attempt.exists():
            raise UserError(
                f"{self.path} has lost its run.json: restore it, or delete the folder to "
                "retrain the run"
            )

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Return a folder that exists and that this version can read; see `locate`."""
        folder = cls(locate(path))
        if not folder.run_file.exists():
            raise UserError(f"{folder.path} is not a run folder: it has no run.json")
        _ = folder.identity
        return folder

    @cached_property
    def identity(self) -> Identity:
        """The content of `run.json`."""
        data = read_json(self.run_file)
        schema = data.get("schema")
        if type(schema) is not int:
            raise UserError(f"{self.run_file} is damaged: it has no schema version")
        if schema > SCHEMA:
            raise UserError(
                f"{self.path} has schema version {schema}, this s2m reads up to {SCHEMA}: "
                "update s2m to read it"
            )
        identity = read_record(self.run_file, Identity)
        for name, form in _FORMS.items():
            value = getattr(identity, name)
            if value is not None and not form.fullmatch(value):
                raise UserError(f"{self.run_file} is damaged: {name} is {value[:40]!r}")
        return identity

    @property
    def kind(self) -> Kind:
        """What kind of run it is."""
        return kind_of_variant(self.identity.variant)

    def config(self) -> dict[str, Any]:
        """Return the frozen config; a UserError if someone has changed it."""
        try:
            text = read_file(self.config_file)
        except OSError as error:
            raise UserError(f"cannot read {self.config_file}: {error.strerror}") from None
        if sha256(text) != self.identity.config_sha256:
            raise UserError(
                f"{self.config_file} was changed after the run was created: "
                "undo the change, or launch a new run with it"
            )
        try:
            config = frozen.parse(text)
        except UserError as error:
            raise UserError(f"{self.config_file} {error}") from None
        # A run.json without a checksum of its own is held to the config that it vouches for.
        if (variant(config), seed(config)) != (self.identity.variant, self.identity.seed):
            raise UserError(f"{self.run_file} is damaged: its config is that of another run")
        return config

    def executed(self) -> dict[str, Any]:
        """Return the config with which the run resumes, in the simulator it was moved to."""
        config = self.config()
        if self.moved.exists():
            config["sim"] = read_sealed(self.moved)["sim"]
        return config

    def inside(self, name: str | Path) -> Path:
        """Return the path of a file that stays in the folder, to be copied or sent elsewhere.

        A link out of it, or a name that leads out, would give away files that are not the run's.
        """
        path = self.path / name
        if not path.resolve().is_relative_to(self.path.resolve()):
            raise UserError(f"{path} leads out of the run folder: it is left where it is")
        return path

    def refuse_links(self) -> None:
        """Make sure that the folders in which files are written and deleted lie in this one."""
        for path in (self.checkpoints, self.data, self.unstable):
            if path.is_symlink():
                raise UserError(f"{path} is a symbolic link: it is not written to")

    def result_file(self, stage: str) -> Path:
        """Return the path of a stage's result."""
        if stage not in STAGES:
            raise unknown("stage", stage, STAGES)
        return self.path / f"{stage}.json"

    def write_result(self, stage: str, result: dict[str, Any]) -> None:
        """Store the result of a stage: the last thing it does, and the only proof that it ended."""
        content = {
            "stage": stage,
            "signature": self.identity.signature,
            "written": timestamp(),
            "result": result,
        }
        write_sealed(self.result_file(stage), content)

    def result(self, stage: str, events: "Events | None" = None) -> dict[str, Any] | None:
        """Return the result of a stage, keys as text; an unsound file counts as absent.

        That is said in a warning and, by a writer who gives its events, recorded among them.
        """
        path = self.result_file(stage)
        if not path.exists():
            return None
        try:
            content = read_sealed(path)
            found = content.get("stage"), content.get("signature")
            if found != (stage, self.identity.signature):
                raise UserError(f"{path} is damaged, or of another run")
        except UserError as error:
            log.warning("%s; it counts as absent", error)
            if events is not None:
                events.append("corrupt_result", stage=stage, reason=str(error))
            return None
        return content["result"]

    def check_final(self, iteration: int) -> None:
        """Refuse a checkpoint of a run that is done, unless it is the final one."""
        done = self.result(self.kind.stage)
        if done is not None and iteration != done["iterations"]:
            raise UserError(
                f"{self.path} has lost its final checkpoint (there is one of iteration {iteration} "
                f"of {done['iterations']}): delete its {self.kind.stage}.json and launch it again"
            )


def _make_folder(path: Path) -> bool:
    """Make a run's folder; False if it was there."""
    try:
        try:
            path.mkdir()
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir()
    except FileExistsError:
        return False
    except OSError as error:
        raise UserError(f"cannot create the run folder {path}: {error.strerror}") from None
    return True


def _card(config: dict[str, Any], own: Mapping[str, bytes]) -> Card | None:
    """Return what the encoder that a run trains says of itself, s2m's or one of its own."""
    if kind_of(config) is not TEACHER:
        return None
    encoder = config.get("encoder")
    name = str(encoder.get("name", "")) if isinstance(encoder, dict) else str(encoder)
    if (file := f"encoder/{name}.py") in own:
        return parse_card(own[file], name)
    return cards().get(name)


def saved(folder: RunFolder) -> list[Path]:
    """Return the checkpoints of a run, oldest first, without looking into them."""
    found = folder.checkpoints.glob("*.pt")
    return sorted(path for path in found if CHECKPOINT.fullmatch(path.name))


def unfinished(
    folder: RunFolder, last: str = "evaluate", events: "Events | None" = None
) -> list[str]:
    """Return the stages of a run up to `last` that have no sound result yet, in their order.

    A writer who gives its events has unsound results recorded among them.
    """
    due = (folder.kind.stage, "evaluate") if last == "evaluate" else (last,)
    return [stage for stage in due if folder.result(stage, events) is None]


def find_runs(root: Path | str) -> Iterator[RunFolder]:
    """Yield the run folders at or up to two levels below `root`, sorted by path.

    One that has lost its `run.json` is among them, and so is any folder that this user cannot read:
    it shall be told, not vanish.
    """
    yield from (RunFolder(path) for path in run_paths(Path(root)))


def runs_at(paths: Iterable[Path | str]) -> list[RunFolder]:
    """Return the run folders at or below each of some paths, every one once."""
    found = {}
    for path in paths:
        runs = list(find_runs(locate(path)))
        if not runs:
            raise UserError(f"{path} is not a run folder and holds none")
        found.update({run.path.resolve(): run for run in runs})
    return list(found.values())
