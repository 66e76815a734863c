"""What of a run is more than a number: tables of episodes, films, and checkpoints if asked for."""

from collections.abc import Iterator
from typing import Any

from s2m.run.files import sha256
from s2m.run.folder import RunFolder, saved
from s2m.tracking import contents

SUCCESS = "success"
"""Name of the table of an evaluation."""


def tables(folder: RunFolder) -> dict[str, Any]:
    """Return the evaluation as W&B tables: success per number of balls, and every episode."""
    import pyarrow.parquet as pq
    import wandb

    result = folder.result("evaluate") or {"successes": {}}
    rates: list[Any] = [
        [int(k), counts["n"], counts["strict"], counts["no_drop"]]
        for k, counts in result["successes"].items()
    ]
    found = {SUCCESS: wandb.Table(columns=["k", "episodes", "strict", "no_drop"], data=rates)}
    if "episodes" in result:
        episodes = pq.read_table(folder.inside(result["episodes"]))
        data: list[Any] = [list(row.values()) for row in episodes.to_pylist()]
        found["episodes"] = wandb.Table(columns=episodes.column_names, data=data)
    return found


def films(folder: RunFolder) -> Iterator[tuple[str, str, Any]]:
    """Yield checksum, name and W&B video of the films that lie in the folder."""
    import wandb

    for path in contents.films(folder):
        folder.inside(path.name)
        video = wandb.Video(str(path), format=path.suffix[1:])  # pyright: ignore
        yield sha256(path.read_bytes()), path.stem, video


def artifacts(folder: RunFolder, run_id: str) -> Iterator[tuple[str, str, Any, list[str]]]:
    """Yield checksum, name, W&B artifact and aliases of the checkpoints that a run keeps."""
    import wandb

    for path in saved(folder):
        iteration, _, tag = path.stem.partition("-")
        if not tag:
            continue
        folder.inside(path.relative_to(folder.path))
        artifact = wandb.Artifact(
            f"policy-{run_id}", type="checkpoint", metadata={"iteration": int(iteration)}
        )
        artifact.add_file(str(path), name="checkpoint.pt", policy="immutable")
        yield sha256(path.read_bytes()), path.name, artifact, [tag]
