"""One attempt at a run, in its own process: python -m s2m.job RUN_FOLDER [sim=NAME].

sim=warp or sim=mujoco first moves the run to the other of these simulators, which have the same
physics (sim.device=cuda:0 chooses the device). It resumes there from its checkpoint, now and later.
Output goes to stdout. The result files in the folder say whether it succeeded; the exit code is a
hint for the process that waits for it.
"""

import sys
import traceback

from s2m.console.errors import UserError, print_anything
from s2m.run.folder import RunFolder
from s2m.run.lock import Busy
from s2m.run.status import BUSY, CODES, FAILED


def main(words: list[str]) -> int:
    """Do what is left of the run of a folder and leave a verdict in its events if that fails."""
    if "--help" in words or "-h" in words:
        print((__doc__ or "").strip())
        return 0
    paths = [word for word in words if "=" not in word]
    where = dict(word.split("=", 1) for word in words if "=" in word)
    if len(paths) != 1 or not where.keys() <= {"sim", "sim.device"}:
        raise UserError("usage: python -m s2m.job RUN_FOLDER [sim=warp|mujoco] [sim.device=cuda:0]")
    from s2m.stages.move import move
    from s2m.stages.progress import Progress
    from s2m.tracking.mirror import Mirror

    folder = RunFolder.open(paths[0])
    if where:
        move(folder, where.get("sim"), where.get("sim.device"))
    progress = Progress.automatic()
    with Mirror(folder, progress.say) as mirror:
        mirror.outcome = _attempt(folder, progress, mirror)
    print(mirror.outcome)
    return CODES[mirror.outcome]


def _attempt(folder, progress, mirror) -> str:
    from s2m.stages.execute import attempt

    try:
        return attempt(folder, progress, mirror=mirror)
    except Busy as error:
        print(error, file=sys.stderr)
        return BUSY
    except Exception:
        traceback.print_exc()
        return FAILED


if __name__ == "__main__":
    print_anything()
    try:
        code = main(sys.argv[1:])
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    # Whatever started the Omniverse application came by this module, which imports torch.
    if isaaclab := sys.modules.get("s2m.sim.isaaclab_app"):
        isaaclab.leave(code)
    sys.exit(code)
