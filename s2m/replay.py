"""Film an agent: python -m s2m.replay agent=lqr k=5 out=demo.mp4."""

from s2m.config.compose import describe, load
from s2m.config.overrides import require_once
from s2m.config.replay import ReplayCfg
from s2m.config.search import take_search
from s2m.console.errors import run_command


def main(words: list[str]) -> None:
    """Render one episode as a video, or moments of episodes as a picture."""
    if "--help" in words or "-h" in words:
        print("python -m s2m.replay [setting=value ...]\n\n" + "\n".join(describe(ReplayCfg())))
        return
    search, words = take_search(words)
    require_once(words)
    cfg = load(ReplayCfg, words, search)
    # Slow to import: help and mistakes come before.
    from s2m.encoders.registry import load_own
    from s2m.policy.film import show

    load_own(search.own)
    show(cfg, words)


if __name__ == "__main__":
    run_command(main)
