"""The bench gives plausible figures, valid JSON, and one line for what is wrong."""

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from s2m import bench as command
from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.console.errors import UserError
from s2m.learning import bench, speed

SMALL = ["budget=demo", "envs=4,16", "seconds=2"]


def told(*words):
    done = subprocess.run(
        [sys.executable, "-m", "s2m.bench", *words], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("sim", ["dummy", "mujoco"])
def test_two_seconds_give_plausible_figures(sim, tmp_path):
    out = tmp_path / "bench.json"
    report = json.loads(told(f"sim={sim}", *SMALL, "--json", "--out", str(out)))
    assert json.loads(out.read_text()) == report
    assert (report["schema"], report["sim"], report["budget"]) == (1, sim, "demo")
    assert report["balls"] == 5 and "torch" in report["packages"]
    assert [row["envs"] for row in report["rows"]] == [4, 16]
    for row in report["rows"]:
        assert not row["failure"] and row["iterations"] >= 1
        assert 1 < row["learning"] < row["alone"] < 1e7
        assert list(row["shares"]) == ["physics", "learning", "rest"]
        assert sum(row["shares"].values()) == pytest.approx(1)
        assert all(0 < share < 1 for share in row["shares"].values())
        assert 5e7 < row["memory"] < 1e11 and row["memory_total"] == 0
        hours = {"paper": 30_000 * 4096 * 24, "workstation": 3000 * 2048 * 24, "demo": 20 * 48 * 12}
        expected = {name: samples / row["learning"] / 3600 for name, samples in hours.items()}
        assert row["hours"] == pytest.approx(expected)


def test_the_table_says_what_was_measured():
    text = told("sim=dummy", *SMALL, "encoder=dshc")
    assert "sim=dummy, 5 balls, networks and PPO of budget=demo, encoder=dshc" in text
    assert "Other networks: measure hours of paper with budget=paper." in text
    for word in ("environments", "learning", "memory", "budget=paper", "budget=workstation"):
        assert word in text


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["envs=0"], "envs = 0: must be different integers from 1, as envs=1024,4096"),
        (["envs=64,64"], "envs = 64,64: must be different integers from 1"),
        (["envs=many"], "envs = many: must be different integers from 1"),
        (["envs="], "envs = : must be different integers from 1"),
        (["seconds=0"], "seconds = 0: must be a number above 0"),
        (["seconds=nan"], "seconds = nan: must be a number above 0"),
        (["seconds=long"], "seconds = long: must be a number above 0"),
        (["seconds=1", "seconds=2"], "'seconds=1' and 'seconds=2': give seconds once"),
        (["sim=wrap"], "unknown sim 'wrap'. Did you mean 'warp'?"),
        (["sim=mujoco", "sim.device=cpu"], "unknown setting 'sim.device'"),
        (["sim.device=cpu"], "sim.*: name the simulator too, as sim=warp sim.device=cpu"),
        (["enocder=pfds"], "unknown setting 'enocder'. Did you mean 'encoder'?"),
        (["agent=lqr"], "agent = lqr: learning is measured, allowed is ppo"),
        (["budget.num_envs=64"], "budget.num_envs=64: write envs=64, or several as"),
        (["--jsn"], "unknown option '--jsn'. Did you mean '--json'?"),
        (["--out"], "--out : allowed is a file, as bench.json"),
        (["--out", "/proc"], "--out /proc: allowed is a file"),
        (["--out=/none/x.json"], "--out /none/x.json: /none is not a directory"),
        (["--config-dir", "/none"], "--config-dir /none: not a directory"),
    ],
)
def test_wrong_words_are_one_line(words, line):
    with pytest.raises(UserError) as error:
        command.main(words)
    assert str(error.value).startswith(line) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("cuda", "words", "sim", "envs"),
    [
        (True, [], "warp", [1024, 4096, 16384]),
        (False, [], "mujoco", [64, 256, 1024]),
        (True, ["sim=warp", "sim.device=cpu"], "warp", [64, 256, 1024]),
        (True, ["sim=mujoco", "envs=8"], "mujoco", [8]),
    ],
)
def test_a_card_is_used_where_there_is_one(monkeypatch, cuda, words, sim, envs):
    asked = []
    monkeypatch.setattr(bench, "has_cuda", lambda: cuda)
    monkeypatch.setattr(bench, "bench", lambda cells, *rest: asked.extend(cells))
    command.main(words)
    assert [cfg.budget.num_envs for cfg in asked] == envs
    assert {(cfg.sim.name, cfg.budget.name, cfg.budget.hidden[0]) for cfg in asked} == {
        (sim, "paper", 512)
    }


def rows_of(monkeypatch, capsys, *ends):
    """Let the processes of two sizes end in some way; return the table and the exit code."""
    left = iter(ends)

    def apart(cfg, seconds, own):
        result = next(left)
        if isinstance(result, str):
            return bench.Measured(cfg.budget.num_envs, failure=result)
        return bench.Measured(cfg.budget.num_envs, result)

    monkeypatch.setattr(bench, "_apart", apart)
    code = command.main(["sim=dummy", *SMALL])
    return capsys.readouterr().out, code


GOOD = speed.Speed(
    device="a card", start=100.0, alone=2e5, learning=1e5, iterations=3, warm=True,
    shares={"physics": 0.5, "learning": 0.4, "rest": 0.1}, memory=int(6e9), memory_total=int(24e9),
)  # fmt: skip


def test_a_size_that_does_not_fit_leaves_the_others(monkeypatch, capsys):
    text, code = rows_of(monkeypatch, capsys, GOOD, bench.FULL)
    assert code == 0 and "out of memory" in text
    assert "6.0 of 24 GB" in text and "100.0 s" in text and "8.2 h" in text and "0.4 h" in text


@pytest.mark.parametrize("ends", [(GOOD, "RuntimeError: no"), (bench.FULL, bench.FULL)])
def test_a_size_that_breaks_down_shows_in_the_exit_code(monkeypatch, capsys, ends):
    assert rows_of(monkeypatch, capsys, *ends)[1] == 1


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "out of memory"),
        (RuntimeError("Failed to allocate 4096 bytes on device 'cuda:0'"), "out of memory"),
        (MemoryError(), "out of memory"),
        (ValueError("two\nlines"), "ValueError: two lines"),
    ],
)
def test_errors_of_a_size_are_one_line(monkeypatch, error, failure):
    def broken(cfg, seconds):
        raise error

    sent = []
    monkeypatch.setattr(bench, "measure", broken)
    monkeypatch.setattr("os.dup2", lambda *numbers: None)

    pipe: Any = SimpleNamespace(send=sent.append)
    bench._child(pipe, load(RunCfg, ["sim=dummy"]), 1.0, ())
    assert sent == [("failed", failure)]


def test_a_process_that_is_killed_is_a_row():
    """Not even memory that the system refuses by force ends the bench."""
    cfg = load(RunCfg, ["sim=dummy", "budget=demo"])
    cfg.sim = Deadly()
    row = bench._apart(cfg, 1.0, ())
    assert row.speed is None and row.failure == "out of memory, it seems: killed"


class Deadly:
    """Kills the process that unpacks it."""

    def __reduce__(self):
        return eval, ("__import__('os').kill(__import__('os').getpid(), 9)",)


def test_a_clock_waits_for_the_card(monkeypatch):
    waited = []
    monkeypatch.setattr("torch.cuda.synchronize", waited.append)
    card = speed.torch.device("cuda:1")
    speed.Stopwatch(card).now()
    speed.Stopwatch(speed.torch.device("cpu")).now()
    assert waited == [card]


def test_work_is_repeated_until_its_time_is_over(monkeypatch):
    time, done = [0.0], []

    clock: Any = SimpleNamespace(now=lambda: time[0])

    def work():
        time[0] += 0.5
        done.append(1)

    assert speed._repeat(work, clock, 10.0) == (len(done), time[0])
    assert 10.0 <= time[0] <= 11.0
    assert speed._repeat(work, clock, 0) == (1, 0.5)
