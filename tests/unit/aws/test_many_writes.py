"""Single writes of rolling windows: one that fails is tried again by itself."""

from functools import partial

import pytest

from standings.aws.dynamodb.rolling import WRITES_TIMEOUT_S, one_after_another, write_all
from standings.stores import StoreRefusedError, StoreUnavailableError
from tests.support.faults.faulty_client import Time


class Table:
    """Counts the writes of each item, and fails some of them."""

    def __init__(self, failing: dict[int, int]) -> None:
        self.failing = failing
        self.written: list[int] = []

    def write(self, number: int) -> None:
        self.written.append(number)
        if self.failing.get(number, 0) > 0:
            self.failing[number] -= 1
            raise StoreUnavailableError(f"item {number} is throttled")


def test_only_what_failed_is_written_again() -> None:
    table, time = Table({1: 2, 3: 1}), Time(0)
    write_all(one_after_another, time.clock(), [partial(table.write, number) for number in range(5)])

    assert table.written == [0, 1, 1, 1, 2, 3, 3, 4]


def test_a_write_that_goes_on_failing_is_an_error_after_a_while() -> None:
    table, time = Table({1: 10**6}), Time(0)
    with pytest.raises(StoreUnavailableError, match="item 1"):
        write_all(one_after_another, time.clock(), [partial(table.write, number) for number in range(3)])

    assert table.written[:2] == [0, 1]
    assert 2 not in table.written
    assert WRITES_TIMEOUT_S / 2 < time.monotonic() < WRITES_TIMEOUT_S


def test_all_of_them_have_the_same_time() -> None:
    table, time = Table(dict.fromkeys(range(100), 3)), Time(0)
    with pytest.raises(StoreUnavailableError):
        write_all(one_after_another, time.clock(), [partial(table.write, number) for number in range(100)])

    assert time.monotonic() < WRITES_TIMEOUT_S


def test_a_refused_write_is_not_tried_again() -> None:
    def refuse() -> None:
        table.write(7)
        raise StoreRefusedError("no")

    table = Table({})
    with pytest.raises(StoreRefusedError):
        write_all(one_after_another, Time(0).clock(), [refuse])

    assert table.written == [7]
