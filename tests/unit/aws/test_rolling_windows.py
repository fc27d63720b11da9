"""Rolling windows: their items, at their bounds, when damaged, when folded, when purged, and when a write fails."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from itertools import chain, islice
from typing import Any
from unittest import mock

import pytest

from standings.aws.dynamodb.tables import entry_key, log_key
from standings.domain.scoring import Place
from standings.domain.tiers import ROOT, Path, deltas, nodes_for
from standings.domain.windows import DAY
from standings.rankings import EXPIRY_MARGIN, ROW_LIFETIME
from standings.rankings.commits import Conflict, one_after_another
from standings.rankings.reading import RankingReads
from standings.rankings.rolling import storing
from standings.rankings.rolling.steps import (
    Block,
    CountChange,
    LogEntry,
    RollingRow,
    Shift,
    Step,
    Steps,
    count_changes,
    decode_steps,
    encode_entry,
    list_item,
    list_key,
    listed_member,
    lists_of,
    log_of,
    row_item,
    row_of,
)
from standings.rankings.rolling.storing import (
    CONFLICTS,
    MAX_LOG,
    MAX_LOGS,
    WRITES_TIMEOUT_S,
    Plan,
    RollingStorage,
    RowWrite,
    fold_log,
    write_all,
)
from standings.rankings.storing import Purging
from standings.stores import (
    CancelReason,
    Partition,
    Span,
    StoreRefusedError,
    StoreUnavailableError,
)
from tests.support.builders.points import NOW
from tests.support.builders.rolling.random_items import rolling_window
from tests.support.dynamodb.requests import Requests
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.faults.faulty_client import Faulty, Time, conflict, conflict_at_end, error

WINDOW = rolling_window("last-7-days")
CODE = WINDOW.metric.ranking_code(WINDOW.window)
TODAY = WINDOW.metric.timetable.index("d", NOW)
SHORT = LogEntry(NOW, [CountChange(TODAY, TODAY + 7, None, (-5,))])
TWO = [(None, (-5,)), (None, (-300,))]  # the moves of two_members


@pytest.fixture
def client() -> Any:
    return engine_with_tables(shards=4)


@pytest.fixture
def time() -> Time:
    return Time(NOW)


@pytest.fixture
def windows(client: Any, time: Time) -> RollingStorage:
    return RollingStorage(client, "Rankings", time.clock())


@pytest.fixture
def reader(client: Any, time: Time) -> RankingReads:
    return RankingReads(client, "Rankings", time.clock())


@pytest.fixture
def faulty(client: Any) -> Faulty:
    return Faulty(client)


@pytest.fixture
def other(faulty: Faulty, time: Time) -> RollingStorage:
    """Another process, whose transactions fail as a test says."""
    return RollingStorage(faulty, "Rankings", time.clock())  # type: ignore[arg-type]


def steps(*places: tuple[int, int, int]) -> Steps:
    """Steps from first periods, ends and sort values; periods are counted from today."""
    return Steps(
        TODAY - 5, tuple(Step(TODAY + first, TODAY + until, Place((value,))) for first, until, value in places)
    )


def shift(member: str, after: Steps, version: int = 1) -> Shift:
    return Shift(WINDOW, member, (), after, version, NOW)


def commit(windows: RollingStorage, members: Mapping[str, Steps], version: int = 1) -> Sequence[Conflict]:
    """Read the rows of members, and commit their new steps."""
    rows = windows.rows(WINDOW, list(members))
    changes = []
    entry = LogEntry(NOW, [])
    for member, after in members.items():
        row = rows.get(member)
        assert not isinstance(row, str), row
        before, seen = (row.steps, row.version) if row is not None else (None, None)
        changes.append(RowWrite(shift(member, after, version), after, seen))
        entry = LogEntry(NOW, [*entry.changes, *count_changes(before, after)])
    return windows.append(WINDOW, changes, entry)


def list_items(windows: RollingStorage, members: Mapping[str, Steps], version: int = 1) -> None:
    """Write the items of all blocks."""
    items = [
        list_item(shift(member, of, version), block, place)
        for member, of in members.items()
        for block, place in of.by_block(WINDOW.window, of.low).items()
    ]
    windows.write(WINDOW, Plan(items))


def counts(reader: RankingReads, *sort_values: int) -> dict[Path, dict[int, int]]:
    """The counters of the nodes of some sort values that are not 0."""
    paths = dict.fromkeys([ROOT, *(path for value in sort_values for path in nodes_for((value,)))])
    nodes = reader.for_request().nodes([(WINDOW.at(TODAY), path) for path in paths])
    found = {path: {digit: n for digit, n in node.counters.items() if n} for (_, path), node in nodes.items()}
    return {path: counters for path, counters in found.items() if counters}


def log(client: Any, number: int = 0) -> dict[str, Any]:
    """A log as it is stored; empty if there is none."""
    answer = client.get_item(TableName="Rankings", Key={"pk": {"S": log_key(WINDOW.key, number)}})
    item: dict[str, Any] = answer.get("Item", {})
    return item


def two_members(windows: RollingStorage) -> None:
    """Commit the members of `TWO`, each with an entry."""
    assert commit(windows, {"m": steps((0, 7, -5))}) == []
    assert commit(windows, {"n": steps((0, 7, -300))}) == []


def test_a_member_is_in_its_new_list_before_it_leaves_the_old_one(
    client: Any, time: Time, reader: RankingReads
) -> None:
    seen = []
    spans = [Span(Partition(key, 0), None, 100) for key in lists_of(WINDOW.at(TODAY))]

    def look_then_write(writes: Sequence[Callable[[], None]]) -> Iterable[None]:
        entries, _ = reader.for_request().spans(WINDOW.at(TODAY), spans, [])
        seen.append([entry.member for entry in chain(*entries)])
        return one_after_another(writes)

    windows = RollingStorage(client, "Rankings", time.clock(), run_all=look_then_write)
    for version, old, new in ((1, 2, 1), (2, 1, 2)):
        of = shift("m", Steps(TODAY), version)
        items = [list_item(of, Block(TODAY, old), None), list_item(of, Block(TODAY, new), Place((-1,)))]
        windows.write(WINDOW, Plan(items))

    # Each time the new place is written first, then the old one is taken away.
    assert seen == [[], ["m"], ["m"], ["m", "m"]]


@pytest.mark.parametrize("damage", ["x", "[]", "[1,[2]]"])
def test_a_damaged_row_says_so(client: Any, windows: RollingStorage, reader: RankingReads, damage: str) -> None:
    commit(windows, {"m": steps((0, 7, -5)), "n": steps((0, 7, -6))})
    key = {"pk": {"S": entry_key(WINDOW.key, "m")}}
    client.update_item(
        TableName="Rankings", Key=key, UpdateExpression="SET p = :p", ExpressionAttributeValues={":p": {"S": damage}}
    )
    rows = windows.rows(WINDOW, ["m", "n"])

    assert "is damaged" in str(rows["m"])
    assert rows["n"] == RollingRow(1, steps((0, 7, -6)))
    with pytest.raises(StoreRefusedError, match="is damaged"):
        reader.entries([(WINDOW.at(TODAY), "m")])
    assert len(reader.entries([(WINDOW.at(TODAY), "n")])) == 1


@pytest.mark.parametrize("brought", [0, 1, 2, 5, 40])
def test_a_purge_finds_the_nodes_of_a_fold_that_died(client: Any, windows: RollingStorage, brought: int) -> None:
    def dies(jobs: Sequence[Callable[[], None]]) -> Iterator[None]:
        # Leaves come before their parents.
        yield from one_after_another(jobs[::-1][:brought])
        raise TimeoutError

    members = {"m": steps((0, 7, -5)), "n": steps((0, 7, -30_000))}
    for version, places in enumerate([members, {"m": steps((0, 7, -300)), "n": steps((0, 7, -10))}], start=1):
        list_items(windows, places, version)
        assert commit(windows, places, version) == []
        if version == 1:
            windows.fold(WINDOW)
    with suppress(TimeoutError), mock.patch.object(storing, "PROBED", 1_000):
        fold_log(client, "Rankings", Time(NOW).clock(), dies, WINDOW, 0)
    purging = Purging(client, "Rankings", Time(NOW).clock())
    # Time is often over.
    while not purging.purge("b", [CODE], 0, partial(next, iter([False] * 25), True)):
        pass

    assert client.scan(TableName="Rankings")["Items"] == []


def test_a_fold_goes_on_where_an_earlier_one_died(client: Any, windows: RollingStorage) -> None:
    """Else functions that often end would never fold a log of many nodes: each try would begin with all of them."""
    places = {f"m{number}": steps((0, 7, -(3**number))) for number in range(20)}
    list_items(windows, places)
    assert commit(windows, places) == []
    sent: Any = Requests(client)
    left = [40]

    def dies(jobs: Sequence[Callable[[], None]]) -> Iterator[None]:
        for job in jobs:
            if left[0] == 0:
                raise TimeoutError
            left[0] -= 1
            yield job()

    tries = 0
    while True:
        tries += 1
        with suppress(TimeoutError):
            assert fold_log(sent, "Rankings", Time(NOW).clock(), dies, WINDOW, 0) == 0
            break
        left[0] = 40
    nodes = [item for item in client.scan(TableName="Rankings")["Items"] if "p0" in item]
    assert len(nodes) > 3 * 40
    assert tries <= -(-len(nodes) // (40 - storing.PROBED)) + 1
    assert sent.counts["batch_get_item", "Rankings"] <= tries * (1 + len(nodes) // 100)


def test_a_purge_gets_past_empty_lists_however_short_its_calls_are(client: Any, windows: RollingStorage) -> None:
    members = {"m": steps((0, 3, -300), (3, 7, -100)), "n": steps((-2, 5, -10))}
    list_items(windows, members)
    assert commit(windows, members) == []
    purging = Purging(client, "Rankings", Time(NOW).clock())
    with mock.patch.object(purging, "_placed", wraps=purging._placed) as looked:
        for _ in range(50):
            looked.reset_mock()
            if purging.purge("b", [CODE], 0, lambda: looked.call_count > 3):
                break
            assert looked.call_count <= 12
    assert client.scan(TableName="Rankings")["Items"] == []


def test_a_purge_leaves_nodes_of_a_damaged_log_to_time(client: Any, windows: RollingStorage) -> None:
    two_members(windows)
    client.put_item(TableName="Rankings", Item={**log(client), "l": {"L": [{"S": "x"}]}})

    assert Purging(client, "Rankings", Time(NOW).clock()).purge("b", [CODE], 0, lambda: False)
    assert log(client) == {}


def test_a_fold_takes_so_many_entries_at_once(client: Any, windows: RollingStorage, reader: RankingReads) -> None:
    most = storing.MAX_ENTRIES
    two_members(windows)
    texts = [encode_entry(SHORT)] * (most + 3)
    item = {**log(client), "l": {"L": [{"S": text} for text in texts]}, "z": {"N": str(sum(map(len, texts)))}}
    client.put_item(TableName="Rankings", Item=item)
    windows.rows(WINDOW, ["m"])
    windows.fold(WINDOW)

    after = log(client)
    assert after["l"]["L"] == item["l"]["L"][most:]
    assert int(after["z"]["N"]) == 3 * len(texts[0])
    assert counts(reader, -5) == deltas([(None, (-5,))] * (most + 3))


def test_a_stale_shift_is_done_once_though_the_write_beside_it_is_tried_again(
    other: RollingStorage, faulty: Faulty, time: Time
) -> None:
    commit(other, {"m": steps((0, 7, -5))}, version=2)
    # The row of m is as new as the first shift. The write of the second one fails at first.
    shifts = [shift("m", steps((0, 7, -4))), shift("n", steps((0, 7, -6)))]
    faulty.steps.append(error("InternalServerError"))
    outcome = other.commit(shifts, time.clock().backoff(1e9), lambda: False)

    assert (outcome.failure, outcome.stale_moves, outcome.moves) == (None, 1, 1)
    assert sorted(one.member for one in outcome.done) == ["m", "n"]


def test_a_long_log_is_folded_first_and_a_full_one_takes_no_more(
    client: Any, windows: RollingStorage, other: RollingStorage, reader: RankingReads
) -> None:
    two_members(windows)
    assert commit(other, {"o": steps((0, 7, -5))}) == []
    client.put_item(TableName="Rankings", Item={**log(client), "z": {"N": str(MAX_LOG)}})
    # This process has read a short log.
    row = RowWrite(shift("p", after := steps((0, 7, -5))), after, None)
    (cancelled,) = windows.append(WINDOW, [row], SHORT)
    assert (cancelled.position, cancelled.reason) == (None, CancelReason.CONDITION)
    assert windows.rows(WINDOW, ["p"]) == {}
    assert windows.append(WINDOW, [row], SHORT) == []

    assert log_of(log(client)).entries == (SHORT,)
    assert counts(reader, -5, -300) == deltas([*TWO, (None, (-5,)), (None, (-5,))])


def test_a_log_that_is_gone_is_made_again_above_all_earlier_positions(
    client: Any, windows: RollingStorage, reader: RankingReads
) -> None:
    two_members(windows)
    windows.fold(WINDOW)
    before = log(client)
    client.delete_item(TableName="Rankings", Key={"pk": before["pk"]})
    (cancelled,) = commit(windows, {"m": steps((0, 7, -6))}, version=2)
    assert (cancelled.position, cancelled.reason) == (None, CancelReason.CONDITION)
    # Positions begin at the clock.
    later = RollingStorage(client, "Rankings", Time(NOW + 60_000).clock())
    assert commit(later, {"m": steps((0, 7, -6))}, version=2) == []

    assert int(log(client)["b"]["N"]) > int(before["b"]["N"]) + 2
    assert commit(windows, {"m": steps((0, 7, -7))}, version=3) == []
    assert counts(reader, -5, -6, -7, -300) == deltas([(None, (-7,)), (None, (-300,))])


@pytest.mark.parametrize(
    "damage",
    [*({"l": {"L": [entry]}} for entry in ({"S": "x"}, {"S": "[1,2]"}, {"N": "5"})), {"b": {"S": "x"}}],
    ids=str,
)
def test_a_damaged_log_is_neither_read_nor_folded(
    client: Any, windows: RollingStorage, reader: RankingReads, damage: dict[str, Any]
) -> None:
    two_members(windows)
    damaged = {**log(client), **damage}
    client.put_item(TableName="Rankings", Item=damaged)

    with pytest.raises(StoreRefusedError, match=r"the log 'b#.*/log' is damaged .* rebuild"):
        windows.fold(WINDOW)
    for read in (lambda: reader.nodes([(WINDOW.at(TODAY), ROOT)]), lambda: reader.entries([(WINDOW.at(TODAY), "m")])):
        with pytest.raises(StoreRefusedError, match="is damaged"):
            read()
    assert log(client) == damaged


def test_there_are_so_many_logs_and_no_more(
    client: Any, other: RollingStorage, faulty: Faulty, reader: RankingReads
) -> None:
    assert commit(other, {"m": steps((0, 7, -5))}) == []
    for version in range(2, 8):
        faulty.steps = deque([conflict_at_end] * CONFLICTS)
        for _ in range(CONFLICTS):
            assert commit(other, {"m": steps((0, 7, -version))}, version) != []
        assert commit(other, {"m": steps((0, 7, -version))}, version) == []
        assert counts(reader, *range(-8, 0)) == deltas([(None, (-version,))])
    assert log(client)["c"] == {"N": str(MAX_LOGS)}
    assert log(client, MAX_LOGS) == {}
    # Another process learns the number when it has conflicts.
    late = RollingStorage(faulty, "Rankings", Time(NOW).clock())  # type: ignore[arg-type]
    late._log(WINDOW).conflicts = CONFLICTS
    assert commit(late, {"m": steps((0, 7, -9))}, 9) == []
    assert late._log(WINDOW).of == MAX_LOGS
    assert counts(reader, *range(-9, 0)) == deltas([(None, (-9,))])


def test_conflicts_on_rows_are_no_reason_for_another_log(client: Any, other: RollingStorage, faulty: Faulty) -> None:
    faulty.steps = deque([conflict] * 5)
    for _ in range(5):
        (cancelled,) = commit(other, {"m": steps((0, 7, -5))})
        assert (cancelled.position, cancelled.reason) == (0, CancelReason.BUSY)
    assert commit(other, {"m": steps((0, 7, -5))}) == []
    assert "c" not in log(client)


def test_a_process_with_conflicts_uses_no_other_log_of_a_window_that_was_purged(
    client: Any, other: RollingStorage, faulty: Faulty, reader: RankingReads, time: Time
) -> None:
    assert commit(other, {"m": steps((0, 7, -5))}) == []
    other.fold(WINDOW)
    faulty.steps = deque([conflict_at_end] * CONFLICTS)
    for _ in range(CONFLICTS):
        commit(other, {"m": steps((0, 7, -6))}, 2)
    client.delete_item(TableName="Rankings", Key={"pk": log(client)["pk"]})
    time.milliseconds += 60_000
    tries = islice(iter(lambda: commit(other, {"m": steps((0, 7, -6))}, 2), []), 5)
    assert len(list(tries)) == 1

    assert log_of(log(client)).entries
    assert counts(reader, -5, -6) == deltas([(None, (-6,))])


# ---- items come back from what is stored, and damaged ones are refused


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "5", "null", "[]", "{}", '"12"', "[null]", "[1.5]", "[true]", '["1"]', "[1,2]", '[1,"234"]'),
        *("[1,[2,3]]", "[1,[2,3,4,5,6]]", "[1,[2,3,null]]", '[1,[2,3,"x"]]', "[1,[2,3,4.5]]", "[1,[2,3,4,5.5]]"),
        *("[1,[]]", "[1,[2,0,4]]"),
    ],
)
def test_any_other_text_is_no_steps(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_steps(text)
    item = row_item(shift("m", Steps(1), 5), Steps(1))
    assert row_of(item) == RollingRow(5, Steps(1))
    for damaged in ({**item, "p": {"S": text}}, {**item, "p": {}}, {**item, "v": {}}):
        problem = row_of(damaged)
        assert isinstance(problem, str)
        assert "#m' is damaged" in problem


def test_a_row_stays_until_its_last_step_has_been_read_and_no_older_change_can_come() -> None:
    written_at_ms = TODAY * DAY
    steps = Steps(TODAY, (Step(TODAY, TODAY + 1, Place((1,))), Step(TODAY + 1, TODAY + 400, Place((2,)))))

    def expiry(row: Steps) -> int:
        return int(row_item(Shift(WINDOW, "m", (), row, 5, written_at_ms), row)["e"]["N"]) * 1000

    assert expiry(steps) == WINDOW.readable_until(TODAY + 399) + EXPIRY_MARGIN
    assert expiry(Steps(TODAY)) == expiry(Steps(TODAY, steps.steps[:1])) == written_at_ms + ROW_LIFETIME


@pytest.mark.parametrize("length", [1, 4])
def test_a_list_item_is_in_the_index_as_long_as_it_has_a_place(length: int) -> None:
    block, member = Block(TODAY, length), "a#b/x4#"
    item = list_item(Shift(WINDOW, member, (), Steps(TODAY), 5, 99), block, Place((-7,)))

    assert listed_member(WINDOW, item["pk"]["S"]) == (block, member)
    assert item["r"]["S"] == list_key(WINDOW, block)
    assert {"r", "s", "v", "t", "e", "pk"} == item.keys()
    # It stays as long as an older change could bring back a place there.
    assert int(item["e"]["N"]) * 1000 == WINDOW.readable_until(TODAY + length - 1) + EXPIRY_MARGIN
    gone = list_item(Shift(WINDOW, member, (), Steps(TODAY), 6, 99), block, None)
    assert gone == {name: item[name] for name in ("pk", "t", "e")} | {"v": {"N": "6"}}
    assert listed_member(WINDOW._replace(generation=1), item["pk"]["S"]) is None


# ---- single writes: one that fails is tried again by itself


def tried(time: Time, failures: Sequence[Sequence[Exception]], error: type[Exception] | None = None) -> list[int]:
    """Write items whose first tries fail; returns each item that was tried, in order."""
    found: list[int] = []
    left = [iter(errors) for errors in failures]

    def write(number: int) -> None:
        found.append(number)
        for failure in left[number]:
            raise failure

    with pytest.raises(error) if error else nullcontext():
        write_all(one_after_another, time.clock(), [partial(write, number) for number in range(len(left))])
    return found


THROTTLED = StoreUnavailableError("throttled")


def test_only_what_failed_is_written_again() -> None:
    assert tried(Time(0), [[], [THROTTLED] * 2, [], [THROTTLED], []]) == [0, 1, 1, 1, 2, 3, 3, 4]


def test_writes_that_go_on_failing_are_an_error_after_a_while_that_is_the_same_for_all() -> None:
    time = Time(0)

    assert 99 not in tried(time, [[THROTTLED] * 3] * 100, StoreUnavailableError)
    assert WRITES_TIMEOUT_S / 2 < time.monotonic() < WRITES_TIMEOUT_S


def test_a_refused_write_is_not_tried_again() -> None:
    assert tried(Time(0), [[StoreRefusedError("no")]], StoreRefusedError) == [0]
