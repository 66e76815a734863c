"""From `key=value` words to a checked, typed config: Hydra composes files, dataclasses decide.

Hydra is given the choices of groups only. Single values are set here, where the dataclass of each
is known: what is wrong with one can then be said without reading Hydra's messages.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_args, get_origin

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import ConfigCompositionException, HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from s2m.config.cluster import CLUSTERS
from s2m.config.distill import StudentCfg
from s2m.config.encoder import EncoderCfg
from s2m.config.evaluate import EvaluateCfg
from s2m.config.fields import validate
from s2m.config.overrides import unreadable
from s2m.config.replay import ReplayCfg
from s2m.config.run import RunCfg
from s2m.config.search import CONF, REPOSITORY, Search, digest
from s2m.config.sim import SIMULATORS
from s2m.console.errors import UserError, unknown

T = TypeVar("T")

OPEN = {"sim": SIMULATORS, "cluster": CLUSTERS}
"""Groups that bring the settings of one of several schemas; files of the others only set values."""
CONFIGS = {RunCfg: "config", StudentCfg: "distill", ReplayCfg: "replay", EvaluateCfg: "evaluate"}
"""The file of conf/ that composes each schema."""
_store = ConfigStore.instance()
for _group, _schemas in OPEN.items():
    for _name, _schema in _schemas.items():
        _store.store(group=_group, name=f"{_name}_schema", node=_schema)
for _schema, _name in CONFIGS.items():
    _open = {item.name: None for item in fields(_schema) if item.name in OPEN}
    _store.store(name=f"{_name}_schema", node=_schema(**_open))


def load(schema: type[T], words: list[str], search: Search = REPOSITORY) -> T:
    """Compose the config of a schema with the user's words and return it checked."""
    root = _compose(schema, words, search)
    try:
        typed = OmegaConf.to_object(root)
    except OmegaConfBaseException as error:
        raise _mistyped(error) from None
    assert isinstance(typed, schema)
    encoder = getattr(typed, "encoder", None)
    if isinstance(encoder, EncoderCfg) and (file := search.encoder(encoder.name)):
        encoder.source = digest(file)
    validate(typed)
    return typed


def chosen(schema: type, words: list[str], search: Search = REPOSITORY) -> dict[str, str]:
    """Return which file of each group a command's words choose, by themselves or by a budget."""
    root = _compose(schema, words, search, hydra=True)
    choices = OmegaConf.to_container(root.hydra.runtime.choices)
    assert isinstance(choices, dict)
    return {str(group): str(name) for group, name in choices.items() if "/" not in str(group)}


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


def _compose(schema: type, words: list[str], search: Search, hydra: bool = False) -> DictConfig:
    """Let Hydra compose the files that are chosen, then set the single values."""
    choices, values = [], []
    for word in words:
        override = _parse(word)
        group = override.key_or_group
        if group not in search.groups:
            values.append(override)
            continue
        if group not in _names(schema) and group != "size":
            if group == "distill":
                raise UserError("distill belongs to students: python -m s2m.distill --help")
            raise unknown("setting", group, _names(schema))
        if str(override.value()) not in search.options(group):
            raise unknown(group, word.partition("=")[2], search.options(group))
        choices.append(word)
    with initialize_config_dir(str(CONF), version_base="1.3"):
        try:
            root = compose(CONFIGS[schema], [*search.words(), *choices], return_hydra_config=hydra)
        except ConfigCompositionException as error:
            raise _wrong_file(error, search) from None
        except yaml.YAMLError as error:
            raise broken_yaml(error) from None
        except (HydraException, ValueError) as error:  # defaults that are no list, no text ...
            line = f"cannot compose '{' '.join(words)}': {_first_line(error)}"
            raise UserError(line) from None
    _require_schemas(root, choices, search)
    for override in values:
        _set(root, str(override.key_or_group), override.value(), override.input_line or "")
    return root


def _parse(word: str) -> Override:
    # Hydra would add or drop a setting, or set its own: the run would not be what was meant.
    if word.startswith(("+", "~")):
        raise UserError(f"cannot use '{word}': write setting=value (+ is for +sweep only)")
    key, _, value = word.partition("=")
    if not key:
        raise unreadable(word)
    if key in ("hydra/launcher", "hydra/sweeper"):
        raise UserError(
            f"'{word}': this launcher plans and submits by itself; cluster=local runs here, "
            "cluster=slurm submits jobs"
        )
    try:
        override = OverridesParser.create().parse_override(word)
    except HydraException:
        raise unreadable(word) from None
    if override.is_sweep_override() or override.value() is None and not value:
        raise unreadable(word)
    return override


def _names(schema: type) -> list[str]:
    return [item.name for item in fields(schema)]


def _set(root: DictConfig, key: str, value: Any, line: str) -> None:
    """Set one value of a composed config, or say what is wrong with it.

    Of a setting that is unknown, those beside it are named, as far as its group is known.
    """
    *path, last = key.split(".")
    parent, prefix = root, ""
    for part in path:
        if part not in parent or not isinstance(parent[part], DictConfig):
            break
        parent, prefix = parent[part], f"{prefix}{part}."
    if prefix + last != key or last not in parent or last == "source":
        names = [f"{prefix}{name}" for name in parent if name != "source"]
        raise unknown("setting", key, names, _meant(key, _leaves(root)))
    if isinstance(parent[last], DictConfig):
        raise UserError(f"{key} has settings of its own: write {key}.NAME=VALUE")
    try:
        OmegaConf.update(root, key, value, merge=False)
    except OmegaConfBaseException as error:
        raise _mistyped(error, line.partition("=")[2]) from None


def _leaves(parent: DictConfig, prefix: str = "") -> Iterator[str]:
    """Yield the dotted names of all single settings."""
    for name in parent:
        value = parent[name]
        if isinstance(value, DictConfig):
            yield from _leaves(value, f"{prefix}{name}.")
        elif name != "source":
            yield f"{prefix}{name}"


ALIASES = {
    "batch_size": "mini_batches", "clip_coef": "ppo.clip", "clip_param": "ppo.clip",
    "clip_range": "ppo.clip", "desired_kl": "kl_target", "ent_coef": "ppo.entropy",
    "entropy_coef": "ppo.entropy", "envs": "num_envs", "gae_lambda": "lam",
    "init_noise_std": "init_std", "lambda": "lam", "lr": "learning_rate",
    "max_iterations": "budget.iterations", "n_envs": "num_envs", "n_epochs": "epochs",
    "n_steps": "steps", "num_learning_epochs": "epochs", "num_mini_batches": "mini_batches",
    "num_minibatches": "mini_batches", "num_steps": "steps", "num_steps_per_env": "steps",
    "target_kl": "kl_target", "update_epochs": "epochs",
    "value_loss_coef": "ppo.value", "vf_coef": "ppo.value",
}  # fmt: skip
"""What others call settings, with the group where several have one of that name."""


def _meant(key: str, names: Iterable[str]) -> str:
    """Return the one setting that a wrong key names without its group, or as others call it.

    Of several, one in the group that the key names counts; nothing if that does not decide.
    """
    group, _, last = key.rpartition(".")
    ends = tuple(f".{name}" for name in (last, ALIASES.get(last)) if name)
    found = [name for name in names if f".{name}".endswith(ends)]
    inside = [name for name in found if name.rpartition(".")[0] == group]
    return (inside or found)[0] if len(inside or found) == 1 else ""


_MUST = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
_ITEMS = {bool: "true and false", int: "integers", float: "numbers", str: "text"}


def _mistyped(error: OmegaConfBaseException, given: str = "") -> UserError:
    """Say what a setting may be, by the type of its field."""
    key, kind = str(getattr(error, "full_key", "") or ""), _type_of(error)
    found = getattr(error, "value", None)
    value = given or ("nothing" if found is None else str(found))
    if kind is None:
        return UserError(f"{key}: {_first_line(error)}" if key else _first_line(error))
    if get_origin(kind) is list:
        of = _ITEMS[get_args(kind)[0]]
        example = value if value and not value.startswith("[") else "a,b"
        return UserError(f"{key} = {value}: must be a list of {of}, as in {key}=[{example}]")
    return UserError(f"{key} = {value}: must be {_MUST[kind]}")


def _type_of(error: OmegaConfBaseException) -> Any:
    """Return the type of the field that an error is about; None if it is about none."""
    owner, name = error.object_type, re.sub(r"\[\d+\]$", "", str(error.key))
    if owner is None or not is_dataclass(owner):
        return None
    kinds = {item.name: item.type for item in fields(owner)}
    return kinds.get(name)


def _wrong_file(error: ConfigCompositionException, search: Search) -> UserError:
    """Say which file is wrong, and how: Hydra names it at the start of its message."""
    inside = re.match(r"In '([^']+)'", str(error))
    cause = error.__context__
    if not inside or not isinstance(cause, OmegaConfBaseException):
        return UserError(_first_line(error))
    key = str(cause.full_key)
    if isinstance(cause, ConfigKeyError | ConfigAttributeError) and is_dataclass(cause.object_type):
        prefix = key[: key.rfind(".") + 1]
        names = [f"{prefix}{item.name}" for item in fields(cause.object_type)]
        said = unknown("setting", key, names)
    else:
        said = _mistyped(cause)
    return UserError(f"{_file(inside[1], search)}: {said}")


def _file(place: str, search: Search) -> str:
    """Return the name of a group's file as a person would look for it."""
    group, _, name = place.rpartition("/")
    path = search.options(group).get(name)
    own = path is not None and path.parents[1] != CONF
    return str(path) if own else f"conf/{place}.yaml"


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


def _require_schemas(root: DictConfig, words: list[str], search: Search) -> None:
    """Refuse a file of a group without a schema: nothing would check its values."""
    for group, schemas in OPEN.items():
        if group not in root or is_dataclass(OmegaConf.get_type(root, group)):
            continue
        given = {key: name for key, _, name in (word.partition("=") for word in words)}
        lines = " or ".join(f"'defaults: [{name}_schema]'" for name in schemas)
        raise UserError(
            f"{_file(f'{group}/{given.get(group)}', search)} does not say which settings it has: "
            f"begin it with {lines}, as conf/cluster/example.yaml does"
        )


def broken_yaml(error: yaml.YAMLError) -> UserError:
    """Return the error for a file that is not valid YAML: where, and what the parser says."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        mark, start = error.problem_mark, error.context_mark
        began = f"{error.context} from line {start.line + 1}, " if start else ""
        return UserError(
            f"{mark.name}, line {mark.line + 1}: is not valid YAML: {began}{error.problem}"
        )
    return UserError(f"a file is not valid YAML: {' '.join(str(error).split())}")


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]


def describe(config: Any, prefix: str = "") -> list[str]:
    """List all settings of a config with their values, one line each, for a command's --help."""
    return [
        f"  {f'{name}={_plain(value)}':<44} {meaning}"
        for name, value, meaning in settings(config, prefix)
    ]


def settings(config: Any, prefix: str = "") -> Iterator[tuple[str, Any, str]]:
    """Yield every setting of a config: its dotted name, its value and what it means."""
    for item in fields(config):
        value: Any = getattr(config, item.name)
        if is_dataclass(value):
            yield from settings(value, f"{prefix}{item.name}.")
        else:
            yield f"{prefix}{item.name}", value, item.metadata.get("meaning", "")


def _plain(value: Any) -> str:
    return str(value).replace(" ", "") if not isinstance(value, bool) else str(value).lower()
