"""Times in the tables sort as text as they do as times, whatever zone a clock has."""

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from turnledger.infrastructure.read_models.times import seconds_between, utc

ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30)), timezone(timedelta(hours=-11))])
TIMES = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=ZONES)  # noqa: DTZ001


@given(TIMES, TIMES)
def test_text_sorts_as_time_does(one: datetime, other: datetime) -> None:
    assert (utc(one) < utc(other)) is (one < other)
    assert datetime.fromisoformat(utc(one)) == one


def test_the_ends_of_the_calendar_are_told_too() -> None:
    assert utc(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == "0001-01-01T00:00:00.000000Z"
    assert utc(datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))).startswith("9999-12-31T23:59:59")


def test_an_answer_that_came_before_its_call_took_no_time_that_can_be_told() -> None:
    assert seconds_between("2026-01-01T00:00:01.000000Z", "2026-01-01T00:00:00.500000Z") is None
    assert seconds_between("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.250000Z") == 0.25
