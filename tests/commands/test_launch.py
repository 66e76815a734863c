"""The launch command in the foreground: identity, resume, one-line errors."""

import re
import shlex
import signal
import subprocess
import sys

import pytest

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.config.search import ROOT
from s2m.console.errors import UserError
from s2m.launch import main
from s2m.monitor.index import NAME
from s2m.monitor.survey import survey
from s2m.run.folder import find_runs
from s2m.run.journal import Journal
from s2m.run.status import CODES, STOPPED
from tests.waiting import wait_for
from tests.words import latest

TINY = ["sim=dummy", "budget=demo", "budget.num_envs=8", "budget.steps=4", "budget.iterations=6"]


def test_a_run_gets_a_folder_named_by_variant_seed_and_signature(tmp_path, capsys):
    assert main([*TINY, f"root={tmp_path}", "encoder=dshc", "permute=false", "seed=7"]) == 0
    (run,) = find_runs(tmp_path)
    assert run.path.parent.name == "default"
    assert run.path.name.startswith("dshc_off-s7-")
    assert run.identity.signature.startswith(run.path.name[-8:])
    assert f"finished: {run.path}" in capsys.readouterr().out


def test_a_run_in_the_foreground_keeps_its_lines(tmp_path, capsys):
    main([*TINY, f"root={tmp_path}"])
    (run,) = find_runs(tmp_path)
    said = run.log.read_text()
    assert "level 1, iteration 6/6" in said and f"finished: {run.path}" in said
    shown = capsys.readouterr().out
    assert all(line in shown for line in said.splitlines())


def test_the_same_command_again_trains_nothing(tmp_path):
    words = [*TINY, f"root={tmp_path}"]
    main(words)
    (run,) = find_runs(tmp_path)
    before = run.journal.read_bytes()
    assert main(words) == 0
    assert run.journal.read_bytes() == before


def test_what_cannot_change_a_result_does_not_change_the_identity(tmp_path):
    main([*TINY, f"root={tmp_path / 'a'}", "experiment=first"])
    main([*TINY, f"root={tmp_path / 'b'}", "experiment=second"])
    a, b = (next(find_runs(tmp_path / name)) for name in "ab")
    assert a.identity.signature == b.identity.signature
    main([*TINY, f"root={tmp_path / 'a'}", "ppo.gamma=0.98"])
    assert len({run.identity.signature for run in find_runs(tmp_path / "a")}) == 2


def test_runs_inside_the_checkout_are_no_part_of_their_code(tmp_path, monkeypatch):
    """Their patch would hold all runs before them, and every run would count as changed code."""
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "code.py").touch()
    for words in (["init", "-q"], ["add", "code.py"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    monkeypatch.setattr("s2m.cluster.plan.ROOT", tmp_path)
    for seed, root in enumerate(("mine", "mine", "other")):
        assert main([*TINY, f"root={tmp_path / root}", f"seed={seed}"]) == 0
    runs = list(find_runs(tmp_path / "mine")) + list(find_runs(tmp_path / "other"))
    assert [(run.identity.dirty, run.patch.exists()) for run in runs] == 3 * [(False, False)]
    (tmp_path / "code.py").write_text("changed = True\n")
    assert main([*TINY, f"root={tmp_path / 'other'}", "seed=3"]) == 0
    *_, last = sorted(find_runs(tmp_path / "other"), key=lambda run: run.identity.seed)
    assert last.identity.dirty and last.patch.read_text().count("diff --git") == 1


def test_what_status_keeps_is_ignored_by_git():
    """`python -m s2m.status results/desktop` would change the checkout."""
    place = ROOT / "results" / "desktop" / NAME
    assert subprocess.run(["git", "-C", str(ROOT), "check-ignore", "-q", place]).returncode == 0


def until_stopped(command, root, after):
    """Return what the command prints until Ctrl-C, some time after an iteration."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    wait_for(
        lambda: any((Journal(run).last() or (0,))[0] > after for run in find_runs(root)),
        child=process,
    )
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == CODES[STOPPED] and "stopped at iteration" in out
    return out


def test_ctrl_c_checkpoints_and_the_same_command_goes_on(tmp_path):
    words = latest(*TINY, "budget.iterations=4000", f"root={tmp_path}")
    command = [sys.executable, "-m", "s2m.launch", *words]
    until_stopped(command, tmp_path, 0)
    (run,) = find_runs(tmp_path)
    stopped_at = Journal(run).last()[0]
    run.stop.touch()  # somebody cancelled it while nobody was at it
    out = until_stopped(command, tmp_path, stopped_at)
    assert f"resumed at iteration {stopped_at}" in out and not run.stop.exists()


def test_a_failure_in_the_foreground_stands_in_the_events(tmp_path):
    """A sweep would otherwise take the run for one that was interrupted, and repeat it."""
    words = [*TINY, f"root={tmp_path}", "ppo.kl_target=0", "ppo.learning_rate=1e30"]
    with pytest.raises(UserError, match="diverged at iteration"):
        main(words)
    (entry,) = survey(tmp_path)
    assert (entry.state.status, entry.verdict) == ("failed", "not a number")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["encoder=pdfs"], "unknown encoder 'pdfs'. Did you mean 'pfds'? Allowed: branch_mlp"),
        (["encoder=3"], "unknown encoder '3'. Allowed: branch_mlp, dshc"),
        (["encoder=[pfds,dshc]"], "unknown encoder '[pfds,dshc]'. Allowed: branch_mlp, dshc"),
        (["encoder=[]"], "unknown encoder '[]'. Allowed: branch_mlp, dshc"),
        (["encoder=schema"], "unknown encoder 'schema'. Allowed: branch_mlp, dshc"),
        (["task.noise=3"], "task.noise has settings of its own: write task.noise.NAME=VALUE"),
        (["seed=abc"], "seed = abc: must be an integer"),
        (["seed=-1"], "seed = -1: allowed 0 to"),
        (["permute=maybe"], "permute = maybe: must be true or false"),
        (["budget=tiny"], "unknown budget 'tiny'. Allowed: demo, desktop, paper, "),
        (["experiment=../x"], "experiment = '../x': allowed are"),
        (["ppo.gamma=1.5"], "ppo.gamma = 1.5: allowed 0 to 1"),
        (
            ["budget.hidden=64"],
            "budget.hidden = 64: must be a list of integers, as in",
        ),
        (["budget.hidden=[]"], "budget.hidden = []: needs at least one value"),
        (["evaluate.levels=[]"], "evaluate.levels = []: needs at least one value"),
        (["evaluate.levels=[1,1]"], "evaluate.levels = [1, 1]: needs every value once (numbers"),
        (["curriculum.start=5", "curriculum.stop=2"], "curriculum.start = 5: allowed are at most"),
        (["task.reward.margin=nan"], "task.reward.margin = nan: allowed are finite numbers"),
        (["ppo.learning_rate=inf"], "ppo.learning_rate = inf: allowed are finite numbers (learn"),
        (["ppo.mini_batches=1000000"], "ppo.mini_batches = 1000000: allowed are at most as many"),
        (["task.command.bandwidth=200"], "task.command.bandwidth = 200.0: allowed above 0 and at"),
        (["distill=demo"], "distill belongs to students: python -m s2m.distill"),
    ],
)
def test_bad_input_is_one_line(tmp_path, words, line):
    with pytest.raises(UserError) as error:
        main(latest(*TINY, f"root={tmp_path}", *words))
    assert str(error.value).startswith(line) and "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_comma_in_the_root_is_told_apart_from_several_runs(tmp_path, capsys):
    words = [*TINY, "dry=true"]
    with pytest.raises(UserError, match="several runs: .* with a comma in quotes: 'root=\"a,b\"'"):
        main([*words, f"root={tmp_path}/a,b"])
    with pytest.raises(UserError, match="root must be .*a comma in it needs quotes: 'root=\"a,b"):
        main(["-m", *words, f"root={tmp_path}/a,b"])
    assert main([*words, f'root="{tmp_path}/a,b"']) == 0
    assert "1 of 1 runs would be executed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["-cn", "foo"], "'-cn' is an option of Hydra: .* choose a file per group .*sweep=NAME"),
        (["--config-name=foo"], "'--config-name' is an option of Hydra: there is one config"),
        (["-cd", "mine"], "'-cd' is an option of Hydra: write --config-dir DIR"),
        (["--config-path", "conf"], "'--config-path' is an option of Hydra: write --config-dir"),
        (["seeds=1,2"], "unknown setting 'seeds'. Did you mean 'seed'"),
        (["seed=1,2"], "the command names several runs: add -m"),
    ],
)
def test_habits_and_typos_are_told_by_name(words, line):
    with pytest.raises(UserError, match=f"^{line}"):
        main(words)


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write to the folder of runs .*: File exists"):
        main([*TINY, f"root={tmp_path / 'file'}"])


def test_brackets_of_paths_and_environment_are_no_markup(tmp_path, monkeypatch, capsys):
    words = ["-m", *TINY, f'root="{tmp_path}/a[/b]"']
    main([*words, "dry=true"])
    assert "a[/b]" in capsys.readouterr().out
    monkeypatch.setattr("s2m.cluster.launch._pool", lambda *_: 0)
    monkeypatch.setenv("WANDB_MODE", "[/x]")
    assert main(words) == 0
    assert "WANDB_MODE=[/x] is unknown" in capsys.readouterr().out


def test_help_lists_the_groups_of_a_run(capsys):
    main(["--help"])
    text = capsys.readouterr().out
    assert "\n  encoder      branch_mlp, dshc" in text and "\n  distill " not in text


@pytest.mark.parametrize("name", ["sim.max_patches", "sim.contact_force", "cluster.minutes"])
def test_help_lists_the_settings_of_a_cluster(capsys, name):
    main(["--help"])
    assert f"\n  {name}=" in capsys.readouterr().out


def test_help_tells_how_options_of_sbatch_are_written(capsys):
    main(["--help"])
    (example,) = re.findall(r"as in ('cluster.sbatch=.*')", capsys.readouterr().out)
    cfg = load(RunCfg, ["cluster=slurm", *shlex.split(example)])
    assert cfg.cluster.sbatch == ["--mail-type=FAIL"]
