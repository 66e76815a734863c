"""Where groups, sweeps and encoders are looked up: the repository's, then folders of one's own.

A folder given as `--config-dir DIR` is laid out as conf/: DIR/ppo/slow.yaml is ppo=slow,
DIR/encoder/mine.yaml beside DIR/encoder/mine.py an encoder, DIR/sweeps/grid.yaml is +sweep=grid.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from s2m.config.encoder import cards, read_card
from s2m.config.overrides import quoted
from s2m.console.errors import UserError

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent
"""The repository, or the folder in which s2m is installed."""
# An installed package carries them inside (setup.py).
CONF = next((p for p in (ROOT / "conf", PACKAGE / "conf") if (p / "config.yaml").is_file()),
            ROOT / "conf")  # fmt: skip
SWEEPS = CONF.parent / "sweeps"
FLAG = "--config-dir"


@dataclass(frozen=True)
class Search:
    """The folders that a command looks into."""

    own: tuple[Path, ...] = ()
    """The user's, besides the repository's; of files of one name the first counts, as in Hydra."""

    @property
    def groups(self) -> list[str]:
        """The groups of the repository."""
        if not CONF.is_dir():
            raise UserError(f"{CONF} is missing: install s2m again, or pip install -e . in a clone")
        return sorted(path.name for path in CONF.iterdir() if path.is_dir())

    def options(self, group: str) -> dict[str, Path]:
        """Return the files of a group by name."""
        folders = [root / group for root in (CONF, *self.own[::-1])]
        return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}

    def sweeps(self) -> dict[str, Path]:
        """Return the named sweeps."""
        folders = [SWEEPS, *(root / "sweeps" for root in self.own[::-1])]
        return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}

    def encoder(self, name: str) -> Path | None:
        """Return the file of an encoder of one's own."""
        found = (root / "encoder" / f"{name}.py" for root in self.own)
        return next((path for path in found if path.is_file()), None)

    def used(self, words: Iterable[str], encoder: str = "") -> dict[str, bytes]:
        """Return the user's own files behind a command's words, by their place in the folder."""
        found: dict[str, bytes] = {}
        if file := self.encoder(encoder):
            found[f"encoder/{file.name}"] = file.read_bytes()
        choices = [tuple(word.split("=", 1)) for word in words if "=" in word]
        while choices:
            group, name = choices.pop()
            path = self.options(group).get(name) if group in self.groups else None
            place = f"{group}/{name}.yaml"
            if path is not None and path.parent.parent != CONF and place not in found:
                found[place] = path.read_bytes()
                choices += _defaults(found[place], group)
        return found

    def words(self) -> list[str]:
        """Return what Hydra must be told to look there, too."""
        places = ",".join(quoted(f"file://{root}") for root in self.own)
        return [f"hydra.searchpath=[{places}]"] if self.own else []


REPOSITORY = Search()
"""Nothing of one's own."""


def take_search(words: list[str]) -> tuple[Search, list[str]]:
    """Return the folders that a command names by --config-dir, and its other words."""
    own, rest, left = [], [], iter(words)
    for word in left:
        flag, given, value = word.partition("=")
        if flag != FLAG:
            rest.append(word)
            continue
        folder = value if given else next(left, "")
        if not folder:
            raise UserError(f"{FLAG} needs a folder")
        own.append(Path(folder))
    return search_in(own), rest


def search_in(folders: Iterable[Path]) -> Search:
    """Return the repository's folders and the user's, which are checked."""
    search = Search(tuple(folder.resolve() for folder in folders))
    for root in search.own:
        _check(root, search)
    return search


def _check(root: Path, search: Search) -> None:
    """Refuse a folder without anything of use, and names that the repository has."""
    if not root.is_dir():
        raise UserError(f"{FLAG} {root}: not a directory")
    known = [*search.groups, "sweeps"]
    if not any((root / name).is_dir() for name in known):
        raise UserError(f"{FLAG} {root}: has none of the folders {', '.join(known)}")
    for group in search.groups:
        for path in (root / group).glob("*.yaml"):
            if (CONF / group / path.name).exists():
                raise UserError(
                    f"{path}: {group}={path.stem} is the repository's: choose another name"
                )
    for path in (root / "sweeps").glob("*.yaml"):
        if (SWEEPS / path.name).exists():
            raise UserError(f"{path}: +sweep={path.stem} is the repository's: choose another name")
    for path in (root / "encoder").glob("*.py"):
        if read_card(path).name in cards():
            raise UserError(f"{path}: the encoder {path.stem} is s2m's own: choose another name")


def _defaults(text: bytes, group: str) -> list[tuple[str, ...]]:
    """Return the groups and names that a group file chooses in its turn."""
    chosen = []
    for item in (yaml.safe_load(text) or {}).get("defaults", []):
        for key, name in item.items() if isinstance(item, dict) else [(group, item)]:
            chosen.append((str(key).removeprefix("override ").strip("/"), str(name)))
    return chosen


def digest(path: Path) -> str:
    """Return the SHA-256 of an encoder's file, which is part of its runs' identity."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
