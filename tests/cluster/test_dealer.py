"""Sweeps on the GPUs of this machine, which are pretended."""

import os
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from s2m import status
from s2m.cluster import dealer as dealing
from s2m.cluster import local
from s2m.cluster.dealer import Dealer, make_dealer
from s2m.config.cluster import LocalCfg
from s2m.config.sim import WarpCfg
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.monitor.survey import survey
from s2m.run.cards import Gpu
from s2m.run.events import Events
from s2m.run.folder import find_runs
from s2m.run.lock import current_attempt
from tests.cluster.jobs import TINY, states
from tests.stages.test_train import create
from tests.words import latest

HERE = [word for word in TINY if not word.startswith("cluster")]


def launch(root, *words):
    return main(["-m", *latest(*HERE, "sim=warp", f"root={root}", *words)])


def make(*, device="cuda:0", runs=4, **settings):
    """Return who deals cards to runs of a device."""
    cells: list[Any] = [
        SimpleNamespace(
            folder=SimpleNamespace(path=SimpleNamespace(name=f"run{i}")),
            cfg=SimpleNamespace(sim=WarpCfg(device=device)),
        )
        for i in range(runs)
    ]
    return make_dealer(cells, LocalCfg(**settings))


@pytest.fixture
def cards(pretended_cards, monkeypatch):
    """Two cards, and jobs that compute on them."""
    found = pretended_cards(2)
    monkeypatch.setattr(sys, "executable", found.python)
    return found


def test_four_runs_on_two_cards_are_two_at_a_time_and_each_sees_its_own(cards, tmp_path, capsys):
    root = tmp_path / "runs"
    assert launch(root, "seed=1,2,3,4") == 0
    told = "GPUs: 2 runs at a time, each on one of its own: 0 (NVIDIA L40S), 1 (NVIDIA L40S)\n"
    assert told in capsys.readouterr().out
    assert set(states(root).values()) == {"finished"}
    busy, most = set(), 0
    for what, card in cards.seen():
        assert card in ("0", "1") and (card in busy) == (what == "end")
        busy ^= {card}
        most = max(most, len(busy))
    assert most == 2 and len(cards.seen()) == 8
    attempts = [current_attempt(run) for run in find_runs(root)]
    assert {attempt.gpu for attempt in attempts} == {"0 (NVIDIA L40S)", "1 (NVIDIA L40S)"}


def test_a_card_that_vanishes_fails_its_run_and_the_sweep_goes_on(cards, tmp_path, capsys):
    root = tmp_path / "runs"
    cards.lose(1)
    ask = dealing.installed

    def vanished():
        cards.list_cards([0])
        return ask()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dealing, "installed", vanished)
        assert launch(root, "seed=1,2,3,4") == 1
    out = capsys.readouterr().out
    line = "GPU 1 (NVIDIA L40S) is gone: it is left out for the rest of the sweep\n"
    assert out.count(line) == 1
    (failed,) = [run for run in survey(root) if run.state.status != "finished"]
    assert (failed.state.status, failed.verdict) == ("failed", "GPU lost")
    status.main([str(root)])
    out = capsys.readouterr().out
    assert f": GPU lost on {failed.state.host}, GPU 1 (NVIDIA L40S)\n" in out
    assert "CUDA error: unspecified launch failure\n-> look for the card in nvidia-smi" in out
    assert launch(root, "seed=1,2,3,4", "retry_failed=true") == 0
    assert set(states(root).values()) == {"finished"}


def test_a_sweep_whose_cards_are_all_lost_leaves_the_rest_to_the_next_command(
    cards, tmp_path, capsys
):
    root = tmp_path / "runs"
    cards.list_cards([0])
    cards.lose(0)
    assert launch(root, "seed=1,2,3,4") == 1
    out = capsys.readouterr().out
    assert "GPU 0 (NVIDIA L40S) was lost 2 times: it is left out" in out
    assert out.count("no GPU is left") == 1
    assert sorted(states(root).values()) == ["failed", "failed", "pending", "pending"]


def test_a_single_run_has_the_first_card(cards, tmp_path, monkeypatch):
    seen = []

    def foreground(folder):
        seen.append({name: os.environ.get(name) for name in variables})
        return 0

    variables = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
    monkeypatch.setattr("s2m.launch.foreground", foreground)
    words = [*latest(*HERE, "sim=warp"), f"root={tmp_path}"]
    assert main(words) == main([*words, "cluster.gpus=1"]) == 0
    assert main([*words, "cluster.gpus=none"]) == main(latest(*words, "sim.device=cpu")) == 0
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-111,0")
    assert main(words) == 0 and os.environ["CUDA_VISIBLE_DEVICES"] == "GPU-111,0"
    given = [tuple(values.values()) for values in seen]
    by_bus = "PCI_BUS_ID"
    assert given == [("0", by_bus), ("1", by_bus), (None,) * 2, (None,) * 2, ("GPU-111", None)]


def test_dry_says_which_cards_and_how_many_runs(cards, tmp_path, capsys):
    def dry(*words):
        assert launch(tmp_path, "seed=1,2,3,4,5", "dry=true", *words) == 0
        lines = capsys.readouterr().out.splitlines()
        return [line for line in lines if line.startswith(("GPUs:", "but not here:"))]

    (zero, one) = ("0 (NVIDIA L40S)", "1 (NVIDIA L40S)")
    assert dry() == [f"GPUs: 2 runs at a time, each on one of its own: {zero}, {one}"]
    assert dry("cluster.runs_per_gpu=2") == [
        f"GPUs: 4 runs at a time, up to 2 on each: {zero}, {one}"
    ]
    assert dry("cluster.runs_per_gpu=2", "cluster.workers=3", "cluster.gpus=[1,0]") == [
        f"GPUs: 3 runs at a time, up to 2 on each: {one}, {zero}"
    ]
    assert dry("cluster.workers=1") == [f"GPUs: 1 run at a time, each on one of its own: {zero}"]
    assert dry("cluster.gpus=[]") == dry("sim.device=cpu") == dry("sim=mujoco") == []
    cards.list_cards([])
    assert dry()[0].startswith("but not here: sim.device = cuda:0 needs a GPU and there is none (")


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("cluster.gpus=7", r"cluster.gpus = 7: there is no GPU 7; allowed: 0, 1$"),
        (
            "cluster.gpus=[0,2,9]",
            r"cluster.gpus = \[0, 2, 9\]: there is no GPU 2, 9; allowed: 0, 1",
        ),
        ("cluster.gpus=GPU-5", "there is no GPU GPU-5; allowed: 0, 1"),
        ("sim.device=cuda:1", "sees it as cuda:0; cluster.gpus=1 chooses that card"),
        ("cluster.gpus=all", "cluster.gpus = all: allowed are auto, none, the number of a GPU"),
        ("cluster.gpus=-1", "cluster.gpus = -1: allowed are auto"),
        ("cluster.gpus=1.5", "cluster.gpus = 1.5: allowed are auto"),
        ("cluster.gpus=true", "cluster.gpus = True: allowed are auto"),
        ("cluster.gpus=null", "cluster.gpus = None: allowed are auto"),
        ("cluster.gpus={a:1}", "cluster.gpus = .*: allowed are auto"),
        ("cluster.gpus=[0,x]", r"cluster.gpus = \[0, 'x'\]: allowed are auto"),
        ("cluster.gpus=[1,1]", r"name every GPU once; cluster.runs_per_gpu=2 lets two"),
        ("cluster.gpus=0,1", r"cluster must be the same .* cluster.gpus=\[0,1\]"),
        ("cluster.runs_per_gpu=0", "cluster.runs_per_gpu = 0: allowed 1 or more"),
        ("cluster.runs_per_gpu=x", "cluster.runs_per_gpu = x: must be an integer"),
    ],
)
def test_cards_that_cannot_be_meant_are_refused(cards, tmp_path, word, line):
    with pytest.raises(UserError, match=line):
        launch(tmp_path / "runs", word)
    assert not list(find_runs(tmp_path / "runs"))


@pytest.mark.parametrize("hidden", ["", "-1", None])
def test_a_run_without_a_card_to_run_on_is_refused(cards, tmp_path, monkeypatch, hidden):
    if hidden is None:
        cards.list_cards([])
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    with pytest.raises(
        UserError, match="needs a GPU and there is none .* sim=mujoco or sim.device"
    ):
        launch(tmp_path / "runs")
    assert not list(find_runs(tmp_path / "runs"))


def test_the_names_of_an_outer_list_count(cards, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-111-a,0")
    assert [card.name for card in make().cards] == ["GPU-111-a", "0"]
    assert [card.name for card in make(gpus=["GPU-111-a"]).cards] == ["GPU-111-a"]
    with pytest.raises(UserError, match="there is no GPU 1; allowed: GPU-111-a, 0"):
        make(gpus=1)


def test_cards_are_filled_evenly_and_one_that_was_lost_comes_last(monkeypatch):
    monkeypatch.setattr(dealing, "_is_gone", lambda card: False)
    zero, one = Gpu("0"), Gpu("1")
    dealer = Dealer([zero, one], 2, "abcdef")
    assert [dealer.deal(run) for run in "abcd"] == [zero, one, zero, one]
    assert not dealer.has_room()
    # Two runs lose it together: that is one loss.
    assert dealer.take_back("a", lost=True) == dealer.take_back("c", lost=True) == ""
    assert dealer.take_back("b") == ""
    assert dealer.deal("e") == zero  # the other has a run already
    dealer.take_back("d")
    assert dealer.deal("f") == one
    assert dealer.take_back("e", lost=True).startswith("GPU 0 was lost 2 times: it is left out")
    assert dealer.cards == [one] and dealer.places == 2


def test_an_old_failure_is_not_charged_to_the_card_again(cards, tmp_path, capsys):
    root = tmp_path / "runs"
    cards.list_cards([0])
    cards.lose(0)
    assert launch(root, "seed=1") == 1
    (run,) = find_runs(root)
    assert [event["gpu"] for event in Events(run).read() if event["kind"] == "attempt"] == [
        "0 (NVIDIA L40S)"
    ]
    # Jobs that end before they have taken the folder have lost nothing.
    (cards.folder / "job").write_text("#!/bin/sh\nexit 1\n")
    assert launch(root, "seed=1", "retry_failed=true") == 1
    assert "left out" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("workers", "per_card", "expected"),
    [
        (0, 1, ["cpu", "0", "1"]),
        (0, 2, ["cpu", "0", "1", "0", "1"]),
        (2, 2, ["cpu", "cpu"]),
        (3, 1, ["cpu", "cpu", "0"]),
    ],
)
def test_a_pool_fills_cards_and_cores_side_by_side(
    tmp_path, monkeypatch, workers, per_card, expected
):
    begun = []

    def popen(command, env, **_):
        begun.append(env.get("CUDA_VISIBLE_DEVICES", "cpu"))

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(local.subprocess, "Popen", popen)
    monkeypatch.setattr(local, "usable_cores", lambda: 1)
    runs = [create(tmp_path / name, f"seed={seed}") for seed, name in enumerate("abcdefg")]
    dealer = Dealer([Gpu("0"), Gpu("1")], per_card, "cdefg")
    local.Pool([(run, 12) for run in runs], workers, Console(quiet=True), dealer=dealer)._start()
    assert begun == expected
