"""Film an agent: python -m s2m.replay agent=lqr k=5 out=demo.mp4.

--cfg job prints the composed config, --info also where it comes from.
"""

from dataclasses import replace

from s2m.cluster.shown import choices, searched, show_config
from s2m.config.compose import describe, load
from s2m.config.overrides import require_once, take_flags
from s2m.config.replay import ReplayCfg
from s2m.config.search import take_search
from s2m.console.errors import run_command

FLAGS = ("--help", "--cfg", "--info")


def main(words: list[str]) -> None:
    """Render one episode as a video, or moments of episodes as a picture."""
    search, words = take_search(words)
    flags, words = take_flags(words, FLAGS)
    if flags.help:
        print("python -m s2m.replay [setting=value ...]\n\n" + "\n".join(describe(ReplayCfg())))
        return
    require_once(words)
    cfg = load(ReplayCfg, words, search)
    # Slow to import: help and mistakes come before.
    from s2m.encoders.registry import load_own
    from s2m.policy.film import show
    from s2m.policy.stored import cast

    load_own(search.own)
    if flags.cfg or flags.info:
        _, world, who = cast(cfg, words)
        source = f"world: of {who}" if cfg.run else choices(ReplayCfg, words, search)
        notes = [*searched(search), source] if flags.info else []
        show_config(replace(cfg, task=world.task, sim=world.sim), notes)
        return
    show(cfg, words)


if __name__ == "__main__":
    run_command(main)
