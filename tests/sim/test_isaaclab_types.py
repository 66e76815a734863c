"""The second type check: the adapter against the types in Isaac Lab's source."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.fakekit.kit import ROOT, SOURCE, require_source

FILES = ("isaaclab.py", "isaaclab_app.py", "isaaclab_scene.py")
MISTAKES = {
    "isaaclab_scene.py": ("env_spacing=cfg.env_spacing", "env_spaces=cfg.env_spacing"),
    "isaaclab.py": ("find_joints(names, preserve_order=True)", "find_joints(names, ordered=True)"),
    "isaaclab_app.py": (
        "from isaaclab.app import AppLauncher",
        "from isaaclab.app import Launcher",
    ),
}


def check(folder):
    """Run pyright with our rules on copies in a folder; return the files with errors."""
    settings = json.loads((ROOT / "pyright-isaaclab.json").read_text())
    settings["extraPaths"] = [
        str(SOURCE / path.split("/", 1)[1]) for path in settings["extraPaths"]
    ]
    settings["extraPaths"].append(str(ROOT))
    settings["include"] = list(FILES)
    del settings["venv"], settings["venvPath"]
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run([*command, "-p", str(folder)], capture_output=True, text=True)
    return sorted(
        {Path(found["file"]).name for found in json.loads(done.stdout)["generalDiagnostics"]}
    )


@pytest.mark.slow
@pytest.mark.parametrize("mistaken", [False, True])
def test_types_of_the_wheel(tmp_path, mistaken):
    require_source()
    for name in FILES:
        shutil.copy(ROOT / "s2m" / "sim" / name, tmp_path)
    if mistaken:
        for name, (old, new) in MISTAKES.items():
            source = (tmp_path / name).read_text()
            assert old in source
            (tmp_path / name).write_text(source.replace(old, new))
    assert check(tmp_path) == (sorted(MISTAKES) if mistaken else [])
