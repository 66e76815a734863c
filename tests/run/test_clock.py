from datetime import UTC, datetime, timedelta

from s2m.run.clock import timestamp


def test_a_time_is_utc_with_milliseconds_and_can_be_read_back():
    text = timestamp()
    found = datetime.fromisoformat(text)
    assert found.utcoffset() == timedelta(0) and found.isoformat(timespec="milliseconds") == text
    assert abs(datetime.now(UTC) - found) < timedelta(minutes=5)
