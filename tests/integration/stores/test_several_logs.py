"""A rolling window has more logs after conflicts: on the engine, on DynamoDB Local and on moto."""

from collections import deque
from itertools import islice
from typing import Any

from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings.rolling_items import log_of
from standings.aws.dynamodb.rankings.rolling_windows import CONFLICTS, MAX_LOGS, DynamoRollingWindows
from standings.domain.tiers.tier_tree import deltas
from standings.ports.errors import CancelReason
from tests.support.builders.points import NOW
from tests.support.builders.rolling.writing import TWO, WINDOW, commit, counts, log, steps, stored_log, two_members
from tests.support.faults.faulty_client import Faulty, Time, conflict, conflict_at_end


def test_after_conflicts_there_are_more_logs_and_readers_read_them_all(
    client: Any,
    table: str,
    windows: DynamoRollingWindows,
    other: DynamoRollingWindows,
    faulty: Faulty,
    reader: DynamoRankingsReader,
) -> None:
    two_members(windows)
    faulty.steps = deque([conflict_at_end] * CONFLICTS)
    for _ in range(CONFLICTS):
        (cancelled,) = commit(other, {"o": steps((0, 7, -5))})
        assert (cancelled.position, cancelled.reason) == (None, CancelReason.BUSY)
    assert commit(other, {"o": steps((0, 7, -5))}) == []

    assert stored_log(client, table)["c"] == {"N": "2"}
    assert len(log_of(stored_log(client, table, 1)).entries) == 1
    assert counts(reader, -5, -300) == deltas([*TWO, (None, -5)])
    other.fold(WINDOW, 0)
    assert log_of(stored_log(client, table, 1)).entries == ()
    assert len(log_of(stored_log(client, table)).entries) == 2
    assert counts(reader, -5, -300) == deltas([*TWO, (None, -5)])
    # Both have a position in the nodes.
    windows.fold(WINDOW, 0)
    nodes = [item for item in client.scan(TableName=table)["Items"] if "p0" in item and "p1" in item]
    assert nodes
    assert counts(reader, -5, -300) == deltas([*TWO, (None, -5)])


def test_there_are_so_many_logs_and_no_more(
    client: Any, table: str, other: DynamoRollingWindows, faulty: Faulty, reader: DynamoRankingsReader
) -> None:
    assert commit(other, {"m": steps((0, 7, -5))}) == []
    for version in range(2, 8):
        faulty.steps = deque([conflict_at_end] * CONFLICTS)
        for _ in range(CONFLICTS):
            assert commit(other, {"m": steps((0, 7, -version))}, version) != []
        assert commit(other, {"m": steps((0, 7, -version))}, version) == []
        assert counts(reader, *range(-8, 0)) == deltas([(None, -version)])
    assert stored_log(client, table)["c"] == {"N": str(MAX_LOGS)}
    assert log(client, table, MAX_LOGS) is None
    # Another process learns the number when it has conflicts.
    late = DynamoRollingWindows(faulty, table, Time(NOW).clock())  # type: ignore[arg-type]
    late._log(WINDOW).conflicts = CONFLICTS
    assert commit(late, {"m": steps((0, 7, -9))}, 9) == []
    assert late._log(WINDOW).of == MAX_LOGS
    assert counts(reader, *range(-9, 0)) == deltas([(None, -9)])


def test_conflicts_on_rows_are_no_reason_for_another_log(
    client: Any, table: str, other: DynamoRollingWindows, faulty: Faulty
) -> None:
    faulty.steps = deque([conflict] * 5)
    for _ in range(5):
        (cancelled,) = commit(other, {"m": steps((0, 7, -5))})
        assert (cancelled.position, cancelled.reason) == (0, CancelReason.BUSY)
    assert commit(other, {"m": steps((0, 7, -5))}) == []
    assert "c" not in stored_log(client, table)


def test_a_process_with_conflicts_uses_no_other_log_of_a_window_that_was_purged(
    client: Any, table: str, other: DynamoRollingWindows, faulty: Faulty, reader: DynamoRankingsReader, time: Time
) -> None:
    assert commit(other, {"m": steps((0, 7, -5))}) == []
    other.fold(WINDOW, 0)
    faulty.steps = deque([conflict_at_end] * CONFLICTS)
    for _ in range(CONFLICTS):
        commit(other, {"m": steps((0, 7, -6))}, 2)
    client.delete_item(TableName=table, Key={"pk": stored_log(client, table)["pk"]})
    time.milliseconds += 60_000
    tries = islice(iter(lambda: commit(other, {"m": steps((0, 7, -6))}, 2), []), 5)
    assert len(list(tries)) == 1

    assert log_of(stored_log(client, table)).entries
    assert counts(reader, -5, -6) == deltas([(None, -6)])
