"""Rankings keep their contract on the engine, on DynamoDB Local and on moto."""

from typing import Any

from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings.rankings import CONFLICTS, DynamoRankings, _Lane
from standings.aws.dynamodb.rankings.tier_trees import DynamoTrees
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Family
from standings.domain.boards.ranking import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place, sort_key
from standings.domain.tiers.tier_path import ROOT, Path
from standings.domain.tiers.tier_tree import nodes_for
from standings.ports.errors import CancelReason
from standings.ports.ranking_reads import Entry, Span
from standings.ports.rankings import RankingRow, Removal
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }')


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
