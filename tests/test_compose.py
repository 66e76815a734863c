"""From words and YAML files to a checked config, or one line that says what to do."""

import shutil

import pytest

from s2m.compose import CONF, load
from s2m.config import RunCfg
from s2m.errors import UserError


@pytest.fixture
def conf(tmp_path, monkeypatch):
    """Return a copy of conf/ to which a test may add files."""
    copy = shutil.copytree(CONF, tmp_path / "conf")
    monkeypatch.setattr("s2m.compose.CONF", copy)
    return copy


def refused(*words):
    with pytest.raises(UserError) as error:
        load(RunCfg, "config", list(words))
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
