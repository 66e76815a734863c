"""From words and YAML files to a checked config, or one line that says what to do."""

import shutil

import pytest

from s2m.config.compose import load
from s2m.config.run import RunCfg
from s2m.config.search import CONF
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
        ("memory: 48G", "cluster.memory = 48G: allowed are numbers"),
        (
            "setup: module load x",
            "cluster.setup = module load x: allowed is a list of text",
        ),
        ("gpus:", "cluster.gpus = nothing: allowed are whole numbers"),
    ],
)
def test_a_wrong_value_in_a_file_is_told_with_the_file(conf, text, line):
    (conf / "cluster" / "mysite.yaml").write_text(f"{SLURM}{text}\n")
    assert refused("cluster=mysite").startswith(f"conf/cluster/mysite.yaml: {line}")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\tpartition: gpu", "line 3: is no YAML: found character"),
        (
            'partition: "gpu',
            "line 4: is no YAML: while scanning a quoted scalar from line 3, found",
        ),
        ("gpus: 1\ngpus: 2", "line 4: is no YAML: while constructing a mapping from line 1, found"),
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
