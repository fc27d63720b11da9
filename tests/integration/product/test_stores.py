"""One contract for the DynamoDB adapter, wherever it runs: the engine, DynamoDB Local and moto."""

from dataclasses import replace
from typing import Any

import pytest

from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings.rankings import CONFLICTS, DynamoRankings, _Lane
from standings.aws.dynamodb.rankings.tier_trees import DynamoTrees
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.coverage import BucketCoverage, coverage_of
from standings.domain.boards.definitions import Family
from standings.domain.boards.ranking import Ranking
from standings.domain.events.event import Event
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place, sort_key
from standings.domain.tiers.tier_path import ROOT, Path
from standings.domain.tiers.tier_tree import nodes_for
from standings.ports.board_records import BoardRecord, Job
from standings.ports.errors import CancelReason, StoreRefusedError
from standings.ports.ranking_reads import Entry, Span
from standings.ports.rankings import RankingRow, Removal
from standings.ports.scores import Addition, ItemConflict, ReceiptConflict, Rewrite
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }')


@pytest.fixture
def scores(client: Any, tables: dict[str, str]) -> DynamoScores:
    return DynamoScores(client, tables["ScoresTable"], tables["ReceiptsTable"], faulty_client.Time(NOW).pacing())


@pytest.fixture
def boards(client: Any, tables: dict[str, str]) -> DynamoBoards:
    return DynamoBoards(client, tables["ScoresTable"], faulty_client.Time(NOW).pacing())


@pytest.fixture
def rankings(client: Any, tables: dict[str, str]) -> DynamoRankings:
    return DynamoRankings(client, tables["RankingsTable"], faulty_client.Time(NOW).pacing())


@pytest.fixture
def standing(client: Any, tables: dict[str, str]) -> DynamoRankingsReader:
    return DynamoRankingsReader(
        client, tables["RankingsTable"], tables["ScoresTable"], faulty_client.Time(NOW).pacing()
    )


def change(member: str = "m", **other: Any) -> Addition:
    given: dict[str, Any] = {
        "adds": {"a1b": 3},
        "removes": (),
        "tie_keys_removed": (),
        "written_at_ms": NOW,
        "abs_total": 3,
        "known": False,
        **other,
    }
    return Addition("b", member, **given)


def image(version: int, *, abs_total: int = 3, **other: Any) -> Image:
    return Image("b", "m", version, NOW, abs_total, **{"hidden": False, "values": {"a1b": 3}, **other})


def family(board: str) -> Family:
    found = BOARDS.family(board)
    assert found is not None
    return found


def ranking(window: str = "all") -> Ranking:
    metric = family("b").metrics["points"]
    found = metric.window(window)
    assert found is not None
    return Ranking("b", metric, found, 0 if window == "all" else metric.timetable.index("d", NOW))


def move(member: str, old: int | None, new: int | None, version: int = 1) -> Move:
    return Move(ranking(), member, _place(old), _place(new), version, NOW)


def _place(number: int | None) -> Place | None:
    return None if number is None else Place(number)


def entry(standing: DynamoRankingsReader, member: str) -> Entry | None:
    return standing.entries([(ranking(), member)]).get((ranking(), member))


def test_receipts_and_changes_are_done_together(scores: DynamoScores) -> None:
    assert scores.apply([Event("1", 0, (), b"x"), Event("2", 0, (), b"y")], [change(), change("n")], NOW) == []

    images = scores.images([("b", "m"), ("b", "n"), ("b", "nobody")])
    assert set(images) == {("b", "m"), ("b", "n")}
    image = images["b", "m"]
    assert (image.values, image.written_at_ms, image.abs_total, image.hidden) == ({"a1b": 3}, NOW, 3, False)
    assert image.version == NOW + 1
    assert scores.image(("b", "m")) == image
    assert scores.image(("b", "nobody")) is None
    assert (scores.receipt("1"), scores.receipt("3")) == (b"x", None)


def test_a_known_receipt_keeps_all_of_it_from_being_done(scores: DynamoScores) -> None:
    scores.apply([Event("1", 0, (), b"x")], [change()], NOW)
    obstacles = scores.apply([Event("2", 0, (), b"y"), Event("1", 0, (), b"z")], [change()], NOW)

    (obstacle,) = obstacles
    assert isinstance(obstacle, ReceiptConflict)
    assert (obstacle.position, obstacle.reason, obstacle.found) == (1, CancelReason.CONDITION, b"x")
    assert scores.images([("b", "m")])["b", "m"].values == {"a1b": 3}


def test_additions_add_up_and_versions_count(scores: DynamoScores) -> None:
    scores.apply([], [change()], NOW)
    scores.apply([], [change(adds={"a1b": -5, "c2dd20778": 0}, removes=("c2dd1", "z9z"), written_at_ms=NOW + 1)], NOW)
    image = scores.images([("b", "m")])["b", "m"]

    assert image.values == {"a1b": -2, "c2dd20778": 0}
    assert (image.version, image.written_at_ms, image.abs_total) == (NOW + 2, NOW + 1, 6)


def test_a_stamp_never_goes_back_and_the_item_comes_with_the_no(scores: DynamoScores) -> None:
    scores.apply([], [change(written_at_ms=NOW + 5)], NOW)
    (obstacle,) = scores.apply([Event("1", 0, (), b"x")], [change("n"), change()], NOW)

    assert isinstance(obstacle, ItemConflict)
    assert (obstacle.position, obstacle.reason) == (1, CancelReason.CONDITION)
    assert obstacle.found is not None
    assert obstacle.found.written_at_ms == NOW + 5
    assert ("b", "n") not in scores.images([("b", "n")])


def test_no_room_for_an_amount(scores: DynamoScores) -> None:
    scores.apply([], [change(adds={"a1b": 9 * 10**15}, abs_total=9 * 10**15)], NOW)
    (obstacle,) = scores.apply([], [change(abs_total=10**13)], NOW)

    assert obstacle.reason is CancelReason.CONDITION


def test_a_rewrite_needs_the_version_that_was_seen(scores: DynamoScores) -> None:
    assert scores.apply([], [Rewrite(image(7), None)], NOW) == []
    (taken,) = scores.apply([], [Rewrite(image(7), None)], NOW)
    assert taken.reason is CancelReason.CONDITION
    assert scores.apply([], [Rewrite(image(8, abs_total=99), 7)], NOW) == []
    (late,) = scores.apply([], [Rewrite(image(8), 7)], NOW)
    assert late.found == image(8, abs_total=99)
    assert scores.image(("b", "m")) == image(8, abs_total=99)


def test_a_rewrite_of_the_same_version_changes_nothing_and_makes_sure_of_it(scores: DynamoScores) -> None:
    scores.apply([], [Rewrite(image(7), None)], NOW)

    assert scores.apply([Event("1", 0, (), b"x")], [Rewrite(image(7, values={}), 7)], NOW) == []
    assert scores.image(("b", "m")) == image(7)
    assert scores.apply([Event("2", 0, (), b"x")], [Rewrite(image(6), 6)], NOW) != []
    assert (scores.receipt("1"), scores.receipt("2")) == (b"x", None)


def test_an_image_comes_back_as_it_was_written(scores: DynamoScores) -> None:
    whole = image(7, values={"a1b": -3, "c2dd20778": 0}, marks={"a1b": "用户 x", "c2dd20778": "y"}, hidden=True)
    gone = image(8, values={}, removed=True)

    scores.apply([], [Rewrite(whole, None)], NOW)
    assert scores.image(("b", "m")) == whole
    scores.apply([], [Rewrite(gone, 7)], NOW)
    assert scores.image(("b", "m")) == gone


def test_what_was_removed_expires_unless_it_comes_back(
    scores: DynamoScores, client: Any, tables: dict[str, str]
) -> None:
    def expiry() -> int | None:
        (item,) = client.scan(TableName=tables["ScoresTable"])["Items"]
        return int(item["e"]["N"]) if "e" in item else None

    scores.apply([], [Rewrite(image(7, values={}, removed=True), None)], NOW)
    assert expiry() == NOW // 1000 + 60 * 86_400
    (stranger,) = scores.apply([], [change(known=True)], NOW)
    assert stranger.found == image(7, values={}, removed=True)
    assert scores.apply([], [change()], NOW) == []
    assert expiry() is None
    assert scores.image(("b", "m")) == image(8, abs_total=6)


def test_only_whom_the_board_knows(scores: DynamoScores) -> None:
    (stranger,) = scores.apply([Event("1", 0, (), b"x")], [change(known=True)], NOW)
    assert (stranger.reason, stranger.found) == (CancelReason.CONDITION, None)
    scores.apply([], [change()], NOW)
    assert scores.apply([Event("1", 0, (), b"x")], [change(known=True)], NOW) == []


def test_more_items_than_one_request_reads(scores: DynamoScores) -> None:
    for start in range(0, 130, 65):
        scores.apply([], [change(f"m{n}") for n in range(start, start + 65)], NOW)

    assert len(scores.images([("b", f"m{n}") for n in range(140)])) == 130


def test_what_the_store_will_never_do_is_refused(scores: DynamoScores) -> None:
    with pytest.raises(StoreRefusedError):
        scores.apply([Event("", 0, (), b"x")], [change()], NOW)


def test_a_record_of_a_board_is_written_over_the_one_that_was_seen(
    boards: DynamoBoards, standing: DynamoRankingsReader
) -> None:
    coverage = coverage_of(family("c"))
    kept = {code: BucketCoverage(kept.windows, 20_778) for code, kept in coverage.buckets.items()}
    job = Job("rebuild", "placing", NOW, coverage, 7, "m", 400)
    record = BoardRecord("b", 1, NOW, coverage, coverage.rankings)
    later = replace(
        record,
        version=2,
        coverage=replace(coverage, buckets=kept),
        generation=1,
        written=(1, 2),
        latest=3,
        stale=(2,),
        job=job,
    )

    assert standing.record("b") is None
    assert boards.put(record, None)
    assert not boards.put(record, None)
    assert not boards.put(later, 2)
    assert boards.put(later, 1)
    assert standing.record("b") == later
    assert boards.records(["b", "c"]) == {"b": later}


def test_entries_and_tiers_move_together(rankings: DynamoRankings, standing: DynamoRankingsReader) -> None:
    assert rankings.commit(ranking(), [move("m", None, -300), move("n", None, -10)]) == []
    assert rankings.commit(ranking(), [move("m", -300, -310, 2), move("n", -10, None, 2)]) == []

    assert entry(standing, "m") == Entry(sort_key(Place(-310), "m"), Place(-310), "m", NOW)
    assert entry(standing, "n") is None
    assert entry(standing, "nobody") is None
    paths = [*nodes_for(-310), *nodes_for(-10)[1:], (1, 2, 3)]
    nodes = standing.nodes([(ranking(), path) for path in paths])
    counted = {path: {d: n for d, n in node.counters.items() if n} for (_, path), node in nodes.items()}
    assert set(counted) == {(), (62,), (62, 125), (63,)}
    assert sum(counted[()].values()) == 1
    assert counted[63,] == {}


def test_a_row_that_is_not_as_believed_comes_with_the_no(
    rankings: DynamoRankings, standing: DynamoRankingsReader
) -> None:
    rankings.commit(ranking(), [move("m", None, 5, 7), move("gone", None, 5, 7)])
    rankings.commit(ranking(), [move("gone", 5, None, 8)])
    obstacles = rankings.commit(
        ranking(),
        [
            move("fine", None, 1),
            move("m", 5, 6, 7),  # old news
            move("gone", None, 6, 8),  # old news, of one that left
            move("never", 4, 6, 9),  # a gap: it has no row
        ],
    )

    assert [(o.position, o.reason, o.found) for o in obstacles] == [
        (1, CancelReason.CONDITION, RankingRow(Place(5), 7)),
        (2, CancelReason.CONDITION, RankingRow(None, 8)),
        (3, CancelReason.CONDITION, None),
    ]
    assert entry(standing, "fine") is None


def test_a_gap_is_told_by_the_row(rankings: DynamoRankings) -> None:
    rankings.commit(ranking(), [move("m", None, 5, 7)])
    (obstacle,) = rankings.commit(ranking(), [move("m", 6, 9, 8)])

    assert obstacle.found == RankingRow(Place(5), 7)


def test_spans_in_both_directions_with_nodes_beside(rankings: DynamoRankings, standing: DynamoRankingsReader) -> None:
    sort_values = {"c": -7, "a": -7, "b": 0, "用户": 0, "d": 12, "images/1": 12, "Z": 12}
    assert rankings.commit(ranking(), [move(name, None, number) for name, number in sort_values.items()]) == []
    expected = [name for name, _ in sorted(sort_values.items(), key=lambda pair: (pair[1], pair[0]))]

    (first,), nodes = standing.spans(ranking(), [Span(0, None, 4)], [ROOT])
    assert [entry.member for entry in first] == expected[:4]
    assert sum(nodes[()].counters.values()) == 7
    (rest, back), _ = standing.spans(
        ranking(), [Span(0, first[-1].key, 10), Span(0, first[-1].key, 2, forward=False)], []
    )
    assert [entry.member for entry in rest] == expected[4:]
    assert [entry.member for entry in back] == [expected[2], expected[1]]
    assert standing.spans(ranking("day"), [Span(0, None, 10)], [ROOT]) == ([[]], {})
    assert standing.counts(ranking(), 1, [(rest[0].key, rest[-1].key)], 100) == [3]
    assert standing.counts(ranking(), 1, [(rest[0].key, rest[-1].key)], 2) == [2]
    assert standing.counts(ranking(), 1, [(first[1].key, rest[1].key)], 100) == [5]


def test_a_span_larger_than_one_answer(rankings: DynamoRankings, standing: DynamoRankingsReader, client: Any) -> None:
    del client
    names = [f"{n:04}" + "x" * 250 for n in range(60)]
    assert rankings.commit(ranking(), [move(name, None, 0) for name in names]) == []
    (entries,), _ = standing.spans(ranking(), [Span(0, None, 1000)], [])

    assert [entry.member for entry in entries] == names


def test_names_of_boards_by_prefix(boards: DynamoBoards, standing: DynamoRankingsReader) -> None:
    coverage = coverage_of(family("c"))
    for name in ("a", "demo-1", "demo-2", "demo-2-gone", "demo-3", "z"):
        record = BoardRecord(name, 1, NOW, coverage, coverage.rankings, deleted=name.endswith("gone"))
        assert boards.put(record, None)

    assert standing.boards("", None, 10) == ["a", "demo-1", "demo-2", "demo-3", "z"]
    assert standing.boards("demo-", None, 2) == ["demo-1", "demo-2"]
    assert standing.boards("demo-", None, 3) == ["demo-1", "demo-2", "demo-3"]
    assert standing.boards("demo-", "demo-2", 2) == ["demo-3"]
    assert standing.boards("demo-", "a", 10) == ["demo-1", "demo-2", "demo-3"]
    assert standing.boards("demo-", "z", 10) == []


def test_entries_of_shards_and_a_root_that_names_them(
    rankings: DynamoRankings, standing: DynamoRankingsReader, client: Any, tables: dict[str, str]
) -> None:
    del client, tables
    three = parse_boards('[boards."*"]\nshards = 3\nmetrics.points = { aggregate = "sum", windows = ["all"] }')
    spread_over = three.family("b")
    assert spread_over is not None
    metric = spread_over.metrics["points"]
    spread = Ranking("b", metric, metric.windows[0], 0)
    assert spread.key == ranking().key
    assert rankings.commit(ranking(), [move("before", None, 5)]) == []
    moves = [Move(spread, f"m{n}", None, Place(n), 1, NOW) for n in range(30)]
    assert rankings.commit(spread, moves) == []
    found, nodes = standing.spans(spread, [Span(shard, None, 100) for shard in range(3)], [ROOT])

    assert nodes[ROOT].shards == 3
    assert sorted(entry.member for entries in found for entry in entries) == sorted(
        ["before", *(f"m{n}" for n in range(30))]
    )
    assert all(len(entries) > 3 for entries in found)
    # A change that leaves the tiers as they are names the shards all the same.
    day = Ranking("c", metric, metric.windows[0], 0)
    again = DynamoRankings(rankings._client, rankings._rankings, rankings._clock)
    assert again.commit(day, [Move(day, "m", None, None, 1, NOW)]) == []
    assert standing.nodes([(day, ROOT)])[day, ROOT].shards == 3


def test_lanes_are_named_summed_and_removed(
    rankings: DynamoRankings, standing: DynamoRankingsReader, client: Any, tables: dict[str, str]
) -> None:
    trees = DynamoTrees(client, tables["RankingsTable"], faulty_client.Time(NOW).pacing())
    assert rankings.commit(ranking(), [move("m", None, 300)]) == []
    for number in (2, 4):
        rankings._lanes.put(ranking().key, _Lane(of=number // 2, conflicts=CONFLICTS))
        assert rankings.commit(ranking(), [move(f"n{number}", None, 300)]) == []
    # One that does not know of them learns how many there are.
    other = DynamoRankings(client, tables["RankingsTable"], faulty_client.Time(NOW).pacing())
    other._lanes.put(ranking().key, lane := _Lane(conflicts=CONFLICTS))
    assert other.commit(ranking(), [move("o", None, 5)]) == []
    assert (lane.number, lane.of) == (2, 4)
    assert standing.nodes([(ranking(), ROOT)])[ranking(), ROOT].counters == {66: 3, 65: 1}

    old = trees.lanes(ranking(), [(66,), (66, 2), ROOT])
    assert {lane: dict(there.counters) for lane, there in old[66,].items()} == {0: {2: 1}, 1: {2: 1}, 2: {2: 1}}
    for member, version in (("m", 2), ("n2", 3), ("n4", 4)):
        assert rankings.commit(ranking(), [move(member, 300, 6, version)]) == []
    assert trees.remove(ranking(), {(66, 2): old[66, 2]}, []) != []
    dead = trees.lanes(ranking(), [(66,), (66, 2), ROOT])
    ways: tuple[Path, ...] = ((66,), (66, 2))
    nodes = {way: dead[way] for way in ways}
    assert trees.remove(ranking(), nodes, [Removal(ROOT, [65], old[ROOT])]) != []
    assert trees.remove(ranking(), nodes, [Removal(ROOT, [66], dead[ROOT])]) == []
    assert trees.lanes(ranking(), [(66,), (66, 2)]) == {}
    assert standing.nodes([(ranking(), ROOT)])[ranking(), ROOT].counters == {65: 4}


def test_rows_of_a_period_go_by_ttl_after_its_reading_has_ended(
    rankings: DynamoRankings, client: Any, tables: dict[str, str]
) -> None:
    day = ranking("day")
    rankings.commit(day, [Move(day, "m", None, Place(5), 1, NOW)])
    rankings.commit(ranking(), [move("left", None, 5), move("stays", None, 5)])
    rankings.commit(ranking(), [move("left", 5, None, 2)])
    rows = {row["pk"]["S"]: row for row in client.scan(TableName=tables["RankingsTable"])["Items"]}
    until = day.readable_until

    assert until is not None
    expiring = {key: int(row["e"]["N"]) for key, row in rows.items() if "e" in row}
    assert {key for key in expiring if key.startswith(day.key)} == {key for key in rows if key.startswith(day.key)}
    assert {when for key, when in expiring.items() if key.startswith(day.key)} == {until // 1000 + 3 * 86_400}
    assert [key for key in expiring if key.startswith(ranking().key)] == [f"{ranking().key}#left"]
    assert expiring[f"{ranking().key}#left"] == NOW // 1000 + 60 * 86_400
