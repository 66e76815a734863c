"""How invariant a policy is: python -m s2m.audit RUN [samples]."""

from s2m.config.overrides import take_flags
from s2m.config.search import take_search
from s2m.console.errors import UserError, run_command

USAGE = "usage: python -m s2m.audit RUN_FOLDER [group elements per observation]"


def main(words: list[str]) -> None:
    """Print the largest and mean action change under both groups, per number of balls."""
    search, words = take_search(words)
    flags, words = take_flags(words, ["--help"])
    if flags.help:
        print(f"{main.__doc__}\n\n{USAGE}")
        return
    if not 1 <= len(words) <= 2:
        raise UserError(USAGE)
    samples = words[1] if len(words) == 2 else "20"
    if not samples.isdecimal() or int(samples) < 1:
        raise UserError(f"samples = {samples}: must be an integer from 1")
    # Slow to import: help and mistakes come before.
    from s2m.encoders.registry import load_own
    from s2m.policy.invariance import show

    load_own(search.own)
    show(words[0], int(samples))


if __name__ == "__main__":
    run_command(main)
