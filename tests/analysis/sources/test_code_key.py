"""Which commits count as the same code: those that agree in the rooms that compute."""

import subprocess

import pytest

from analysis.sources import code
from tests.analysis.synthetic import Spec, write_run

PATCH = """# not included (secret by its name, binary, large or too many): 'notes/key.txt'
diff --git a/docs/page.md b/docs/page.md
-old
+new
"""


@pytest.fixture
def commits(tmp_path, monkeypatch):
    """A repository: flat, docs changed, code changed; rooms, a page changed, learning changed."""
    root = tmp_path / "repository"
    (root / "s2m").mkdir(parents=True)
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")

    def git(*words):
        done = subprocess.run(
            ["git", "-C", root, *identity, *words], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "-q")
    made = []
    rooms = [f"s2m/{room}/a.py" for room in code.ROOMS]
    for names in (
        ["s2m/a.py"], ["readme.md"], ["s2m/b.py"], rooms, ["s2m/monitor/page.py"],
        ["s2m/learning/ppo.py"],
    ):  # fmt: skip
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(name)
        git("add", "-A")
        git("commit", "-q", "-m", names[0])
        made.append(git("rev-parse", "HEAD"))
    monkeypatch.setattr(code, "ROOT", root)
    code._trees.cache_clear()
    yield made
    code._trees.cache_clear()


def key(tmp_path, seed, **fields):
    return code.code_key(write_run(tmp_path / "runs", Spec(seed=seed, state="pending", **fields)))


def test_before_there_were_rooms_the_whole_package_counts(tmp_path, commits):
    first, docs, package, *_ = (key(tmp_path, i, commit=c) for i, c in enumerate(commits))
    assert first == docs != package


def test_only_the_rooms_that_compute_count(tmp_path, commits):
    *_, rooms, page, learning = (key(tmp_path, i, commit=c) for i, c in enumerate(commits))
    assert rooms == page != learning


def test_a_commit_that_is_gone_stands_for_itself(tmp_path, commits):
    assert key(tmp_path, 1, commit="f" * 40) == "f" * 40
    assert key(tmp_path, 2, commit=None) == "unknown"


def test_of_a_patch_only_the_package_counts(tmp_path, commits):
    clean = key(tmp_path, 1, commit=commits[0])
    assert key(tmp_path, 2, commit=commits[0], patch=PATCH) == clean
    touched = PATCH + "diff --git a/s2m/env.py b/s2m/env.py\n+x\n"
    assert key(tmp_path, 3, commit=commits[0], patch=touched) != clean
    named = PATCH.replace("notes/key.txt", "s2m/key.txt")
    assert key(tmp_path, 4, commit=commits[0], patch=named) != clean


@pytest.mark.parametrize(("place", "same"), [("monitor/page.py", True), ("env/agents.py", False)])
def test_of_a_patch_only_the_rooms_that_compute_count(tmp_path, commits, place, same):
    clean = key(tmp_path, 1, commit=commits[3])
    touched = f"{PATCH}diff --git a/s2m/{place} b/s2m/{place}\n+x\n"
    assert (key(tmp_path, 2, commit=commits[3], patch=touched) == clean) == same
