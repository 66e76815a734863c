"""Now, later or never; and no key anywhere in a run folder."""

import subprocess
import sys

import pytest

from s2m.config.tracking import TrackingCfg
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.run.folder import find_runs
from s2m.run.identity import signature
from s2m.tracking.contents import run_id
from s2m.tracking.key import has_key
from s2m.tracking.mirror import Mirror
from s2m.tracking.mode import choose
from tests.stages.test_train import create


@pytest.fixture(autouse=True)
def nobody(monkeypatch, tmp_path):
    """No mode, no key, no netrc file but the test's own."""
    for name in ("WANDB_MODE", "WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", "WANDB_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    return tmp_path / "netrc"


def test_without_a_key_it_is_offline_and_says_so_in_one_line():
    for mode in ("auto", "online"):
        choice = choose(TrackingCfg(mode=mode))
        assert choice.mode == "offline"
        assert "there is no API key (wandb login)" in choice.note and "\n" not in choice.note
    assert choose(TrackingCfg(mode="offline")).note == ""


@pytest.mark.parametrize(
    ("word", "mode"),
    [("online", "online"), ("offline", "offline"), ("disabled", "disabled"), ("dryrun", "offline"),
     ("", "online"), ("of", "offline")],
)  # fmt: skip
def test_the_environment_decides_what_the_config_leaves_open(monkeypatch, word, mode):
    monkeypatch.setenv("WANDB_API_KEY", "x" * 40)
    monkeypatch.setenv("WANDB_MODE", word)
    choice = choose(TrackingCfg())
    assert choice.mode == mode and ("WANDB_MODE=of is unknown" in choice.note) == (word == "of")
    assert choose(TrackingCfg(mode="disabled")).mode == "disabled"
    assert choose(TrackingCfg(mode="online")).mode == "online"


def test_a_netrc_entry_of_the_right_server_is_a_key(monkeypatch, nobody):
    assert not has_key()
    nobody.write_text("machine api.wandb.ai login user password " + "x" * 40 + "\n")
    assert has_key()
    monkeypatch.setenv("WANDB_BASE_URL", "https://wandb.example.org")
    assert not has_key()
    nobody.write_text("machine wandb.example.org login user password " + "x" * 40 + "\n")
    assert has_key()


def test_tracking_is_no_part_of_the_identity(tmp_path):
    one, two = create(tmp_path / "a" / "run"), create(tmp_path / "b" / "run", "tracking=disabled")
    assert one.identity.signature == two.identity.signature == signature(two.config())
    assert run_id(one) != run_id(two)  # but each experiment's folder is mirrored by itself
    assert run_id(one).startswith(one.identity.signature[:24])


TINY = ["sim=dummy", "budget=demo", "budget.num_envs=4", "budget.steps=2", "budget.iterations=1"]


def test_a_newcomer_reads_one_line_and_nothing_is_started(tmp_path, capsys):
    assert main([*TINY, f"root={tmp_path / 'runs'}", "evaluate.episodes=1",
                 "evaluate.selection_episodes=1"]) == 0  # fmt: skip
    said = [line for line in capsys.readouterr().out.splitlines() if "W&B" in line]
    assert len(said) == 1 and "no API key" in said[0]
    (run,) = find_runs(tmp_path / "runs")
    assert not run.tracking_log.exists()


def test_bad_input_is_one_line(tmp_path):
    for word, said in {
        "tracking=onlin": "unknown tracking 'onlin'. Did you mean 'online'?",
        "tracking.mode=on": "unknown tracking.mode 'on'.",
        "tracking.finish_seconds=-1": "tracking.finish_seconds = -1",
    }.items():
        with pytest.raises(UserError) as error:
            main([*TINY, f"root={tmp_path}", word])
        assert str(error.value).startswith(said) and "\n" not in str(error.value)


def test_a_mirror_that_ends_and_leaves_no_words_is_noted(tmp_path):
    folder, said = create(tmp_path / "run"), []
    mirror = Mirror(folder, said.append)
    mirror._process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])
    mirror._process.wait()
    assert not folder.tracking_log.exists()
    mirror.check()
    (line,) = said
    assert line.startswith("W&B: the mirror ended with exit code 1; training continues")
