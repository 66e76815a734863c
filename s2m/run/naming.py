"""Names that tell runs apart: by the settings that differ, by a hash where nothing else does.

One rule for plans, pages, legends and W&B: `pfds γ=0.98 s40` is a run, `pfds γ=0.98` its row.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from s2m.run.folder import RunFolder, find_runs
from s2m.run.identity import decisive, seed, variant
from s2m.run.kind import STUDENT, TEACHER, kind_of
from s2m.run.settings import Settings, differing, flat, labels, show, telling

MOST = 4
"""Settings that a name shows; where more differ, those that tell runs apart, then a hash."""
LONGEST = 24
"""Characters of a value."""
TAUGHT_BY = "taught_by"
_ROW = ("agent", "encoder.name", "encoder.source", "permute", "seed")
"""Settings that variant and seed already say."""


@dataclass(frozen=True)
class Name:
    """What people call a run."""

    variant: str
    settings: tuple[str, ...]
    """Those that differ among the runs at hand: `γ=0.98`."""
    seed: int
    mark: str = ""
    """The start of its signature, where nothing else tells."""

    @property
    def encoder(self) -> str:
        """The variant, whether slots are permuted or not."""
        return self.variant.removesuffix("_off")

    @property
    def is_off(self) -> bool:
        """Whether slots are not permuted."""
        return self.variant != self.encoder

    @property
    def row(self) -> str:
        """What runs that differ in the seed only have in common."""
        return " ".join([self.variant, *self.settings])

    def __str__(self) -> str:
        """Return the whole name."""
        return " ".join([self.row, f"s{self.seed}", *([self.mark] if self.mark else [])])


def told(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the result of a run besides variant and seed, and what presets it has."""
    budget = kind_of(config).budget
    found = dict(flat(decisive(config)))
    found[f"{budget}.name"] = config[budget].get("name")
    if teacher := config.get(TAUGHT_BY):
        found = {name: v for name, v in found.items() if not name.startswith(f"{TAUGHT_BY}.")}
        found[TAUGHT_BY] = f"{teacher.get('variant')}-s{teacher.get('seed')}"
    return {name: value for name, value in found.items() if name not in _ROW}


@dataclass(frozen=True)
class Facts:
    """What of a run decides its name."""

    variant: str
    seed: int
    student: bool
    settings: Settings
    """What `told` gives of its config; many runs share one."""

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "Facts":
        """Read them from a config."""
        own = dict(config)
        return cls(variant(own), seed(own), kind_of(own) is STUDENT, told(own))


def texts(facts: Facts, names: Sequence[str]) -> tuple[str, ...]:
    """Write the named settings of a run: `γ=0.98`; a later-added one it lacks has its default."""
    short = labels(names) | ({TAUGHT_BY: "of "} if TAUGHT_BY in names else {})
    default = _defaults(facts.student)
    return tuple(
        short[name] + show(facts.settings.get(name, default.get(name)), LONGEST) for name in names
    )


def value_of(config: Mapping[str, Any], name: str) -> Any:
    """Return a setting by its dotted name; of one that came later than the run, its default."""
    own = told(config) | dict(flat(config))
    return own.get(name, _defaults(kind_of(config) is STUDENT).get(name))


@cache
def _defaults(student: bool) -> dict[str, Any]:
    schema = (STUDENT if student else TEACHER).schema
    return dict(flat(asdict(schema())))


def among_siblings(folder: RunFolder) -> Name:
    """Return the name of a run among those of its experiment."""
    configs = {}
    for other in find_runs(folder.path.resolve().parent):
        with suppress(Exception):  # whatever is wrong with one folder, the others have names
            configs[other.path.name] = other.config()
    name = folder.path.resolve().name
    return tell_apart(configs | {name: folder.config()})[name]


def tell_apart(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, Name]:
    """Return the name of each run at hand by its folder's name, which ends with its hash."""
    return name_all({folder: Facts.of(config) for folder, config in configs.items()})


def name_all(runs: Mapping[str, Facts]) -> dict[str, Name]:
    """Return the name of each run at hand by its folder's name.

    Teachers and students are told apart among themselves: they have other settings.
    """
    found: dict[str, Name] = {}
    for student in (False, True):
        some = {folder: facts for folder, facts in runs.items() if facts.student is student}
        settings = [facts.settings for facts in some.values()]
        differ = differing(settings)
        if len(differ) > MOST:
            differ = telling(settings, differ)[:MOST]
        for folder, facts in some.items():
            found[folder] = Name(facts.variant, texts(facts, differ), facts.seed)
    counts = Counter(map(str, found.values()))
    return {
        folder: Name(name.variant, name.settings, name.seed, folder.rpartition("-")[2])
        if counts[str(name)] > 1
        else name
        for folder, name in found.items()
    }
