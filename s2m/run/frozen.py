"""The frozen config of a run as YAML: plain values only, fast for thousands of runs.

The runs of a study share nearly all of their settings. What was written here is therefore parsed
top-level key by top-level key, and what is equal in many files is parsed once. Whatever does not
look like our own writing is parsed as a whole, with the same result.
"""

import re
from functools import lru_cache
from typing import Any

import yaml

from s2m.console.errors import UserError

LARGEST, LONGEST, BRACKETS = 256 * 1024, 4096, 1000
"""Bytes of a file, bytes of a line, opening brackets; ours have some thousand, a hundred and ten.

Together they bound how deep a text can nest: the parser in C would follow ten thousands of brackets
or dashes beyond the end of its stack, and take the process with it.
"""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
"""Loader and dumper in C, ten times as fast, where PyYAML has them."""
_START = re.compile(rb"^(?=[A-Za-z_]\w*:)", re.MULTILINE)


def dump(config: dict[str, Any]) -> bytes:
    """Return a config as YAML, keys in their order."""
    text = yaml.dump(config, Dumper=_DUMPER, sort_keys=False).encode()
    _check_size(text)
    return text


def parse(text: bytes) -> dict[str, Any]:
    """Return what a config says; a UserError says what is wrong with it, without its name."""
    _check_size(text)
    try:
        found = _by_sections(text)
        if found is None:
            found = _copy(yaml.load(text, Loader=_LOADER), set())
    except yaml.YAMLError as error:
        raise UserError(f"is damaged: {' '.join(str(error).split())[:200]}") from None
    except (RecursionError, ValueError) as error:
        raise UserError(f"is damaged: {error}") from None
    if not isinstance(found, dict):
        raise UserError("is damaged: it has no settings")
    return found


def _check_size(text: bytes) -> None:
    longest = max(map(len, text.split(b"\n")))
    brackets = text.count(b"[") + text.count(b"{")
    if len(text) > LARGEST or longest > LONGEST or brackets > BRACKETS:
        raise UserError(
            f"is too large for a config: allowed are {LARGEST:,} bytes, lines of {LONGEST:,} and "
            f"{BRACKETS:,} lists or groups in brackets"
        )


def _by_sections(text: bytes) -> dict[str, Any] | None:
    """Parse key by key; None if the text is of another form than ours."""
    first, *sections = _START.split(text)
    if first or not sections:
        return None
    found: dict[str, Any] = {}
    for section in sections:
        try:
            part = _section(section)
        except yaml.YAMLError:
            return None
        if not isinstance(part, dict) or len(part) != 1 or part.keys() & found.keys():
            return None
        found.update(_copy(part, set()))
    return found


@lru_cache(maxsize=1024)
def _section(text: bytes) -> Any:
    return yaml.load(text, Loader=_LOADER)


def _copy(value: Any, seen: set[int]) -> Any:
    """Copy dicts and lists of plain values; whatever else YAML can say is refused.

    By aliases a few lines can mean gigabytes; keys that are no text cannot be put in order.
    """
    if value is None or isinstance(value, str | int | float):
        return value
    if not isinstance(value, dict | list):
        raise UserError(f"is not a config of s2m: it has a {type(value).__name__}")
    if id(value) in seen:
        raise UserError("is not a config of s2m: it has YAML aliases")
    seen.add(id(value))
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise UserError("is not a config of s2m: it has keys that are not text")
        return {key: _copy(item, seen) for key, item in value.items()}
    return [_copy(item, seen) for item in value]
