"""From `key=value` words to a checked, typed config: Hydra composes, dataclasses decide."""

import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from s2m.config.budget import BudgetCfg
from s2m.config.cluster import CLUSTERS
from s2m.config.curriculum import CurriculumCfg
from s2m.config.distill import DistillCfg, StudentCfg
from s2m.config.encoder import EncoderCfg
from s2m.config.evaluate import EvaluateCfg, EvaluationCfg
from s2m.config.fields import validate
from s2m.config.overrides import unreadable
from s2m.config.ppo import PpoCfg
from s2m.config.replay import ReplayCfg
from s2m.config.run import RunCfg
from s2m.config.sim import SIMULATORS
from s2m.config.task import TaskCfg
from s2m.config.tracking import TrackingCfg
from s2m.console.errors import UserError, unknown

CONF = Path(__file__).resolve().parents[2] / "conf"
GROUPS = [path.name for path in CONF.iterdir() if path.is_dir()]
T = TypeVar("T")

_store = ConfigStore.instance()
_store.store(group="task", name="schema", node=TaskCfg)
OPEN = {"sim": SIMULATORS, "cluster": CLUSTERS}
"""Groups that bring the settings of one of several schemas."""
for _group, _schemas in OPEN.items():
    for _name, _schema in _schemas.items():
        _store.store(group=_group, name=f"{_name}_schema", node=_schema)
for _group, _schema in {
    "encoder": EncoderCfg,
    "curriculum": CurriculumCfg,
    "budget": BudgetCfg,
    "ppo": PpoCfg,
    "evaluate": EvaluationCfg,
    "distill": DistillCfg,
    "tracking": TrackingCfg,
}.items():
    _store.store(group=_group, name="schema", node=_schema)
_store.store(name="run_schema", node=RunCfg(sim=None, cluster=None))
_store.store(name="student_schema", node=StudentCfg(sim=None, cluster=None))
_store.store(name="replay_schema", node=ReplayCfg(sim=None))
_store.store(name="evaluate_schema", node=EvaluateCfg(sim=None))


def load(schema: type[T], name: str, words: list[str]) -> T:
    """Compose conf/<name>.yaml with the user's words and return a checked `schema` object."""
    for word in words:
        # Hydra would add or drop a setting, or set its own: the run would not be what was meant.
        if word.startswith(("+", "~")):
            raise UserError(f"cannot use '{word}': write setting=value (+ is for +sweep only)")
        key = word.split("=")[0]
        if not key:
            raise unreadable(word)
        if key.split(".")[0] == "hydra":
            raise unknown("setting", key, [line.split("=")[0].strip() for line in describe(schema)])
        _require_name(word)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            composed = compose(name, overrides=words)
            _require_schemas(composed, words)
            typed = OmegaConf.to_object(composed)
        except MissingConfigException as error:
            raise _missing(error) from None
        except HydraException as error:
            raise _refused(error, name, words) from None
        except OmegaConfBaseException as error:
            raise _mistyped(error) from None
        except yaml.YAMLError as error:
            raise broken_yaml(error) from None
        except ValueError as error:  # a defaults list that is none, or bytes that are no text
            raise UserError(f"cannot compose '{' '.join(words)}': {_first_line(error)}") from None
    assert isinstance(typed, schema)
    validate(typed)
    return typed


def from_dict(schema: type[T], values: dict[str, Any]) -> T:
    """Return a checked `schema` object from a resolved config, e.g. that of a run folder."""
    _require_resolved(values)
    base = OmegaConf.structured(schema)
    for group, schemas in OPEN.items():
        if group in values:
            name = values[group].get("name", values[group].get("kind"))
            if name not in schemas:
                raise unknown(group, name, schemas)
            base[group] = OmegaConf.structured(schemas[name])
    try:
        typed = OmegaConf.to_object(OmegaConf.merge(base, values))
    except OmegaConfBaseException as error:
        raise _mistyped(error) from None
    assert isinstance(typed, schema)
    validate(typed)
    return typed


def _require_resolved(value: Any, name: str = "the config") -> None:
    """Refuse what OmegaConf would resolve: ${oc.env:...} reads secrets in the environment."""
    if isinstance(value, dict):
        for key, item in value.items():
            _require_resolved(item, str(key))
    elif isinstance(value, list):
        for item in value:
            _require_resolved(item, name)
    elif isinstance(value, str) and "${" in value:
        raise UserError(f"{name} = {value[:40]}: a resolved config has no ${{...}}")


def _require_schemas(root: DictConfig, words: list[str]) -> None:
    """Refuse a file of a group without a schema: its values would be checked by nobody."""
    for group, schemas in OPEN.items():
        if group not in root or is_dataclass(OmegaConf.get_type(root, group)):
            continue
        given = {key: name for key, _, name in (word.partition("=") for word in words)}
        lines = " or ".join(f"'defaults: [{name}_schema]'" for name in schemas)
        raise UserError(
            f"conf/{group}/{given.get(group, 'NAME')}.yaml does not say which settings it has: "
            f"begin it with {lines}, as conf/cluster/example.yaml does"
        )


def _require_name(word: str) -> None:
    """Refuse what is no file of a group: of a list Hydra would take the last, a schema as it is."""
    group, _, option = word.partition("=")
    if group not in GROUPS:
        return
    try:
        value = OverridesParser.create().parse_override(word).value()
    except OverrideParseException:
        return  # compose will tell
    names = sorted(path.stem for path in (CONF / group).glob("*.yaml"))
    if value not in names:
        raise unknown(group, option, names)


def _missing(error: MissingConfigException) -> UserError:
    found = re.search(r"Could not find '(?:([^'/]+)/)?([^']+)'", str(error))
    if found and error.options:
        options = [option for option in error.options if not option.endswith("schema")]
        return unknown(found[1] or "config", found[2], options)
    return UserError(_first_line(error))


def broken_yaml(error: yaml.YAMLError) -> UserError:
    """Return the error for a file that is no YAML: where, and what the parser says."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark, start = error.problem_mark, error.context_mark
        began = f"{error.context} from line {start.line + 1}, " if start else ""
        return UserError(f"{mark.name}, line {mark.line + 1}: is no YAML: {began}{error.problem}")
    return UserError(f"a file is no YAML: {' '.join(str(error).split())}")


def _refused(error: HydraException, name: str, words: list[str]) -> UserError:
    cause = error.__cause__
    inside = re.match(r"In '([^']+)': \w+ raised while composing config:", str(error))
    if inside and isinstance(error.__context__, OmegaConfBaseException):
        return UserError(f"conf/{inside[1]}.yaml: {_wrong_in_file(error.__context__)}")
    if isinstance(cause, ConfigKeyError | ConfigAttributeError):
        groups = [word for word in words if word.split("=")[0] in GROUPS]
        root = compose(name, overrides=groups)
        _require_schemas(root, groups)
        return _unknown_setting(str(cause.full_key), root)
    if "is not a ListConfig" in str(cause):
        key, _, value = _first_line(error).removeprefix("Error merging override ").partition("=")
        return UserError(f"{key} = {value}: allowed is a list, as in {key}=[{value}]")
    if isinstance(cause, OmegaConfBaseException):
        return _mistyped(cause)
    if foreign := re.match(r"Could not override '(\w+)'. No match in the defaults", str(error)):
        if foreign[1] == "distill":
            return UserError("distill belongs to students: python -m s2m.distill --help")
        return _unknown_setting(foreign[1], compose(name))
    if isinstance(error, OverrideParseException):
        return unreadable(error.override)
    if several := re.match(r"Ambiguous value for argument '(.*)'", str(error)):
        return unreadable(several[1])
    return UserError(_first_line(error))


def _wrong_in_file(error: OmegaConfBaseException) -> UserError:
    key = str(error.full_key)
    if isinstance(error, ConfigKeyError | ConfigAttributeError) and is_dataclass(error.object_type):
        prefix = key[: key.rfind(".") + 1]
        names = [f"{prefix}{item.name}" for item in fields(error.object_type)]
        return unknown("setting", key, names)
    if "is not a ListConfig" in str(error):
        return UserError(f"{key}: allowed is a list, as in [a, b]")
    return _mistyped(error)


def _unknown_setting(key: str, root: DictConfig) -> UserError:
    *path, last = key.split(".")
    parent = OmegaConf.select(root, ".".join(path)) if path else root
    prefix = "".join(f"{part}." for part in path)
    return unknown("setting", f"{prefix}{last}", [f"{prefix}{name}" for name in parent])


_ALLOWED = {
    "is not a valid bool": "true and false",
    "could not be converted to Integer": "whole numbers",
    "could not be converted to Float": "numbers",
}
"""What the words of OmegaConf's complaints mean."""


def _mistyped(error: OmegaConfBaseException) -> UserError:
    key = getattr(error, "full_key", None)
    found = re.match(r"Value '(.*?)' (?:of type '\w+' )?(.*?)(?: \(type|$)", _first_line(error))
    if found and found[2] in _ALLOWED:
        return UserError(f"{key} = {found[1]}: allowed are {_ALLOWED[found[2]]}")
    if key and "is not a subclass of" in str(error):
        return UserError(f"{key} has settings of its own: write {key}.NAME=VALUE")
    return UserError(f"{key}: {_first_line(error)}" if key else _first_line(error))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def describe(schema: type, prefix: str = "") -> list[str]:
    """List all settings of a schema, one line each, for a command's --help."""
    lines = []
    example = schema()
    for item in fields(schema):
        value: Any = getattr(example, item.name)
        if is_dataclass(value):
            lines += describe(type(value), f"{prefix}{item.name}.")
        else:
            name = f"{prefix}{item.name}={_plain(value)}"
            lines.append(f"  {name:<44} {item.metadata.get('meaning', '')}")
    return lines


def _plain(value: Any) -> str:
    return str(value).replace(" ", "") if not isinstance(value, bool) else str(value).lower()
