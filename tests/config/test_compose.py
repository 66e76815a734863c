"""From words and YAML files to a checked config, or one line that says what to do."""

import shutil
from dataclasses import replace

import pytest

from s2m.config.compose import ALIASES, load, settings
from s2m.config.distill import StudentCfg
from s2m.config.run import RunCfg
from s2m.config.search import CONF, REPOSITORY
from s2m.config.sim import SIMULATORS
from s2m.console.errors import UserError


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """Return a copy of conf/ to which a test may add files."""
    copy = shutil.copytree(CONF, tmp_path / "conf")
    for module in ("compose", "search"):
        monkeypatch.setattr(f"s2m.config.{module}.CONF", copy)
    return copy


def refused(*words):
    with pytest.raises(UserError) as error:
        load(RunCfg, list(words))
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("text", ["partition: gpu\naccount: me\n", "", "- partition\n"])
def test_a_profile_without_its_schema_is_refused(conf, text):
    """Nobody would check its values, and the runs would be taken for local ones."""
    (conf / "cluster" / "mysite.yaml").write_text(text)
    line = "conf/cluster/mysite.yaml does not say which settings it has: begin it with "
    assert refused("cluster=mysite").startswith(line)


def test_a_setting_of_a_profile_without_its_schema_is_not_to_blame(conf):
    (conf / "cluster" / "mysite.yaml").write_text("partition: gpu\n")
    assert "or 'defaults: [slurm_schema]', as" in refused("cluster=mysite", "cluster.minutes=5")


SLURM = "defaults:\n  - slurm_schema\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("partion: gpu", "unknown setting 'cluster.partion'. Did you mean 'cluster.partition'?"),
        ("memory: 48G", "cluster.memory = 48G: must be a number"),
        (
            "setup: module load x",
            "cluster.setup = module load x: must be a list of text",
        ),
        ("gpus:", "cluster.gpus = nothing: must be an integer"),
    ],
)
def test_a_wrong_value_in_a_file_is_told_with_the_file(conf, text, line):
    (conf / "cluster" / "mysite.yaml").write_text(f"{SLURM}{text}\n")
    assert refused("cluster=mysite").startswith(f"conf/cluster/mysite.yaml: {line}")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\tpartition: gpu", "line 3: is not valid YAML: found character"),
        (
            'partition: "gpu',
            "line 4: is not valid YAML: while scanning a quoted scalar from line 3, found",
        ),
        (
            "gpus: 1\ngpus: 2",
            "line 4: is not valid YAML: while constructing a mapping from line 1, found",
        ),
    ],
)
def test_a_file_that_is_no_yaml_is_told_with_its_line(conf, text, line):
    path = conf / "cluster" / "mysite.yaml"
    path.write_text(f"{SLURM}{text}\n")
    assert refused("cluster=mysite").startswith(f"{path}, {line}")


def test_defaults_that_are_no_list_are_one_line(conf):
    (conf / "cluster" / "mysite.yaml").write_text("defaults: slurm_schema\n")
    assert refused("cluster=mysite").endswith("defaults must be a list (got str)")


def test_hours_are_not_taken_for_minutes(conf):
    """YAML 1.1 reads 24:00:00 as 86400, which would be sixty days."""
    (conf / "cluster" / "mysite.yaml").write_text(f"{SLURM}minutes: 24:00:00\n")
    line = "cluster.minutes = 86400: allowed 1 to 43200 (time limit in whole minutes, 1440 for 24 h"
    assert refused("cluster=mysite").startswith(line)


BUDGETS = sorted(REPOSITORY.options("budget"))
BROUGHT = {"demo": "mujoco", "desktop": "mujoco", "paper": "isaaclab", "workstation": "warp"}
"""The simulator of each budget, unless the command names another."""


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_budget_composes_with_every_simulator(budget):
    plain = load(RunCfg, [f"budget={budget}"])
    assert (plain.budget.name, plain.sim.name) == (budget, BROUGHT[budget])
    for sim in SIMULATORS:
        cfg = load(RunCfg, [f"sim={sim}", f"budget={budget}"])
        assert cfg.sim.name == sim
        assert replace(cfg, sim=plain.sim) == plain


@pytest.mark.parametrize("budget", BUDGETS)
def test_what_the_command_says_wins_over_the_budget(budget):
    words = ["size=demo", "ppo=desktop", "curriculum=demo", "budget.num_envs=7", "sim=warp"]
    cfg = load(RunCfg, [*words, "sim.device=cpu", f"budget={budget}"])
    assert (cfg.encoder.width, cfg.budget.hidden) == (16, [32, 32])
    assert (cfg.ppo.init_std, cfg.curriculum.window, cfg.budget.num_envs) == (0.6, 20, 7)
    assert (cfg.sim.name, cfg.sim.device) == ("warp", "cpu")


@pytest.mark.parametrize("budget", BUDGETS)
def test_every_budget_has_a_distillation_of_its_name(budget):
    """Students take the budget of their teacher over by its name."""
    assert load(StudentCfg, [f"distill={budget}"]).distill.name == budget


def test_a_workstation_learns_as_the_paper_from_fewer_samples():
    paper, workstation = (
        load(RunCfg, [f"budget={name}", "sim=warp"]) for name in ("paper", "workstation")
    )
    size = {"name", "version", "iterations", "num_envs", "checkpoint_every"}
    same = {name: getattr(paper.budget, name) for name in size}
    assert replace(workstation, budget=replace(workstation.budget, **same)) == paper


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("ppo.lr=1", "ppo.learning_rate"),
        ("lr=1", "ppo.learning_rate"),
        ("gamma=1", "ppo.gamma"),
        ("num_envs=8", "budget.num_envs"),
        ("ppo.gama=1", "ppo.gamma"),
        ("clip_range=0.1", "ppo.clip"),
        ("ppo.ent_coef=0", "ppo.entropy"),
        ("entropy_coef=0", "ppo.entropy"),
        ("ppo.vf_coef=1", "ppo.value"),
        ("n_steps=24", "budget.steps"),
        ("ppo.batch_size=4", "ppo.mini_batches"),
        ("max_iterations=9", "budget.iterations"),
        ("seeds=1", "seed"),
    ],
)
def test_a_setting_is_found_by_what_others_call_it_or_without_its_group(word, meant):
    assert f"Did you mean '{meant}'?" in refused(word)


def test_every_other_name_means_one_setting():
    names = [name for name, _, _ in settings(RunCfg())]
    for alias, name in ALIASES.items():
        assert sum(f".{known}".endswith(f".{name}") for known in names) == 1, alias


def test_of_several_settings_of_a_name_none_is_guessed():
    assert "Did you mean" not in refused("margin=1")  # a weight of the reward, and a criterion
