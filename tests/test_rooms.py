"""The rooms of the tree: commands on top, everything else where its contract lets it be."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import combinations
from pathlib import Path

import pytest
import yaml

from s2m.config.search import REPOSITORY

ROOT = Path(__file__).parents[1]
COMMANDS = sorted(path.stem for path in (ROOT / "s2m").glob("[!_]*.py"))
ROOMS = sorted(path.parent.name for path in (ROOT / "s2m").glob("*/__init__.py"))


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the code whose imports may be spoilt."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("s2m", "analysis"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def lint(folder):
    command = [Path(sys.executable).with_name("lint-imports"), "--no-logo"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_the_contracts_hold(tree):
    code, said = lint(tree)
    assert code == 0, said


@pytest.mark.parametrize(
    "module, line, said",
    [
        ("s2m/cluster/queue.py", "import torch", "s2m.cluster is not allowed to import torch"),
        ("analysis/rows.py", "import mujoco", "analysis is not allowed to import mujoco"),
        ("s2m/task/rewards.py", "import s2m.sim", "s2m.task is not allowed to import s2m.sim"),
        ("s2m/env/agents.py", "import s2m.run.folder", "s2m.env is not allowed to import s2m.run"),
        ("s2m/stages/train.py", "import s2m.cluster", "is not allowed to import s2m.cluster"),
        ("s2m/tracking/send.py", "import s2m.cluster", "is not allowed to import s2m.cluster"),
        ("s2m/run/folder.py", "import s2m.policy", "s2m.run is not allowed to import s2m.policy"),
        ("s2m/monitor/page.py", "import s2m.status", "is not allowed to import s2m.status"),
    ],
)
def test_an_import_that_breaks_a_contract_is_refused(tree, module, line, said):
    path = tree / module
    text = path.read_text()
    path.write_text(f"{text}\n{line}\n")
    code, output = lint(tree)
    path.write_text(text)
    assert code == 1
    assert said in output


def test_lint_asks_the_contracts():
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)
    assert recipe and "lint-imports" in recipe[1]


def test_every_room_and_command_stands_in_a_contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    text = str(contracts)
    assert [name for name in COMMANDS + ROOMS if f"s2m.{name}'" not in text] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_modules_on_top_are_commands_with_help(name):
    command = [sys.executable, "-m", f"s2m.{name}", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"s2m.{name}" in done.stdout


def test_every_group_of_configs_has_its_schema():
    """Or is a preset of others: all of its files set what belongs to groups that have one."""
    schemas = {path.stem for path in (ROOT / "s2m" / "config").glob("*.py")}
    for group in set(REPOSITORY.groups) - schemas:
        for path in (ROOT / "conf" / group).glob("*.yaml"):
            assert path.read_text().startswith("# @package _global_\n")
            assert set(yaml.safe_load(path.read_text())) <= schemas


ENDINGS = (
    "", "s", "es", "e", "ed", "er", "ers", "ing", "ings", "ion", "ions", "ation", "ations",
    "or", "ors", "ment", "ments", "ness", "able", "ive", "y", "ies",
)  # fmt: skip


def word_forms(name, other):
    """Tell whether two names are one stem of four letters or more with two endings."""
    shared = len(os.path.commonprefix([name, other]))
    stems = range(4, shared + 1)
    return any(name[n:] in ENDINGS and other[n:] in ENDINGS for n in stems)


@pytest.mark.parametrize(
    "name, other, alike",
    [
        ("evaluate", "evaluation", True),
        ("process", "processes", True),
        ("robust", "robustness", True),
        ("export", "exported", True),
        ("summary", "summaries", True),
        ("state", "status", False),
        ("terminal", "terminations", False),
        ("fields", "files", False),
    ],
)
def test_word_forms_are_told_from_other_words(name, other, alike):
    assert word_forms(name, other) is word_forms(other, name) is alike


def test_no_two_names_of_a_tree_differ_by_word_form():
    """A reader who looks for `evaluate` must not have to choose between it and `evaluation`."""
    paths = [*(ROOT / "s2m").rglob("*.py"), *(ROOT / "analysis").rglob("*.py")]
    names = sorted({path.stem for path in paths})
    assert [pair for pair in combinations(names, 2) if word_forms(*pair)] == []


def test_no_two_classes_share_a_name():
    """`Mirror` is one thing: what the stages ask of it, and the one on W&B that keeps it."""
    homes: dict[str, list[str]] = {}
    for path in [*(ROOT / "s2m").rglob("*.py"), *(ROOT / "analysis").rglob("*.py")]:
        for name in re.findall(r"^class (\w+)", path.read_text(), re.M):
            homes.setdefault(name, []).append(path.stem)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {
        "Mirror": ["execute", "mirror"]
    }
