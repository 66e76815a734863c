"""Create or update the W&B workspace: python -m s2m.dashboard [--project ENTITY/NAME].

The panels are those of s2m/tracking/panels.py, with runs grouped by encoder and permutation. It
overwrites the workspace `S2M-Trek` of a project: save manual changes as another one.
"""

from s2m.config.tracking import TrackingCfg
from s2m.console.errors import run_command
from s2m.console.options import Options
from s2m.tracking.workspace import save


def main(words: list[str]) -> int:
    """Create the workspace, or update the one that is there, and print its address."""
    parser = Options(prog="python -m s2m.dashboard", description=__doc__)
    parser.add_argument(
        "--project", metavar="ENTITY/NAME", default=TrackingCfg().project,
        help="W&B project (default: s2m-trek of your own entity)",
    )  # fmt: skip
    url, fresh = save(parser.parse_args(words).project)
    print(f"{'created' if fresh else 'updated'} {url}")
    return 0


if __name__ == "__main__":
    run_command(main)
