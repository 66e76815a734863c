"""Create or update the W&B workspace: python -m s2m.dashboard [--project ENTITY/NAME].

The panels are those of s2m/tracking/panels.py, the runs grouped by encoder and permutation. It
makes the one workspace `S2M-Trek` of a project anew: save changes made by hand as another one.
"""

import argparse
from typing import Any

from s2m.config.tracking import TrackingCfg
from s2m.console.errors import UserError, run_command
from s2m.run.metrics import ITERATION
from s2m.tracking.client import Project, scratch_folder, split
from s2m.tracking.panels import View, sections

TITLE = "S2M-Trek"
NAME = "s2mtrek"
"""The workspace's name in its address, by which it is found again."""
RUNS = 40
"""Most runs that a panel shows: a whole sweep."""


def workspace(entity: str, project: str) -> Any:
    """Return the definition of the workspace; needs no network."""
    try:
        import wandb_workspaces.workspaces as ws
    except ImportError:
        raise UserError(
            "the package wandb-workspaces is not installed: pip install -e '.[wandb]'"
        ) from None
    made = [
        ws.Section(name=name, panels=[_panel(view) for view in views], is_open=True)
        for name, views in sections().items()
    ]
    groups: list[Any] = [ws.Config("encoder.name"), ws.Config("permute")]
    return ws.Workspace(
        entity=entity,
        project=project,
        name=TITLE,
        sections=made,
        settings=ws.WorkspaceSettings(x_axis=ITERATION, max_runs=RUNS),
        runset_settings=ws.RunsetSettings(groupby=groups),
    )


def _panel(view: View) -> Any:
    import wandb_workspaces.reports.v2 as wr

    names: list[Any] = list(view.metrics)
    if view.bars:
        return wr.BarPlot(title=view.title, metrics=names, orientation="v")
    return wr.LinePlot(
        title=view.title, x=ITERATION, y=names, log_y=view.log, max_runs_to_show=RUNS
    )


def save(project: Project) -> tuple[str, bool]:
    """Store the workspace and return its address, and whether it is a new one."""
    import wandb_workspaces.workspaces as ws

    made = workspace(project.entity, project.name)
    with project.explained():
        project.require()
        try:
            # Only the path of the address counts; the server is that of the key.
            there = ws.Workspace.from_url(f"https://wandb.ai/{project.path}?nw={NAME}")
            made._internal_id, made._internal_name = there._internal_id, there._internal_name
        except ValueError:  # there is none yet
            made._internal_name = f"nw-{NAME}-v"
        fresh = not made._internal_id
        return made.save().url, fresh


def main(words: list[str]) -> int:
    """Create the workspace, or update the one that is there, and print its address."""
    options = _parse(words)
    entity, name = split(options.project)
    with scratch_folder():
        url, fresh = save(Project(entity, name))
    print(f"{'created' if fresh else 'updated'} {url}")
    return 0


def _parse(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m s2m.dashboard", description=__doc__)
    parser.add_argument(
        "--project", metavar="ENTITY/NAME", default=TrackingCfg().project,
        help="W&B project (default: s2m-trek of your own entity)",
    )  # fmt: skip
    return parser.parse_args(words)


if __name__ == "__main__":
    run_command(main)
