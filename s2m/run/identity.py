"""Who a run is: the signature of its config, and the folder name made from it."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

from s2m.config.run import ACTING, LEARNER
from s2m.config.sim import SIMULATORS
from s2m.console.errors import UserError
from s2m.run.files import sha256
from s2m.run.kind import STUDENT, TACTSET, kind_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_ENCODER = re.compile(r"[a-z0-9][a-z0-9_]{0,39}")


def signature(config: dict[str, Any]) -> str:
    """Return the SHA-256 of what decides the result of a resolved config, as 64 hex digits.

    The order of keys is of no account, and numbers that are equal count as the same: 1 and 1.0
    differ in YAML by a typing habit, not by meaning. Booleans are not numbers.
    """
    kept = _canonical(decisive(config), "config")
    text = json.dumps(kept, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode())


def decisive(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the result of a run.

    Its schema says which settings cannot (`decides=False`), and which were added later (`since`):
    these are left out at their default, so that runs keep their names when the schema grows.
    """
    return _decisive(config, kind_of(config).schema())


def _decisive(values: Mapping[str, Any], defaults: Any) -> dict[str, Any]:
    rules = {item.name: item.metadata for item in fields(defaults)}
    kept = {}
    for key, value in values.items():
        rule = rules.get(key, {})
        if not rule.get("decides", True):
            continue
        if rule.get("since") and value == _plain(getattr(defaults, key)):
            continue
        if isinstance(value, dict) and key in rules:
            section = getattr(defaults, key)
            if key == "sim":
                section = SIMULATORS.get(str(value.get("name")), dict)()
            if is_dataclass(section):
                value = _decisive(value, section)
        kept[key] = value
    return kept


def _plain(default: Any) -> Any:
    return asdict(default) if is_dataclass(default) and not isinstance(default, type) else default


def _canonical(value: Any, name: str) -> Any:
    if type(value) is dict:
        for key in value:
            if type(key) is not str:
                raise UserError(f"{name} has the key {key!r}: keys of a config must be text")
        return {key: _canonical(item, f"{name}.{key}") for key, item in value.items()}
    if type(value) in (list, tuple):
        return [_canonical(item, f"{name}[{i}]") for i, item in enumerate(value)]
    if type(value) is float:
        if math.isnan(value):
            raise UserError(f"{name} = nan: a config value must be a number")
        return int(value) if value.is_integer() else value
    if value is None or type(value) in (bool, int, str):
        return value
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    raise TypeError(f"{name} is a {kind}: a resolved config has only dicts, lists and plain values")


def variant(config: dict[str, Any]) -> str:
    """Return a run's row of the tables: `<encoder>`, `<encoder>_off`, a control or TACTSET."""
    if kind_of(config) is STUDENT:
        return TACTSET
    agent = config.get("agent", LEARNER)
    if type(agent) is not str or not _ENCODER.fullmatch(agent):
        raise UserError(f"agent = {agent!r}: allowed are up to 40 of a-z, 0-9 and _")
    if agent != LEARNER:
        return agent
    encoder = _required(config, "encoder")
    name = _required(encoder, "name", "encoder.") if isinstance(encoder, dict) else encoder
    permute = _required(config, "permute")
    if type(name) is not str or not _ENCODER.fullmatch(name) or name.endswith("_off"):
        raise UserError(
            f"encoder name {name!r}: allowed are up to 40 of a-z, 0-9 and _, not ending in _off"
        )
    if name in (*ACTING, TACTSET):
        raise UserError(f"encoder name {name!r}: belongs to a control or student: choose another")
    if type(permute) is not bool:
        raise UserError(f"permute = {permute!r}: must be true or false")
    return name if permute else f"{name}_off"


def seed(config: dict[str, Any]) -> int:
    """Return the seed of a run."""
    value = _required(config, "seed")
    if type(value) is not int or value < 0:
        raise UserError(f"seed = {value!r}: must be an integer from 0")
    return value


def folder_name(config: dict[str, Any]) -> str:
    """Return `<variant>-s<seed>-<first 8 digits of the signature>`."""
    return f"{variant(config)}-s{seed(config)}-{signature(config)[:8]}"


def run_path(root: Path, experiment: str, config: dict[str, Any]) -> Path:
    """Return where a run of an experiment lives: `<root>/<experiment>/<folder name>`."""
    check_experiment(experiment)
    return root / experiment / folder_name(config)


def check_experiment(experiment: str) -> None:
    """Refuse a name that is no plain name of a folder."""
    if not _NAME.fullmatch(experiment):
        raise UserError(
            f"experiment = {experiment!r}: allowed are up to 100 of A-Z, a-z, 0-9, _, . and -, "
            "starting with a letter or digit"
        )


def _required(config: dict[str, Any], key: str, where: str = "") -> Any:
    if key not in config:
        raise UserError(f"the config has no {where}{key}, which names the run folder")
    return config[key]
