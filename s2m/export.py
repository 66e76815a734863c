"""Export a policy to ONNX: python -m s2m.export RUN [OUT] [episode_steps=500].

Writes OUT/<run>.onnx and OUT/<run>.json, which lists inputs, their order and scaling, joint names
and rate; then drives an episode with onnxruntime beside torch and reports their difference and the
time of a step. Teachers and students export alike: raw observations in, actions out; a
student also takes and returns its memory.
"""

from s2m.config.overrides import require_once, take_flags
from s2m.config.search import take_search
from s2m.console.errors import UserError, run_command

USAGE = "usage: python -m s2m.export RUN_FOLDER [OUT_FOLDER] [episode_steps=500]"


def main(words: list[str]) -> int:
    """Export a run and check what was written; 1 if it differs."""
    search, words = take_search(words)
    flags, words = take_flags(words, ["--help"])
    if flags.help:
        print((__doc__ or "").strip())
        return 0
    given = [word for word in words if "=" in word]
    require_once(given)
    settings = dict(word.split("=", 1) for word in given)
    places = [word for word in words if "=" not in word]
    steps = settings.pop("episode_steps", "500")
    if settings or len(places) not in (1, 2) or not steps.isdecimal() or int(steps) < 1:
        raise UserError(USAGE)
    # Slow to import: help and mistakes come before.
    from s2m.encoders.registry import load_own
    from s2m.policy.onnx import export

    load_own(search.own)
    return export(*places, steps=int(steps))


if __name__ == "__main__":
    run_command(main)
