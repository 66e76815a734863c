"""What is missing on this machine, and how to get it.

    python -m s2m.doctor [FOLDER] [--cluster] [--json]

FOLDER is where runs will be kept. It checks whether runs can be trained on the cores of this
machine; with --cluster, on SLURM with Isaac Lab: then call it where jobs run, e.g.
`srun --gres=gpu:1 python -m s2m.doctor --cluster`. Exits with 0 if nothing required is missing.
"""

import os
from pathlib import Path

from s2m.config.overrides import with_folder
from s2m.console.errors import UserError, run_command
from s2m.monitor.examination import CLUSTER, LOCAL, examine


def main(words: list[str]) -> int:
    """Print what was found, as text or as JSON."""
    if "--help" in words or "-h" in words:
        print((__doc__ or "").strip())
        return 0
    words = with_folder(words)
    flags = {word for word in words if word.startswith("-")}
    paths = [word for word in words if not word.startswith("-")]
    if flags - {"--cluster", "--json"} or len(paths) > 1:
        raise UserError("usage: python -m s2m.doctor [FOLDER] [--cluster] [--json]")
    for path in paths:
        if "=" in path and not Path(path).is_dir():
            raise UserError(f"{path}: not a directory; name it alone, or write root=DIR")
    root = Path(paths[0] if paths else "runs")
    found = examine(root, CLUSTER if "--cluster" in flags else LOCAL)
    print(found.as_json() if "--json" in flags else found.as_text())
    return 1 if found.missing else 0


if __name__ == "__main__":
    # A library that prints while it is imported must not spoil the JSON.
    os.environ.setdefault("WANDB_SILENT", "true")
    run_command(main)
