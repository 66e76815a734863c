from pathlib import Path
from typing import Any

import pandas
import pytest

from s2m.run.folder import RunFolder
from s2m.run.metrics import VOLATILE


@pytest.fixture(autouse=True)
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: syncing matters when the power is cut, and no test does that."""
    monkeypatch.setattr("os.fsync", lambda _: None)


@pytest.fixture
def config() -> dict[str, Any]:
    return {
        "encoder": {"name": "pfds", "width": 64},
        "permute": True,
        "seed": 40,
        "ppo": {"learning_rate": 3e-4, "clip": 0.2},
        "cluster": {"name": "local"},
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder whose name breaks careless code."""
    path = tmp_path / "Läufe von 'mir' & \"dir\" $HOME *"
    path.mkdir()
    return path


@pytest.fixture
def folder(root: Path, config: dict[str, Any]) -> RunFolder:
    return RunFolder.create(root / "run", config)


def deterministic(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Return the columns that must be equal for equal runs, without the `VOLATILE` ones."""
    return frame.drop(columns=[name for name in frame.columns if name.startswith(VOLATILE)])
