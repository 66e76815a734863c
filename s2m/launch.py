"""Train runs: python -m s2m.launch encoder=pfds permute=true seed=40."""

from dataclasses import asdict
from pathlib import Path

from s2m.compose import CONF, describe, load
from s2m.config import RunCfg
from s2m.errors import run_command
from s2m.run.code import code_state
from s2m.run.folder import RunFolder
from s2m.run.identity import run_path

STOPPED_CODE = 75
"""Exit code of a run that was asked to stop and can go on (EX_TEMPFAIL)."""


def main(words: list[str]) -> int:
    """Compose a config, create or find its run folder and train it in the foreground."""
    if "--help" in words or "-h" in words:
        print("python -m s2m.launch [setting=value ...]\n\n" + "\n".join(describe(RunCfg)))
        return 0
    cfg = load(RunCfg, "config", words)
    config = asdict(cfg)
    folder = RunFolder.create(
        run_path(Path(cfg.root), cfg.experiment, config), config, code_state(CONF.parent)
    )
    from s2m.progress import Progress
    from s2m.train import STOPPED, train

    outcome = train(folder, Progress.automatic())
    print(f"{outcome}: {folder.path}")
    return STOPPED_CODE if outcome == STOPPED else 0


if __name__ == "__main__":
    run_command(main)
