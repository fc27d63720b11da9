"""Logs of rolling windows keep their contract on the engine, on DynamoDB Local and on moto: folds and their limits."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from standings.aws.dynamodb.rankings import log_folds
from standings.aws.dynamodb.rankings.log_folds import fold_log
from standings.aws.dynamodb.rankings.purge import DynamoPurging
from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings.rolling_items import log_of
from standings.aws.dynamodb.rankings.rolling_windows import MAX_LOG, DynamoRollingWindows, one_after_another
from standings.domain.rolling.count_log import Entry, encode_entry
from standings.domain.rolling.steps import CountChange
from standings.domain.tiers.tier_path import ROOT
from standings.domain.tiers.tier_tree import deltas
from standings.ports.errors import CancelReason, StoreRefusedError
from standings.ports.rolling import RollingRow, RowChange
from tests.support.builders.points import NOW
from tests.support.builders.rolling.writing import (
    SHORT,
    TODAY,
    TWO,
    WINDOW,
    commit,
    counts,
    list_items,
    log,
    steps,
    stored_log,
    two_members,
)
from tests.support.faults.faulty_client import Faulty, Time, refused_at_end


def test_a_fold_takes_the_entries_into_the_nodes(
    client: Any, table: str, windows: DynamoRollingWindows, reader: DynamoRankingsReader
) -> None:
    two_members(windows)
    before = stored_log(client, table)
    assert int(before["z"]["N"]) == sum(len(entry["S"]) for entry in before["l"]["L"]) > 0
    windows.fold(WINDOW, 10_000)
    assert stored_log(client, table) == before
    for _ in range(2):
        windows.fold(WINDOW, 0)
        after = stored_log(client, table)
        assert (after["l"], after["z"]) == ({"L": []}, {"N": "0"})
        assert int(after["b"]["N"]) == int(before["b"]["N"]) + 2
        assert counts(reader, -5, -300) == deltas(TWO)
    assert commit(windows, {"m": steps((0, 7, -6))}, version=2) == []
    assert counts(reader, -5, -6, -300) == deltas([(None, -6), (None, -300)])


@pytest.mark.parametrize("brought", range(5))
def test_a_fold_that_dies_is_done_again(
    client: Any, table: str, windows: DynamoRollingWindows, reader: DynamoRankingsReader, brought: int
) -> None:
    def dies(jobs: Sequence[Callable[[], None]]) -> Iterator[None]:
        yield from one_after_another(jobs[:brought])
        raise TimeoutError

    two_members(windows)
    with suppress(TimeoutError):
        fold_log(client, table, Time(NOW).clock(), dies, WINDOW, 0)
    assert counts(reader, -5, -300) == deltas(TWO)
    assert commit(windows, {"m": steps((0, 7, -300))}, version=2) == []
    assert counts(reader, -5, -300) == deltas([(None, -300)] * 2)
    assert fold_log(client, table, Time(NOW).clock(), one_after_another, WINDOW, 0) == 0
    assert counts(reader, -5, -300) == deltas([(None, -300)] * 2)


@pytest.mark.parametrize("brought", [0, 1, 2, 5, 40])
def test_a_purge_finds_the_nodes_of_a_fold_that_died(
    client: Any, table: str, windows: DynamoRollingWindows, brought: int
) -> None:
    def dies(jobs: Sequence[Callable[[], None]]) -> Iterator[None]:
        # Leaves come before their parents.
        yield from one_after_another(jobs[::-1][:brought])
        raise TimeoutError

    members = {"m": steps((0, 7, -5)), "n": steps((0, 7, -30_000))}
    for version, places in enumerate([members, {"m": steps((0, 7, -300)), "n": steps((0, 7, -10))}], start=1):
        list_items(windows, places, version)
        assert commit(windows, places, version) == []
        if version == 1:
            windows.fold(WINDOW, 0)
    with suppress(TimeoutError):
        fold_log(client, table, Time(NOW).clock(), dies, WINDOW, 0)
    purging = DynamoPurging(client, table, Time(NOW).clock())
    code = WINDOW.metric.ranking_code(WINDOW.window)
    # Time is often over.
    while not purging.purge("b", [code], 0, partial(next, iter([False] * 25), True)):
        pass

    assert client.scan(TableName=table)["Items"] == []


def test_a_purge_leaves_nodes_of_a_damaged_log_to_time(client: Any, table: str, windows: DynamoRollingWindows) -> None:
    two_members(windows)
    client.put_item(TableName=table, Item={**stored_log(client, table), "l": {"L": [{"S": "x"}]}})
    code = WINDOW.metric.ranking_code(WINDOW.window)

    assert DynamoPurging(client, table, Time(NOW).clock()).purge("b", [code], 0, lambda: False)
    assert log(client, table) is None


def test_two_folds_at_once_count_once(
    client: Any, table: str, windows: DynamoRollingWindows, reader: DynamoRankingsReader
) -> None:
    def meanwhile(jobs: Sequence[Callable[[], None]]) -> Iterator[None]:
        yield from one_after_another(jobs[:2])
        commit(windows, {"m": steps((0, 7, -300))}, version=2)
        windows.fold(WINDOW, 0)
        commit(windows, {"m": steps((0, 7, -7))}, version=3)
        yield from one_after_another(jobs[2:])

    two_members(windows)
    left = fold_log(client, table, Time(NOW).clock(), meanwhile, WINDOW, 0)

    # The cut is the other fold's; the answer is what is in the log now.
    assert left == int(stored_log(client, table)["z"]["N"]) > 0
    assert len(log_of(stored_log(client, table)).entries) == 1
    assert counts(reader, -5, -7, -300) == deltas([(None, -7), (None, -300)])


def test_a_fold_takes_so_many_entries_at_once(
    client: Any,
    table: str,
    windows: DynamoRollingWindows,
    reader: DynamoRankingsReader,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # moto recurses for each action of an update.
    most = 20 if request.node.callspec.params["client"] == "moto" else log_folds.MAX_ENTRIES
    monkeypatch.setattr(log_folds, "MAX_ENTRIES", most)
    two_members(windows)
    texts = [encode_entry(SHORT)] * (most + 3)
    item = {
        **stored_log(client, table),
        "l": {"L": [{"S": text} for text in texts]},
        "z": {"N": str(sum(map(len, texts)))},
    }
    client.put_item(TableName=table, Item=item)
    windows.rows(WINDOW, ["m"])
    windows.fold(WINDOW, 0)

    after = stored_log(client, table)
    assert after["l"]["L"] == item["l"]["L"][most:]
    assert int(after["z"]["N"]) == 3 * len(texts[0])
    assert counts(reader, -5) == deltas([(None, -5)] * (most + 3))


def test_a_log_without_entries_or_without_an_item_folds_to_nothing(client: Any, table: str) -> None:
    assert fold_log(client, table, Time(NOW).clock(), one_after_another, WINDOW, 0) == 0
    assert commit(DynamoRollingWindows(client, table, Time(NOW).clock()), {"m": steps((0, 7, -5))}) == []
    assert fold_log(client, table, Time(NOW).clock(), one_after_another, WINDOW, 0) == 0
    before = stored_log(client, table)
    assert fold_log(client, table, Time(NOW).clock(), one_after_another, WINDOW, 0) == 0
    assert stored_log(client, table) == before


def test_periods_that_nobody_can_read_are_not_brought(client: Any, table: str, windows: DynamoRollingWindows) -> None:
    past = WINDOW.first_open(NOW) - 1
    row = RowChange("m", RollingRow(1, steps()), NOW, None)
    assert windows.commit(WINDOW, [row], Entry(NOW, [CountChange(past, past + 2, None, -5)])) == []
    windows.fold(WINDOW, 0)

    periods = {item["pk"]["S"].split("/")[0] for item in client.scan(TableName=table)["Items"] if "p0" in item}
    assert periods == {WINDOW.at(past + 1).key}


def test_a_long_log_is_folded_first_and_a_full_one_takes_no_more(
    client: Any, table: str, windows: DynamoRollingWindows, other: DynamoRollingWindows, reader: DynamoRankingsReader
) -> None:
    two_members(windows)
    assert commit(other, {"o": steps((0, 7, -5))}) == []
    client.put_item(TableName=table, Item={**stored_log(client, table), "z": {"N": str(MAX_LOG)}})
    # This process has read a short log.
    row = RowChange("p", RollingRow(1, steps((0, 7, -5))), NOW, None)
    (cancelled,) = windows.commit(WINDOW, [row], SHORT)
    assert (cancelled.position, cancelled.reason) == (None, CancelReason.CONDITION)
    assert windows.rows(WINDOW, ["p"]) == {}
    assert windows.commit(WINDOW, [row], SHORT) == []

    assert log_of(stored_log(client, table)).entries == (SHORT,)
    assert counts(reader, -5, -300) == deltas([*TWO, (None, -5), (None, -5)])


def test_a_log_that_is_gone_is_made_again_above_all_earlier_positions(
    client: Any, table: str, windows: DynamoRollingWindows, reader: DynamoRankingsReader
) -> None:
    two_members(windows)
    windows.fold(WINDOW, 0)
    before = stored_log(client, table)
    client.delete_item(TableName=table, Key={"pk": before["pk"]})
    (cancelled,) = commit(windows, {"m": steps((0, 7, -6))}, version=2)
    assert (cancelled.position, cancelled.reason) == (None, CancelReason.CONDITION)
    # Positions begin at the clock.
    later = DynamoRollingWindows(client, table, Time(NOW + 60_000).clock())
    assert commit(later, {"m": steps((0, 7, -6))}, version=2) == []

    assert int(stored_log(client, table)["b"]["N"]) > int(before["b"]["N"]) + 2
    assert commit(windows, {"m": steps((0, 7, -7))}, version=3) == []
    assert counts(reader, -5, -6, -7, -300) == deltas([(None, -7), (None, -300)])


def test_a_refused_entry_is_an_error(other: DynamoRollingWindows, faulty: Faulty) -> None:
    faulty.steps = deque([refused_at_end])
    with pytest.raises(StoreRefusedError):
        commit(other, {"m": steps((0, 7, -5))})


@pytest.mark.parametrize("entry", [{"S": "x"}, {"S": "[1,2]"}, {"N": "5"}], ids=str)
def test_a_damaged_log_is_neither_read_nor_folded(
    client: Any, table: str, windows: DynamoRollingWindows, reader: DynamoRankingsReader, entry: dict[str, str]
) -> None:
    two_members(windows)
    damaged = {**stored_log(client, table), "l": {"L": [entry]}}
    client.put_item(TableName=table, Item=damaged)

    with pytest.raises(StoreRefusedError, match="is damaged"):
        windows.fold(WINDOW, 0)
    for read in (
        lambda: reader.nodes([(WINDOW.at(TODAY), ROOT)]),
        lambda: reader.entries([(WINDOW.at(TODAY), "m")]),
    ):
        with pytest.raises(StoreRefusedError, match="is damaged"):
            read()
    assert stored_log(client, table) == damaged
