"""The workspace on the stand-in: its panels, its grouping, made once and then updated."""

import json
import subprocess
import sys

from s2m.config.curriculum import CRITERIA
from s2m.tracking.panels import sections
from s2m.tracking.workspace import TITLE


def dashboard(*words):
    command = [sys.executable, "-m", "s2m.dashboard", *words]
    return subprocess.run(command, capture_output=True, text=True)


def panels(view):
    """Return the config of every panel by its title."""
    spec = json.loads(view["spec"])
    found = {}
    for section in spec["section"]["panelBankConfig"]["sections"]:
        for panel in section.get("panels", []):
            config = panel["config"]
            found[config.get("chartTitle") or config.get("title")] = config
    return spec, found


def test_the_workspace_is_created_then_updated(server):
    server.store.make("s2m-trek", "some-run")
    first, second = dashboard(), dashboard("--project", "loopback/s2m-trek")
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("created ") and "/loopback/s2m-trek?nw=s2mtrek" in first.stdout
    assert second.stdout == first.stdout.replace("created", "updated"), second.stderr
    (view,) = server.store.views.values()
    assert view["displayName"] == TITLE
    spec, found = panels(view)
    wanted = {panel.title: panel for views in sections().values() for panel in views}
    assert found.keys() == wanted.keys()
    for title, panel in wanted.items():
        assert set(panel.metrics) <= set(found[title]["metrics"]), title
    shown = {name for panel in wanted.values() for name in panel.metrics}
    assert {"curriculum/level", "evaluate/no_drop_k5", "symmetry/frame_mean"} <= shown
    assert {f"{kind}/{name}" for name in CRITERIA for kind in ("criteria", "threshold")} <= shown
    assert {"reward/margin", "throughput/samples_per_s"} <= shown
    groups = json.dumps(spec["section"]["runSets"][0]["grouping"])
    assert "encoder" in groups and "permute" in groups


def test_mistakes_are_one_line(server):
    server.store.make("s2m-trek", "some-run")
    for words, said in {
        ("--project", "loopback/nowhere"): "has no project loopback/nowhere",
        ("--project", "nobody/s2m-trek"): "knows no entity 'nobody'",
        ("--project", "a/b/c"): "write entity/name",
    }.items():
        done = dashboard(*words)
        assert done.returncode == 2 and said in done.stderr, done.stderr
        assert len(done.stderr.strip().splitlines()) == 1
