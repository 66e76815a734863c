"""Every command takes its own options only, and shows the config it has composed."""

from dataclasses import asdict
from importlib import import_module
from pathlib import Path

import pytest
import yaml

from s2m import distill, evaluate, replay
from s2m.cluster.distill import compose_student
from s2m.config.compose import load
from s2m.config.evaluate import EvaluateCfg
from s2m.config.replay import ReplayCfg
from s2m.config.search import CONF
from s2m.console.errors import UserError
from s2m.run.folder import RunFolder
from s2m.run.identity import folder_name

STUDY = Path(__file__).parents[2] / "results" / "desktop" / "encoders"
TEACHER, STUDENT = (STUDY / name for name in ("pfds-s40-01e39876", "tactset-s40-7e75a520"))
COMMANDS = {
    "audit": [[], "--help"],
    "bench": [[], "--json, --out, --help, --config-dir"],
    "cancel": [["runs"], "--yes"],
    "dashboard": [[], "--project ENTITY/NAME"],
    "distill": [["teacher=lqr"], "--help, --cfg, --info, --partial, --config-dir"],
    "doctor": [[], "[--cluster] [--json]"],
    "evaluate": [["agent=lqr"], "--multirun, --help, --cfg, --info, --config-dir"],
    "export": [["run"], "--help, --config-dir"],
    "job": [["run"], "RUN_FOLDER [sim=warp|mujoco] [sim.device=cuda:0]"],
    "launch": [[], "--multirun, --help, --cfg, --info, --wait, --clean, --config-dir"],
    "logs": [["run"], "[--lines N] [--follow] RUN"],
    "replay": [["agent=lqr"], "--help, --cfg, --info, --config-dir"],
    "status": [[], "[--watch] [--json | --html FILE | --serve [PORT]]"],
    "sync": [[], "[--all] [--watch] [--every SECONDS]"],
}
"""Words that are right, and what is said to be allowed beside them."""


def test_every_command_is_asked():
    found = {path.stem for path in Path(evaluate.__file__).parent.glob("[!_]*.py")}
    assert found == {*COMMANDS}


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_of_no_command_is_refused_in_one_line(name):
    words, allowed = COMMANDS[name]
    with pytest.raises(UserError) as error:
        import_module(f"s2m.{name}").main([*words, "--no-such"])
    assert allowed in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    "name, option",
    [
        ("evaluate", "--wait"),
        ("evaluate", "--clean"),
        ("evaluate", "--partial"),
        ("distill", "--wait"),
        ("distill", "-m"),
        ("replay", "-m"),
        ("replay", "--wait"),
        ("export", "--cfg"),
        ("launch", "--partial"),
    ],
)
def test_an_option_of_another_command_is_refused(name, option):
    with pytest.raises(UserError, match=f"unknown option '{option}'.* Allowed: .*--help"):
        import_module(f"s2m.{name}").main([*COMMANDS[name][0], option])


@pytest.mark.parametrize(
    "command, schema", [(evaluate, EvaluateCfg), (replay, ReplayCfg)], ids=["evaluate", "replay"]
)
def test_the_config_of_an_agent_is_printed_and_nothing_done(command, schema, capsys, tmp_path):
    words = ["agent=zero", "sim=dummy", "task=demo", "seed=7", f"out={tmp_path / 'out.csv'}"]
    command.main([*words, "--cfg", "job"])
    out = capsys.readouterr().out
    assert yaml.safe_load(out) == asdict(load(schema, words)) and "#" not in out
    command.main([*words, "--info"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"# searched: {CONF}", "# chosen: sim=dummy task=demo"]
    assert lines[2:] == out.splitlines() and not list(tmp_path.iterdir())


def test_the_config_of_an_evaluation_has_the_shifted_world_of_its_run(capsys):
    words = [f"run={STUDENT}", "task.noise.position=0.03", "faults.delay=1"]
    evaluate.main([*words, "--info"])
    out = capsys.readouterr().out
    assert f"# world: of {STUDENT.name}" in out
    shown, own = yaml.safe_load(out), RunFolder.open(STUDENT).executed()
    assert shown["task"]["noise"].pop("position") == 0.03 != own["task"]["noise"].pop("position")
    assert shown["task"]["noise"] == own["task"]["noise"]
    assert shown["sim"]["name"] == own["sim"]["name"] and shown["faults"]["delay"] == 1


def test_the_config_of_a_film_has_the_world_of_its_run(capsys):
    replay.main([f"run={TEACHER}", "--cfg", "job"])
    shown, own = yaml.safe_load(capsys.readouterr().out), RunFolder.open(TEACHER).executed()
    assert shown["task"]["command"].items() >= own["task"]["command"].items()


def test_several_evaluations_have_no_single_config():
    with pytest.raises(UserError, match="--cfg and --info show one evaluation: leave out -m"):
        evaluate.main(["-m", f"run={TEACHER}", "--cfg", "job"])


@pytest.mark.parametrize("teacher", ["lqr", TEACHER], ids=["agent", "run"])
def test_the_config_of_a_student_is_printed_and_nothing_taught(teacher, capsys, tmp_path):
    words = [f"teacher={teacher}", "seed=7", f"root={tmp_path}"]
    assert distill.main([*words, "--cfg", "job"]) == 0
    out = capsys.readouterr().out
    cfg = compose_student(words)
    assert yaml.safe_load(out) == asdict(cfg) and "#" not in out
    assert distill.main([*words, "--info"]) == 0
    place = f"# folder: {tmp_path}/{cfg.experiment}/{folder_name(asdict(cfg))}"
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"# searched: {CONF}", place]
    assert not list(tmp_path.iterdir())
