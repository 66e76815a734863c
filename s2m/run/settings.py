"""Settings of runs by dotted names: in which of them runs differ, and how that reads."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from s2m.config.run import RunCfg
from s2m.console.text import excerpt

SYMBOLS = {"ppo.gamma": "γ", "ppo.lam": "λ", "ppo.clip": "ε", "ppo.learning_rate": "lr"}
"""What the field calls a setting; of others the last part of the name is enough."""
PRESETS = {
    "budget.name": ("budget", "ppo", "curriculum", "encoder", "task", "evaluate"),
    "distill.name": ("distill", "evaluate"),
    "sim.name": ("sim",),
    "encoder.name": ("encoder",),
}
"""Choices that set others, with the sections in which they may; known by their value alone."""
BARE = (*PRESETS, "experiment")
"""Settings whose value says enough."""

Settings = Mapping[str, Any]
"""Values by dotted names."""


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting by its dotted name."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def same(value: Any) -> Any:
    """Return a value that is equal, and can be counted, for equal settings: 1 and 1.0 are."""
    return str(value) if isinstance(value, list | dict) or value is None else value


def differing(found: Sequence[Settings]) -> list[str]:
    """Return the names in which some settings differ, presets first, without what they entail.

    Where a budget, a simulator or an encoder differs, so does much that it sets: only what also
    differs between runs of the same ones is named beside it.
    """
    found = list({id(one): one for one in found}.values())  # thousands of runs share a few
    names = sorted({name for one in found for name in one})
    values = {name: [same(one.get(name)) for one in found] for name in names}
    apart = [name for name in names if len(set(values[name])) > 1]
    presets = [name for name in PRESETS if name in apart]

    def entailed(name: str) -> bool:
        section = name.partition(".")[0]
        by = [values[preset] for preset in presets if section in PRESETS[preset]]
        chosen = list(zip(*by, strict=True))
        return bool(by) and len(set(zip(chosen, values[name], strict=True))) == len(set(chosen))

    return presets + [name for name in apart if name not in presets and not entailed(name)]


def telling(found: Sequence[Settings], names: Sequence[str]) -> list[str]:
    """Return those of some names that tell more settings apart than the ones before them do.

    A group file sets several values, and one of them stands for all.
    """
    found = list({id(one): one for one in found}.values())
    kept, parts = [], [()] * len(found)
    for name in names:
        finer = [(*part, same(one.get(name))) for part, one in zip(parts, found, strict=True)]
        if len(set(finer)) > len(set(parts)):
            kept, parts = [*kept, name], finer
    return kept


def labels(names: Sequence[str]) -> dict[str, str]:
    """Return what stands before each value: `γ=`, a word that means one thing here."""
    return _labels(tuple(names))


@cache
def _labels(names: tuple[str, ...]) -> dict[str, str]:
    lasts = Counter(name.rpartition(".")[2] for name in names)
    sections = {field.name for field in fields(RunCfg)}
    found = {}
    for name in names:
        last = name.rpartition(".")[2]
        label = SYMBOLS.get(name) or (last if lasts[last] == 1 and last not in sections else name)
        found[name] = "" if name in BARE else f"{label}="
    return found


def show(value: Any, longest: int = 40) -> str:
    """Return the value of a setting as it is typed, in at most so many characters."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        text = "[" + ",".join(show(item) for item in value) + "]"
    else:
        text = excerpt(str(value))
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
