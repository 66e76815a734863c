"""Files that a crash cannot spoil: replaced as a whole, or grown by whole lines."""

import errno
import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from s2m.console.errors import UserError

LARGEST = 2**53
"""Beyond it a float cannot count; no run comes near."""

T = TypeVar("T")

_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in the errors of a descriptor, which do not know it."""
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextmanager
def _replacement(path: Path) -> Iterator[Path]:
    """Name a temporary file beside `path` that replaces it, durably, once the block has ended."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with _naming(path):
            yield temporary
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file whose content replaces that of `path`, durably, once the block has ended."""
    with _replacement(path) as temporary, temporary.open("xb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def write_file(path: Path, data: bytes) -> None:
    """Replace the content of a file: a reader or a crash sees the old one or the new one."""
    with _replacement(path) as temporary:
        _write(temporary, data)


def write_durably(path: Path, data: bytes) -> None:
    """Write a file whole, which a crash may leave torn: one that a later file vouches for."""
    with _naming(path):
        _write(path, data)


def _write(path: Path, data: bytes) -> None:
    descriptor = open_own(path, os.O_WRONLY | os.O_TRUNC)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_file(path: Path) -> bytes:
    """Return the content of a file, with few calls: there may be thousands of runs."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size, parts = os.fstat(descriptor).st_size, []
        with _naming(path):
            while size > 0 and (part := os.read(descriptor, size)):
                parts.append(part)
                size -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def sync_folder(path: Path) -> None:
    """Make renames inside a folder survive a power cut, where the file system can."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with suppress(OSError):  # some network file systems cannot sync a folder
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporary(folder: Path) -> None:
    """Delete what writers that were killed inside `replacing` have left in a folder."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def to_json(value: Any) -> str:
    """Return one line of valid JSON; a float that JSON lacks becomes {"$float": "nan"}."""
    try:
        return _encode(value)
    except ValueError:
        return _encode(_marked(value))


def _marked(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(float(value))}
    if isinstance(value, dict):
        return {key: _marked(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_marked(item) for item in value]
    return value


def from_json(text: str | bytes) -> Any:
    """Return what `to_json` was given, every float bit for bit (any NaN as the usual one)."""
    try:
        return _decode(text if isinstance(text, str) else text.decode())
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unmarked(value: dict[str, Any]) -> Any:
    return float(value["$float"]) if len(value) == 1 and "$float" in value else value


# json.loads would make a decoder for every line.
_decode = json.JSONDecoder(object_hook=_unmarked).decode


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a file with an object as JSON, one key per line."""
    plain = json.loads(to_json(value))
    write_file(path, (json.dumps(plain, indent=1, ensure_ascii=False) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; a missing or damaged file is a UserError."""
    try:
        value = from_json(read_file(path))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:
        raise UserError(f"{path} is damaged, not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise UserError(f"{path} is damaged: expected a JSON object")
    return value


SUM = "sha256"


def sha256(data: bytes | memoryview) -> str:
    """Return the checksum of some bytes."""
    return hashlib.sha256(data).hexdigest()


def checksum(content: dict[str, Any]) -> str:
    """Return the SHA-256 of an object as one line of JSON."""
    return sha256(to_json(content).encode())


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """Replace a file with an object as JSON and its checksum."""
    write_json(path, content | {SUM: checksum(content)})


def read_sealed(path: Path, optional: bool = False) -> dict[str, Any]:
    """Return the object of a file without its checksum; a UserError if that does not match.

    Where it is `optional`, older files have none. Damage to its name then leaves a name that no
    reader knows: whoever reads objects of fixed fields notices that as well.
    """
    content = read_json(path)
    found = content.pop(SUM, None)
    if found != checksum(content) and not (optional and found is None):
        raise UserError(f"{path} is damaged: its content does not match its checksum")
    return content


def read_record(path: Path, kind: type[T]) -> T:
    """Return a dataclass of plain fields from a JSON file, every field of its declared type."""
    value = read_sealed(path, optional=True)
    try:
        record = kind(**value)
    except TypeError as error:
        raise UserError(f"{path} is damaged: {error}") from None
    for field in fields(record):  # pyright: ignore[reportArgumentType]
        found = getattr(record, field.name)
        right = isinstance(found, field.type)  # pyright: ignore[reportArgumentType]
        if not right or (isinstance(found, bool) and field.type is not bool):
            raise UserError(f"{path} is damaged: {field.name} is {str(found)[:40]!r}")
        if isinstance(found, int) and abs(found) > LARGEST:
            raise UserError(f"{path} is damaged: {field.name} is out of range")
    return record


def is_count(value: Any) -> bool:
    """Tell whether a value is a whole number such as an iteration, from -1 (before the first)."""
    return type(value) is int and -1 <= value <= LARGEST


def open_own(path: Path, flags: int) -> int:
    """Open a file of a run folder to write to it, but no symbolic link, which may lead anywhere."""
    try:
        return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UserError(f"{path} is a symbolic link: it is not written to") from None
        raise


class LineFile:
    """A file that grows by one write(2) per line, so that a kill can tear the last line only.

    Opening it cuts off such a torn line: only the one writer of a run folder may do that.
    """

    def __init__(self, path: Path) -> None:
        """Open the file for appending, and create it if need be."""
        self._path = path
        self._descriptor = open_own(path, os.O_RDWR | os.O_APPEND)
        size = os.fstat(self._descriptor).st_size
        whole = os.pread(self._descriptor, size, 0).rfind(b"\n") + 1
        if whole < size:
            os.ftruncate(self._descriptor, whole)

    def append(self, line: str) -> None:
        """Add a line, or nothing at all if the disk is full."""
        data = line.encode() + b"\n"
        with _naming(self._path):
            written = os.write(self._descriptor, data)
        if written < len(data):
            os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - written)
            raise OSError(errno.ENOSPC, "no room for a whole line", str(self._path))

    def sync(self) -> None:
        """Wait until the disk has every line."""
        with _naming(self._path):
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._descriptor)


def read_lines(path: Path) -> list[bytes]:
    """Return the whole lines of a file, without a torn last one; none if there is no file."""
    try:
        return read_file(path).split(b"\n")[:-1]
    except FileNotFoundError:
        return []
