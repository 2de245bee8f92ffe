"""Times as the tables have them: ISO 8601 in UTC, all of one length, so that text sorts as time does."""

from datetime import UTC, datetime

_newest: tuple[datetime | None, str] = (None, "")


def utc(time: datetime) -> str:
    """A time as text; that of the event at hand is asked for again and again.

    >>> utc(datetime(2026, 5, 1, 12, tzinfo=UTC))
    '2026-05-01T12:00:00.000000Z'
    """
    global _newest  # noqa: PLW0603
    known, text = _newest
    if time is not known:
        text = _text(time)
        _newest = time, text
    return text


def _text(time: datetime) -> str:
    text = time.isoformat(timespec="microseconds")
    if text.endswith("+00:00"):
        return text[:-6] + "Z"
    try:
        moved = time.astimezone(UTC)
    except OverflowError:  # at either end of the calendar
        moved = time.replace(tzinfo=UTC)
    return moved.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def seconds_between(earlier: str, later: str) -> float | None:
    """From one time to a later one; None where it is not later."""
    seconds = (datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds()
    return seconds if seconds >= 0 else None
