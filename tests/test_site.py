"""The site of the docs: it is built from the pages of GitHub, and no link of theirs is broken."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def pages(tmp_path):
    """A copy of all that the site is made of; the code is only looked up by links."""
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "mkdocs.yml"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("docs", ".ci"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("s2m", "analysis", "tests", "results", "conf"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def build(folder):
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict"], cwd=folder,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_the_site_is_built_and_a_broken_link_is_refused(pages):
    code, said = build(pages)
    assert code == 0, said
    for name in ("index", "contributing", "changelog", "results"):
        assert (pages / "site" / f"{name}.html").is_file()
    assert 'href="results.html"' in (pages / "site" / "index.html").read_text()
    (pages / "docs" / "task.md").write_text("[gone](gone.md) [there](glossary.md#nowhere)")
    with (pages / "README.md").open("a") as file:
        file.write("\n[nowhere](docs/nowhere.md)\n")
    code, said = build(pages)
    assert code == 1
    for expected in ("'gone.md'", "'#nowhere'", "'nowhere.md'"):
        assert expected in said, expected


def test_every_page_is_in_the_menu(pages):
    (pages / "docs" / "forgotten.md").write_text("# Forgotten\n")
    code, said = build(pages)
    assert code == 1 and "forgotten.md" in said
