"""The W&B workspace of a project: the panels of `panels`, runs by encoder and permutation."""

from typing import Any

from s2m.console.errors import UserError
from s2m.run.metrics import ITERATION
from s2m.tracking.client import Project, scratch_folder, split
from s2m.tracking.panels import View, sections

TITLE = "S2M-Trek"
NAME = "s2mtrek"
"""The workspace's name in its address, by which it is found again."""
RUNS = 40
"""Most runs that a panel shows: a whole sweep."""


def define(project: Project) -> Any:
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
        entity=project.entity,
        project=project.name,
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


def save(path: str) -> tuple[str, bool]:
    """Store the workspace of `entity/name`; return its address, and whether it is a new one."""
    entity, name = split(path)
    with scratch_folder():
        project = Project(entity, name)
        made = define(project)
        with project.explained():
            len(project.api.runs(project.path, per_page=1))  # asks whether it may be seen
            return _save(made, project)


def _save(made: Any, project: Project) -> tuple[str, bool]:
    import wandb_workspaces.workspaces as ws

    try:
        # Only the path of the address counts; the server is that of the key.
        there = ws.Workspace.from_url(f"https://wandb.ai/{project.path}?nw={NAME}")
        made._internal_id, made._internal_name = there._internal_id, there._internal_name
    except ValueError:  # there is none yet
        made._internal_name = f"nw-{NAME}-v"
    fresh = not made._internal_id
    return made.save().url, fresh
