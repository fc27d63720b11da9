"""The cache: entries expire by each clock, and a full cache drops its oldest entry."""

from functools import partial
from typing import Any

import pytest

from standings.runtime.clock import TtlCache
from tests.support.faults.faulty_client import Time


@pytest.fixture
def time() -> Time:
    return Time(1_000_000)


@pytest.fixture
def cache(time: Time) -> TtlCache[str, int | None]:
    """Three entries, for a minute."""
    return TtlCache(time.clock(), 60, 3)


@pytest.mark.parametrize(
    ("seconds", "milliseconds", "known"),
    [(59.9, 59_900, True), (60, 0, False), (0, 60_000, False), (1, -1, False)],
    ids=["fresh", "by the monotonic clock", "by the wall clock", "the wall clock was set back"],
)
def test_an_entry_expires_by_whichever_clock_says_so(
    cache: Any, time: Time, seconds: float, milliseconds: int, *, known: bool
) -> None:
    cache.put("a", 1)
    time.sleep(seconds)
    time.milliseconds += milliseconds

    assert cache.get("a") == (1 if known else None)


def test_an_entry_is_as_old_as_the_beginning_of_its_read_and_may_be_none(cache: Any, time: Time) -> None:
    def slow(value: int | None) -> int | None:
        time.sleep(59)
        return value

    for value in (1, None):
        assert cache.get_or_read("a", partial(slow, value)) == value
        assert cache.get_or_read("a", lambda: 2) == value
        time.sleep(1)
    assert cache.get_or_read("a", lambda: 3) == 3


def test_a_full_cache_drops_only_the_entry_that_was_put_first(cache: Any) -> None:
    for number, key in enumerate("abcad"):
        cache.put(key, number)
    assert [cache.get(key) for key in "abcd"] == [3, None, 2, 4]

    cache.forget("a")
    assert cache.get("a") is None
