"""Groups, sweeps and encoders of one's own, beside the repository's."""

import hashlib

import pytest

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.config.search import CONF, REPOSITORY, SWEEPS, digest, take_search
from s2m.console.errors import UserError

ENCODER = 'class Mine:\n    name = "mine"\n    group = "G_0"\n    label = "Mine"\n'


@pytest.fixture
def own(tmp_path):
    """Return a function that writes a file of one's own and the folder's name."""

    def write(place, text="", root="own"):
        path = tmp_path / root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(tmp_path / root)

    return write


def test_the_folders_are_taken_out_of_a_command_s_words(own, tmp_path):
    one, two = own("ppo/slow.yaml"), own("ppo/fast.yaml", root="two")
    search, rest = take_search(["--config-dir", one, "seed=1", f"--config-dir={two}", "-m"])
    assert search.own == (tmp_path / "own", tmp_path / "two") and rest == ["seed=1", "-m"]
    assert take_search(["seed=1"]) == (REPOSITORY, ["seed=1"])


def test_what_is_one_s_own_stands_beside_the_repository_s(own):
    own("sweeps/grid.yaml")
    search, _ = take_search(["--config-dir", own("ppo/slow.yaml")])
    assert search.options("ppo").keys() - REPOSITORY.options("ppo").keys() == {"slow"}
    assert search.sweeps().keys() - REPOSITORY.sweeps().keys() == {"grid"}
    assert all(path.parent == CONF / "ppo" for path in REPOSITORY.options("ppo").values())


def test_hydra_is_told_where_to_look(own):
    root = own("ppo/slow.yaml", root='it\'s "mine"')
    search, _ = take_search(["--config-dir", root])
    written = root.replace('"', '\\"')
    assert search.words() == [f'hydra.searchpath=["file://{written}"]']
    assert REPOSITORY.words() == []


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("notes/x.txt", "has none of the folders "),
        (f"ppo/{next(iter(REPOSITORY.options('ppo')))}.yaml", "is the repository's: choose"),
        (f"sweeps/{next(SWEEPS.glob('*.yaml')).name}", "is the repository's: choose"),
    ],
)
def test_a_folder_of_no_use_or_with_a_name_that_is_taken_is_refused(own, place, line):
    with pytest.raises(UserError, match=line):
        take_search(["--config-dir", own(place)])


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("pfds", ENCODER.replace("mine", "pfds"), "the encoder pfds is s2m's own"),
        ("mine", "x = 1\n", "has no encoder: a class with name = .mine."),
        ("mine", ENCODER.replace("G_0", "G_9"), "has no encoder"),
        ("mine", "class Mine(\n", "is not valid Python"),
    ],
)
def test_a_file_that_is_no_encoder_of_one_s_own_is_refused(own, name, text, line):
    with pytest.raises(UserError, match=line):
        take_search(["--config-dir", own(f"encoder/{name}.py", text)])


def test_a_folder_that_is_missing_is_refused(tmp_path):
    with pytest.raises(UserError, match="absent: not a directory$"):
        take_search(["--config-dir", str(tmp_path / "absent")])
    for words in (["--config-dir"], ["--config-dir="]):
        with pytest.raises(UserError, match="^--config-dir needs a folder$"):
            take_search(words)


def test_the_files_behind_a_command_are_kept_with_those_they_name(own):
    own("encoder/mine.py", ENCODER)
    own("ppo/base.yaml", "gamma: 0.9\n")
    own("ppo/unused.yaml")
    root = own("ppo/slow.yaml", "defaults:\n  - base\n  - override /budget: demo\n")
    search, _ = take_search(["--config-dir", root])
    used = search.used(["ppo=slow", "seed=3", "budget=paper", "-m"], encoder="mine")
    assert set(used) == {"encoder/mine.py", "ppo/slow.yaml", "ppo/base.yaml"}
    assert used["ppo/base.yaml"] == b"gamma: 0.9\n"
    assert search.used(["seed=3", "ppo=paper"], encoder="pfds") == {}


def test_an_encoder_is_known_by_the_sum_of_its_file(own, tmp_path):
    own("encoder/mine.py", ENCODER)
    assert digest(tmp_path / "own/encoder/mine.py") == hashlib.sha256(ENCODER.encode()).hexdigest()


def test_of_two_files_of_one_name_that_is_kept_which_hydra_reads(own):
    folders = [own("ppo/slow.yaml", f"gamma: 0.{n}\n", root=n) for n in ("91", "92")]
    search, words = take_search([f"--config-dir={root}" for root in folders])
    assert load(RunCfg, ["ppo=slow", *words], search).ppo.gamma == 0.91
    assert search.used(["ppo=slow"]) == {"ppo/slow.yaml": b"gamma: 0.91\n"}
    for root in ("91", "92"):
        own("sweeps/grid.yaml", root=root)
        own("encoder/mine.py", ENCODER + f"x = {root}\n", root=root)
    assert search.sweeps()["grid"].parts[-3] == "91"
    assert search.encoder("mine").parts[-3] == "91"
