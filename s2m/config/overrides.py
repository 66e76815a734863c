"""The words of a command, `setting=value` as Hydra reads them: their quotes, and what is wrong."""

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from s2m.console.errors import UserError, unknown


def quoted(text: str) -> str:
    """Write text so that Hydra reads nothing else into it."""

    def escaped(found: re.Match[str]) -> str:
        return 2 * found[1] + ('\\"' if found[2] else "")

    # In quotes a backslash means itself, except before a quote.
    return '"' + re.sub(r'(\\*)("|$)', escaped, text) + '"'


def unreadable(word: str) -> UserError:
    """Return the error for a word that Hydra cannot read, with the same word in quotes."""
    key, _, value = word.partition("=")
    line = f"cannot read '{word}': write setting=value"
    if not key or not value:
        return UserError(line)
    if value.startswith("["):
        texts = f"[{','.join(map(quoted, value.strip('[]').split(',')))}]"
    else:
        texts = quoted(value)
    return UserError(f"{line}, or put text in quotes: {shlex.quote(f'{key}={texts}')}")


def require_once(words: Sequence[str], swept: bool = False) -> None:
    """Refuse a setting that is given twice: Hydra would take the last without a word."""
    values: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key in values:
            line = f"'{key}={values[key]}' and '{word}': give {key} once"
            if swept:
                line += f", or {key}={values[key]},{value} with -m to run both"
            raise UserError(line)
        values[key] = value


@dataclass
class Flags:
    """What a launch is asked for besides settings."""

    many: bool = False
    help: bool = False
    info: bool = False
    config: bool = False
    """Print the composed config and do nothing."""


def take_flags(words: Sequence[str]) -> tuple[Flags, list[str]]:
    """Return the flags among words, as Hydra calls them, and the settings."""
    flags, rest, left = Flags(), [], iter(words)
    for word in left:
        if word in ("-m", "--multirun"):
            flags.many = True
        elif word in ("-h", "--help"):
            flags.help = True
        elif word in ("-i", "--info"):
            flags.info = True
        elif word.split("=")[0] in ("-c", "--cfg"):
            what = word.partition("=")[2] or next(left, "")
            if what != "job":
                raise UserError(f"--cfg {what}: allowed is --cfg job, the config of the runs")
            flags.config = True
        elif word.startswith("-"):
            raise unknown("option", word, ("-m", "--help", "--cfg", "--info", "--config-dir"))
        else:
            rest.append(word)
    return flags, rest
