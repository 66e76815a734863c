"""Success rates: python -m s2m.evaluate agent=lqr, or run=FOLDER for a trained policy."""

from pathlib import Path

from s2m.config.compose import describe, load
from s2m.config.evaluate import EvaluateCfg
from s2m.config.overrides import require_once
from s2m.config.search import take_search
from s2m.console.errors import UserError, run_command


def main(words: list[str]) -> None:
    """Evaluate a reference agent or a trained policy and print its table."""
    if "--help" in words or "-h" in words:
        print("python -m s2m.evaluate [setting=value ...]\n")
        print("\n".join(describe(EvaluateCfg())))
        return
    search, words = take_search(words)
    require_once(words)
    cfg = load(EvaluateCfg, words, search)
    if cfg.out and Path(cfg.out).suffix != ".csv":
        raise UserError(f"out = {cfg.out}: allowed is a .csv file")
    if cfg.store and not cfg.run:
        raise UserError("store = true: needs run=FOLDER, the run whose evaluation is replaced")
    # Slow to import: help and mistakes come before.
    from s2m.encoders.registry import load_own
    from s2m.stages.evaluate import judge

    load_own(search.own)
    judge(cfg, words)


if __name__ == "__main__":
    run_command(main)
