import re
from dataclasses import asdict, make_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from s2m.config.compose import load
from s2m.config.distill import StudentCfg
from s2m.config.fields import setting
from s2m.config.ppo import PpoCfg
from s2m.config.run import RunCfg
from s2m.config.task import TaskCfg
from s2m.console.errors import UserError
from s2m.run.folder import RunFolder
from s2m.run.identity import folder_name, run_path, signature, variant
from s2m.run.kind import STUDENT, TEACHER

DATA = Path(__file__).parent / "data"
WHY = Path(__file__).parents[2] / "results" / "why"
ARCHIVED = sorted(path.parent for path in WHY.glob("*/*/run.json"))

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)
configs = st.dictionaries(st.text(), values)
forty = settings(max_examples=40)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(item) for key, item in reversed(value.items())}
    return [reordered(item) for item in value] if isinstance(value, list) else value


@forty
@given(configs)
def test_order_of_keys_is_of_no_account(config):
    assert signature(reordered(config)) == signature(config)


@forty
@given(configs)
def test_frozen_config_has_the_same_signature(config):
    text = yaml.safe_dump(config, sort_keys=False)
    assert signature(yaml.safe_load(text)) == signature(config)


@pytest.mark.parametrize(
    "word",
    [
        "sim.threads=2", "sim.keep_unstable=1", "budget.checkpoint_every=7", "budget.name=other",
        "budget.version=9", "root=elsewhere", "experiment=other", "cluster=slurm", "evaluate=demo",
        "tracking=disabled", "dry=true", "retry_failed=true",
    ],
)  # fmt: skip
def test_what_cannot_change_a_result_is_left_out(word):
    assert signature(asdict(load(RunCfg, [word]))) == signature(asdict(load(RunCfg, [])))


@pytest.mark.parametrize(
    "word", ["ppo.gamma=0.9", "sim.ball.rolling=0.1", "budget.iterations=7", "task=demo", "seed=1"]
)
def test_what_can_change_a_result_counts(word):
    assert signature(asdict(load(RunCfg, [word]))) != signature(asdict(load(RunCfg, [])))


def test_a_setting_added_later_renames_no_run(monkeypatch):
    """A schema grows by a weight, at its top and in a group: stored runs keep their signatures."""
    weight = ("weight", float, setting(0.0, "a new weight", since="9.9"))
    ppo = make_dataclass("Ppo", [weight], bases=(PpoCfg,))
    grown = make_dataclass("Run", [weight, ("ppo", ppo, setting(ppo(), "PPO"))], bases=(RunCfg,))
    stored = RunFolder.open(DATA / "schema-3")
    config = stored.config()
    newer = config | {"weight": 0.0, "ppo": config["ppo"] | {"weight": 0.0}}
    assert signature(newer) != stored.identity.signature  # as long as nobody said `since`
    monkeypatch.setattr("s2m.run.identity.kind_of", lambda _: replace(TEACHER, schema=grown))
    assert signature(config) == signature(newer) == stored.identity.signature
    newer["ppo"]["weight"] = 0.1
    assert signature(newer) != stored.identity.signature


@pytest.mark.parametrize("path", ARCHIVED, ids=lambda path: path.name)
def test_archived_runs_keep_their_signatures_when_the_schema_grows(path, monkeypatch):
    stored = RunFolder.open(path)
    config, kind = stored.config(), stored.kind
    assert signature(config) == stored.identity.signature
    assert path.name == folder_name(config)
    later = ("later", float, setting(0.5, "a later setting", since="9.9"))
    task = make_dataclass("Task", [later], bases=(TaskCfg,))
    fields = [later, ("task", task, setting(task(), "the task"))]
    grown = make_dataclass("Grown", fields, bases=(kind.schema,))
    monkeypatch.setattr("s2m.run.identity.kind_of", lambda _: replace(kind, schema=grown))
    newer = config | {"later": 0.5, "task": config["task"] | {"later": 0.5}}
    assert signature(config) == signature(newer) == stored.identity.signature
    assert signature(newer | {"later": 0.6}) != stored.identity.signature


def test_a_setting_added_to_students_renames_none(monkeypatch):
    weight = ("weight", float, setting(0.0, "a new weight", since="9.9"))
    grown = make_dataclass("Student", [weight], bases=(StudentCfg,))
    config = asdict(StudentCfg())
    before = signature(config)
    monkeypatch.setattr("s2m.run.identity.kind_of", lambda _: replace(STUDENT, schema=grown))
    assert signature(config | {"weight": 0.0}) == signature(config) == before


@forty
@given(st.integers(-(2**53), 2**53))
def test_equal_numbers_are_the_same(number):
    assert signature({"a": number}) == signature({"a": float(number)})


@pytest.mark.parametrize(
    "left, right",
    [
        (0.1 + 0.2, 0.3),
        (1, True),
        (0, None),
        (1, "1"),
        (2**53, 2**53 + 1),
        (float("inf"), "Infinity"),
        ([1, 2], [2, 1]),
        ([], {}),
    ],
)
def test_different_values_differ(left, right):
    assert signature({"a": left}) != signature({"a": right})


def test_signature_is_stable_between_versions(config):
    assert signature(config) == "52a0ef148dd7d1539f9ae2cf0065ea7331c6372d28ef44c841d90f0c74600d7c"


def test_nested_keys_named_like_excluded_ones_count():
    assert signature({"task": {"cluster": 1}}) != signature({"task": {"cluster": 2}})


def test_nan_is_refused_with_its_place():
    with pytest.raises(UserError, match=r"config\.ppo\.clip\[1\] = nan"):
        signature({"ppo": {"clip": [0.1, float("nan")]}})


@pytest.mark.parametrize("value", [np.float64(1), Path("a"), {1}, object()])
def test_values_that_yaml_cannot_hold_are_refused(value):
    with pytest.raises(TypeError, match=r"config\.a is a "):
        signature({"a": value})


def test_keys_must_be_text():
    with pytest.raises(UserError, match="key 1"):
        signature({"thresholds": {1: 0.3}})


def test_variant_and_folder_name(config):
    assert variant(config) == "pfds"
    assert variant(config | {"permute": False}) == "pfds_off"
    assert variant(config | {"encoder": "dshc"}) == "dshc"
    assert folder_name(config) == f"pfds-s40-{signature(config)[:8]}"


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a b", "A", "pfds_off", "a-b", "x" * 41, 3])
def test_encoder_names_must_be_safe(config, name):
    with pytest.raises(UserError, match="encoder name"):
        folder_name(config | {"encoder": name})


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", None])
def test_seed_must_be_a_whole_number(config, seed):
    with pytest.raises(UserError, match="seed = "):
        folder_name(config | {"seed": seed})


def test_permute_must_be_a_boolean(config):
    with pytest.raises(UserError, match="permute = 'no'"):
        variant(config | {"permute": "no"})


@pytest.mark.parametrize("key", ["encoder", "permute", "seed"])
def test_missing_key_is_named(config, key):
    del config[key]
    with pytest.raises(UserError, match=f"no {key}"):
        folder_name(config)


def test_run_path_stays_below_its_root(config):
    assert run_path(Path("runs"), "table1", config) == Path("runs/table1", folder_name(config))
    for name in ["..", ".", "", "../x", "/abs", "a/b", ".hidden", "a\n", "a\0", "ä", "x" * 101]:
        with pytest.raises(UserError, match=re.escape(f"experiment = {name!r}")):
            run_path(Path("runs"), name, config)
