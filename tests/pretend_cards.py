"""GPUs that exist by name only: an nvidia-smi that lists them, and jobs that believe in them.

Called as a program it is `s2m.job` with sim=warp replaced by a simulator without physics, which
fails like CUDA once its card is lost.
"""

import os
import sys
from pathlib import Path

from s2m.config.sim import DummyCfg, WarpCfg
from s2m.sim.dummy import DummySimulator

ROOT = Path(__file__).parents[1]

SMI = """#!/bin/sh
case "$1" in
  --query-gpu=*) /bin/cat '{folder}/cards' ;;
  *) echo '| NVIDIA-SMI {driver}   Driver Version: {driver}   CUDA Version: {cuda} |' ;;
esac
"""
JOB = """#!/bin/sh
export PYTHONPATH='{root}'
exec '{python}' -m tests.pretend_cards '{folder}' "$3"
"""


class PretendedCards:
    """Cards in a folder, of which each can be lost."""

    def __init__(self, folder: Path, count: int, driver: str = "580.65.06", cuda: str = "13.0"):
        self.folder, self.driver = folder, driver
        folder.mkdir(exist_ok=True)
        self.list_cards(range(count))
        self._write("nvidia-smi", SMI.format(folder=folder, driver=driver, cuda=cuda))
        self.python = self._write(
            "job", JOB.format(folder=folder, root=ROOT, python=sys.executable)
        )
        """The interpreter that executes jobs on these cards."""

    def _write(self, name, text):
        (self.folder / name).write_text(text)
        (self.folder / name).chmod(0o755)
        return str(self.folder / name)

    def list_cards(self, numbers, model="NVIDIA L40S"):
        lines = [f"{n}, GPU-{n}{n}{n}-a, {model}, 46068, {self.driver}\n" for n in numbers]
        (self.folder / "cards").write_text("".join(lines))

    def lose(self, number):
        """Let every step on a card fail from now on."""
        (self.folder / f"lost-{number}").touch()

    def seen(self):
        """Return, of every job, what CUDA_VISIBLE_DEVICES was when it began and when it ended."""
        return [line.split() for line in (self.folder / "seen").read_text().splitlines()]


class CardSimulator(DummySimulator):
    """Points on a tilting plate, as long as the card is there."""

    folder: Path

    def __init__(self, cfg: WarpCfg, num_envs: int, **rest: object) -> None:
        super().__init__(DummyCfg(dt=cfg.dt), num_envs, **rest)
        assert cfg.device == "cuda:0"

    def step(self, *targets):
        if (self.folder / f"lost-{os.environ['CUDA_VISIBLE_DEVICES']}").exists():
            raise RuntimeError("CUDA error: unspecified launch failure")
        super().step(*targets)


def main(folder: Path, run: str) -> int:
    """Execute a run as a job does, and note the cards that it sees."""
    from s2m import job

    CardSimulator.folder = folder
    WarpCfg.implementation = f"{CardSimulator.__module__}:CardSimulator"
    with (folder / "seen").open("a", buffering=1) as seen:
        seen.write(f"begin {os.environ.get('CUDA_VISIBLE_DEVICES')}\n")
        code = job.main([run])
        seen.write(f"end {os.environ.get('CUDA_VISIBLE_DEVICES')}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
