"""The time as run folders write it."""

from datetime import UTC, datetime


def timestamp() -> str:
    """Return the present UTC time as ISO 8601 text with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
