"""The words of a command, `setting=value` as Hydra reads them: their quotes, and what is wrong."""

import argparse
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

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


def take_root(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the folder that `root=DIR`, `--root DIR` or `--root=DIR` names, and the other words.

    Every command takes the folder of runs in these ways, too, and as it is.
    """
    rest, found = list(words), []
    for i in reversed(range(len(rest))):
        option, given, value = rest[i].partition("=")
        if option == "--root" and not given:
            if i + 1 == len(rest):
                raise UserError("--root needs a folder")
            found.append(rest.pop(i + 1))
        elif option in ("root", "--root") and given:
            found.append(value)
        else:
            continue
        rest.pop(i)
    if len(found) > 1:
        raise UserError(f"root={found[-1]} and root={found[0]}: give one folder")
    return (found[0] if found else None), rest


def with_folder(words: Sequence[str], option: Sequence[str] = ()) -> list[str]:
    """Return words with the folder that `take_root` finds in front, behind an option if given."""
    root, rest = take_root(words)
    return [*rest] if root is None else [*option, root, *rest]


def with_root(words: Sequence[str]) -> list[str]:
    """Return settings with the folder as one, whichever way it was given; a plain one exists."""
    root, rest = take_root(words)
    plain = [word for word in rest if "=" not in word and Path(word).is_dir()]
    if root is None and len(plain) == 1:
        root, rest = plain[0], [word for word in rest if word != plain[0]]
    return rest if root is None else [*rest, f"root={root}"]


def require_once(words: Sequence[str], swept: bool = False) -> None:
    """Refuse a setting that is given twice: Hydra would silently take the last."""
    values: dict[str, str] = {}
    for word in words:
        key, _, value = word.partition("=")
        if key in values:
            line = f"'{key}={values[key]}' and '{word}': give {key} once"
            if swept:
                line += f", or {key}={values[key]},{value} with -m to run both"
            raise UserError(line)
        values[key] = value


SHORT = {"--multirun": "-m", "--help": "-h", "--info": "-i", "--cfg": "-c"}
"""Options that have a letter, as in Hydra."""
_INSTEAD = {
    ("-cn", "--config-name"):
        "there is one config: choose a file per group (encoder=pfds budget=demo), or a sweep "
        "(+sweep=NAME)",
    ("-cd", "-cp", "--config-path"):
        "write --config-dir DIR, a folder of your own groups, sweeps and encoders",
    ("-p", "--package"): "--cfg job prints the whole config",
    ("--hydra-help",): "--help lists groups, sweeps and settings",
    ("-sc", "--shell-completion"): 'write eval "$(register-python-argcomplete s2m)"',
}  # fmt: skip
OF_HYDRA = {option: instead for options, instead in _INSTEAD.items() for option in options}
"""Options of Hydra that do not exist here, and what to use instead."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message)


def take_flags(words: Sequence[str], own: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return which of its `own` options a command is given besides settings, and the settings.

    Any other option is refused: it would be taken and not heard.
    """
    for option in (word.partition("=")[0] for word in words):
        if option in OF_HYDRA:
            raise UserError(f"'{option}' is an option of Hydra: {OF_HYDRA[option]}")
    parser = _Parser(add_help=False, allow_abbrev=False)
    for name in own:
        names = [SHORT[name], name] if name in SHORT else [name]
        if name == "--cfg":
            parser.add_argument(*names, choices=["job"])
        else:
            parser.add_argument(*names, action="store_true")
    flags, rest = parser.parse_known_args(words)
    for word in rest:
        if word.startswith("-"):
            raise unknown("option", word, (*own, "--config-dir"))
    return flags, rest
