"""What a shell may complete after `s2m COMMAND`: settings, and the values of one."""

from dataclasses import fields, is_dataclass
from typing import Any

from s2m.config.cluster import SlurmCfg
from s2m.config.compose import CONFIGS, settings
from s2m.config.distill import StudentCfg
from s2m.config.evaluate import EvaluateCfg
from s2m.config.replay import ReplayCfg
from s2m.config.run import RunCfg
from s2m.config.search import REPOSITORY, Search
from s2m.config.sim import IsaacLabCfg, WarpCfg

SCHEMAS = {
    "launch": RunCfg, "bench": RunCfg, "distill": StudentCfg, "evaluate": EvaluateCfg,
    "replay": ReplayCfg,
}  # fmt: skip
"""Commands whose words are settings."""
OTHERS = {"cluster.": SlurmCfg, "sim.": (WarpCfg, IsaacLabCfg)}
"""Settings that only some choices of a group have."""


def candidates(command: str, begun: str, search: Search = REPOSITORY) -> list[str]:
    """Return the words that a begun word may become; none for a command that takes no settings."""
    if command not in SCHEMAS:
        return []
    schema = SCHEMAS[command]
    known = _settings(schema)
    groups = {group: sorted(search.options(group)) for group in _groups(schema, search)}
    if command == "launch":
        groups["+sweep"] = sorted(search.sweeps())
    name, given, value = begun.partition("=")
    if given:
        # Of a sweep as encoder=pfds,dshc the last value is the begun one.
        done, comma, last = value.rpartition(",")
        values = groups.get(name) or _values(*known.get(name, (None, None)))
        return [f"{name}={done}{comma}{word}" for word in values if word.startswith(last)]
    names = sorted({*groups, *known})
    found = {_next_part(item, begun) for item in names if item.startswith(begun)}
    if len(found) == 1 and (only := found.copy().pop()).endswith(".") and only != begun:
        return candidates(command, only, search)
    return sorted(found)


def _next_part(name: str, begun: str) -> str:
    """Return a name up to the next dot behind what is there."""
    end = name.find(".", len(begun))
    return f"{name}=" if end < 0 else name[: end + 1]


def _groups(schema: type, search: Search) -> list[str]:
    names = {item.name for item in fields(schema)} | {"size"}
    return [group for group in search.groups if group in names]


def _settings(schema: type) -> dict[str, tuple[Any, Any]]:
    """Return the default and the allowed values of every setting, by its dotted name."""
    assert schema in CONFIGS
    cfg = schema()
    found = {name: (value, _choices(cfg, name)) for name, value, _ in settings(cfg)}
    for prefix, others in OTHERS.items():
        if is_dataclass(getattr(cfg, prefix.rstrip("."), None)):
            for other in others if isinstance(others, tuple) else (others,):
                more = other()
                for name, value, _ in settings(more):
                    found.setdefault(prefix + name, (value, _choices(more, name)))
    return found


def _choices(cfg: Any, name: str) -> Any:
    *path, last = name.split(".")
    for part in path:
        cfg = getattr(cfg, part)
    return next(item.metadata.get("choices") for item in fields(cfg) if item.name == last)


def _values(default: Any, choices: Any) -> list[str]:
    if choices is not None:
        return list(choices)
    if isinstance(default, bool):
        return ["true", "false"]
    return [] if default in (None, "") else [str(default).replace(" ", "")]
