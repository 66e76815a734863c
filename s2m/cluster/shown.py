"""The composed configs of a command as YAML: what `--cfg job` and `--info` print."""

from dataclasses import asdict

from s2m.config.compose import chosen
from s2m.config.run import RunCfg
from s2m.config.search import CONF, Search
from s2m.run import frozen
from s2m.run.identity import folder_name


def show_configs(words: list[list[str]], cells: list[RunCfg], search: Search, info: bool) -> None:
    """Print the config of each cell as its run folder would freeze it; several as documents."""
    if info:
        print("\n".join(f"# searched: {root}" for root in (CONF, *search.own)))
    for cell, cfg in zip(words, cells, strict=True):
        if len(cells) > 1:
            print(f"---\n# {' '.join(cell)}")
        config = asdict(cfg)
        if info:
            choices = sorted(chosen(RunCfg, cell, search).items())
            print(f"# chosen: {' '.join(f'{group}={name}' for group, name in choices)}")
            print(f"# folder: {cfg.root}/{cfg.experiment}/{folder_name(config)}")
        print(frozen.dump(config).decode(), end="")
