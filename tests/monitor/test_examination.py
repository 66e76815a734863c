"""From the results of checks to what is missing for a purpose."""

import json

import pytest

from s2m.monitor import examination
from s2m.monitor.checks import Result
from s2m.monitor.examination import CLUSTER, LOCAL, examine


def broken(root, cluster):
    raise RuntimeError("no driver")


@pytest.fixture(autouse=True)
def checks(monkeypatch):
    monkeypatch.setattr(
        examination,
        "CHECKS",
        {
            "python": (lambda root, cluster: Result(True, "3.11", "not told"), (LOCAL, CLUSTER)),
            "gpu": (lambda root, cluster: Result(False, "none", "get one"), (CLUSTER,)),
            "gl": (broken, ()),
            "wandb": (lambda root, cluster: Result(True, "old", "update it", hint=True), ()),
            "purpose": (lambda root, cluster: Result(cluster, str(root), "ask"), (CLUSTER,)),
        },
    )


def test_what_is_missing_depends_on_the_purpose(tmp_path):
    local, cluster = examine(tmp_path, LOCAL), examine(tmp_path, CLUSTER)
    assert [f.status for f in local.findings] == ["ok", "absent", "absent", "ok", "absent"]
    assert [f.status for f in cluster.findings] == ["ok", "missing", "absent", "ok", "ok"]
    assert local.missing == [] and cluster.missing == ["gpu"]


def test_a_fix_is_told_where_something_is_wrong_or_worth_a_hint(tmp_path):
    fixes = [finding.fix for finding in examine(tmp_path, CLUSTER).findings]
    assert fixes == ["", "get one", "see the message", "update it", ""]


def test_a_check_that_breaks_down_is_a_finding(tmp_path):
    assert examine(tmp_path, LOCAL).findings[2].found == "RuntimeError: no driver"


def test_people_are_told_the_verdict_last(tmp_path):
    assert examine(tmp_path, LOCAL).as_text().endswith("\nready for sim=mujoco cluster=local")
    text = examine(tmp_path, CLUSTER).as_text()
    assert text.endswith("\nnot ready for sim=isaaclab cluster=slurm: gpu")
    assert "missing  gpu          none\n                      -> get one\n" in text


def test_programs_are_told_the_same(tmp_path):
    told = json.loads(examine(tmp_path, CLUSTER).as_json())
    assert told["ready"] is False and told["missing"] == ["gpu"] and told["purpose"] == CLUSTER
    assert [check["name"] for check in told["checks"]] == list(examination.CHECKS)
    assert json.loads(examine(tmp_path, LOCAL).as_json())["ready"] is True
