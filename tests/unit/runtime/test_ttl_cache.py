"""The cache: entries expire by each clock, and a full cache drops its oldest entry."""

import pytest

from standings.runtime.clock import Clock, TtlCache

TTL_S = 60


class Clocks:
    """Two clocks that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.milliseconds = 1_000_000

    def cache(self) -> TtlCache[str, int | None]:
        clock = Clock(lambda: self.milliseconds, lambda: self.seconds, lambda _: None, lambda: 0.5)
        return TtlCache(clock, TTL_S, 3)


@pytest.mark.parametrize(
    ("seconds", "milliseconds", "known"),
    [(59.9, 59_900, True), (60, 0, False), (0, 60_000, False), (1, -1, False)],
    ids=["fresh", "by the monotonic clock", "by the wall clock", "the wall clock was set back"],
)
def test_an_entry_expires_by_whichever_clock_says_so(seconds: float, milliseconds: int, *, known: bool) -> None:
    clocks = Clocks()
    cache = clocks.cache()
    cache.put("a", 1)
    clocks.seconds += seconds
    clocks.milliseconds += milliseconds

    assert cache.get("a") == (1 if known else None)


def test_an_entry_is_as_old_as_the_beginning_of_its_read() -> None:
    clocks = Clocks()
    cache = clocks.cache()

    def slow() -> int:
        clocks.seconds += 59
        return 1

    assert cache.get_or_read("a", slow) == 1
    assert cache.get_or_read("a", lambda: 2) == 1
    clocks.seconds += 1
    assert cache.get_or_read("a", lambda: 3) == 3


def test_a_value_may_be_none() -> None:
    cache = Clocks().cache()

    assert cache.get_or_read("a", lambda: None) is None
    assert cache.get_or_read("a", lambda: 1) is None


def test_a_full_cache_drops_only_the_entry_that_was_put_first() -> None:
    cache = Clocks().cache()
    for number, key in enumerate("abcad"):
        cache.put(key, number)
    assert [cache.get(key) for key in "abcd"] == [3, None, 2, 4]

    cache.forget("a")
    assert cache.get("a") is None
