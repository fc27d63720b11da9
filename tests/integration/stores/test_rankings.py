"""Rankings keep their contract on the engine, on DynamoDB Local and on moto."""

from typing import Any

from standings.aws.dynamodb.ranking_reads import RankingsReader, Trees
from standings.aws.dynamodb.rankings import CONFLICTS, Rankings, _Lane
from standings.domain.boards import Ranking
from standings.domain.boards_toml import parse_boards
from standings.domain.members import Move
from standings.domain.scoring import Place, sort_key
from standings.domain.tiers import ROOT, Path, nodes_for
from standings.stores import CancelReason, Entry, Part, Partition, RankingRow, Removal, Span
from tests.support.builders.points import NOW, family
from tests.support.faults import faulty_client


def ranking(window: str = "all") -> Ranking:
    metric = family("b").metrics["points"]
    definition = metric.window(window)
    assert definition is not None
    return Ranking("b", metric, definition, 0 if window == "all" else metric.timetable.index("d", NOW))


ONLY = Partition(ranking().key, 0)


def move(member: str, old: int | None, new: int | None, version: int = 1) -> Move:
    return Move(ranking(), member, _place(old), _place(new), version, NOW)


def _place(number: int | None) -> Place | None:
    return None if number is None else Place(number)


def entry(reader: RankingsReader, member: str) -> Entry | None:
    return reader.entries([(ranking(), member)]).get((ranking(), member))


def test_entries_and_tiers_move_together(rankings: Rankings, reader: RankingsReader) -> None:
    assert rankings.commit(ranking(), [move("m", None, -300), move("n", None, -10)]) == []
    assert rankings.commit(ranking(), [move("m", -300, -310, 2), move("n", -10, None, 2)]) == []

    assert entry(reader, "m") == Entry(sort_key(Place(-310), "m"), Place(-310), "m", NOW)
    assert entry(reader, "n") is None
    assert entry(reader, "nobody") is None
    paths = [*nodes_for(-310), *nodes_for(-10)[1:], (1, 2, 3)]
    nodes = reader.nodes([(ranking(), path) for path in paths])
    counted = {path: {d: n for d, n in node.counters.items() if n} for (_, path), node in nodes.items()}
    assert set(counted) == {(), (62,), (62, 125), (63,)}
    assert sum(counted[()].values()) == 1
    assert counted[63,] == {}


def test_a_conflict_has_the_stored_entry(rankings: Rankings, reader: RankingsReader) -> None:
    rankings.commit(ranking(), [move("m", None, 5, 7), move("left", None, 5, 7), move("gap", None, 5, 7)])
    rankings.commit(ranking(), [move("left", 5, None, 8)])
    conflicts = rankings.commit(
        ranking(),
        [
            move("fine", None, 1),
            move("m", 5, 6, 7),  # stale
            move("left", None, 6, 8),  # stale: the member left
            move("never", 4, 6, 9),  # a gap: there is no entry
            move("gap", 6, 9, 8),  # a gap: the entry stands elsewhere
        ],
    )

    assert [(conflict.position, conflict.reason, conflict.found) for conflict in conflicts] == [
        (1, CancelReason.CONDITION, RankingRow(Place(5), 7)),
        (2, CancelReason.CONDITION, RankingRow(None, 8)),
        (3, CancelReason.CONDITION, None),
        (4, CancelReason.CONDITION, RankingRow(Place(5), 7)),
    ]
    assert entry(reader, "fine") is None


def test_spans_in_both_directions_together_with_nodes(rankings: Rankings, reader: RankingsReader) -> None:
    sort_values = {"c": -7, "a": -7, "b": 0, "用户": 0, "d": 12, "images/1": 12, "Z": 12}
    assert rankings.commit(ranking(), [move(name, None, number) for name, number in sort_values.items()]) == []
    expected = [name for name, _ in sorted(sort_values.items(), key=lambda pair: (pair[1], pair[0]))]

    (first,), nodes = reader.spans(ranking(), [Span(ONLY, None, 4)], [ROOT])
    assert [entry.member for entry in first] == expected[:4]
    assert sum(nodes[()].counters.values()) == 7
    (rest, back), _ = reader.spans(
        ranking(), [Span(ONLY, first[-1].key, 10), Span(ONLY, first[-1].key, 2, forward=False)], []
    )
    assert [entry.member for entry in rest] == expected[4:]
    assert [entry.member for entry in back] == [expected[2], expected[1]]
    assert reader.spans(ranking("day"), [Span(Partition(ranking("day").key, 0), None, 10)], [ROOT]) == ([[]], {})
    part = Part(ONLY, rest[0].key, rest[-1].key)
    assert reader.counts([part, part._replace(first=first[1].key)], 100) == [(3, None), (6, None)]
    ((two, beyond),) = reader.counts([part], 2)
    assert two == 2
    assert reader.counts([part._replace(first=str(beyond))], 2) == [(1, None)]
    assert reader.counts([part], 3) == [(3, None)]


def test_a_span_of_several_answers(rankings: Rankings, reader: RankingsReader) -> None:
    names = [f"{n:04}" + "x" * 250 for n in range(60)]
    assert rankings.commit(ranking(), [move(name, None, 0) for name in names]) == []
    (entries,), _ = reader.spans(ranking(), [Span(ONLY, None, 1000)], [])

    assert [entry.member for entry in entries] == names


def test_entries_are_in_shards_and_the_root_has_their_number(rankings: Rankings, reader: RankingsReader) -> None:
    three = parse_boards('[boards."*"]\nshards = 3\nmetrics.points = { aggregate = "sum", windows = ["all"] }')
    spread_over = three.family("b")
    assert spread_over is not None
    metric = spread_over.metrics["points"]
    spread = Ranking("b", metric, metric.windows[0], 0)
    assert spread.key == ranking().key
    assert rankings.commit(ranking(), [move("before", None, 5)]) == []
    moves = [Move(spread, f"m{n}", None, Place(n), 1, NOW) for n in range(30)]
    assert rankings.commit(spread, moves) == []
    entries, nodes = reader.spans(spread, [Span(Partition(spread.key, shard), None, 100) for shard in range(3)], [ROOT])

    assert nodes[ROOT].shards == 3
    assert sorted(entry.member for part in entries for entry in part) == sorted(
        ["before", *(f"m{n}" for n in range(30))]
    )
    assert all(len(part) > 3 for part in entries)
    # A change that leaves the tiers as they are adds the number of shards too.
    day = Ranking("c", metric, metric.windows[0], 0)
    again = Rankings(rankings._client, rankings._rankings, rankings._clock)
    assert again.commit(day, [Move(day, "m", None, None, 1, NOW)]) == []
    assert reader.nodes([(day, ROOT)])[day, ROOT].shards == 3


def test_lanes_are_counted_summed_and_removed(rankings: Rankings, reader: RankingsReader, client: Any) -> None:
    trees = Trees(client, "Rankings", faulty_client.Time(NOW).clock())
    assert rankings.commit(ranking(), [move("m", None, 300)]) == []
    for number in (2, 4):
        rankings._lanes.put(ranking().key, _Lane(of=number // 2, conflicts=CONFLICTS))
        assert rankings.commit(ranking(), [move(f"n{number}", None, 300)]) == []
    # A process that does not know the number of lanes reads it from the root.
    other = Rankings(client, "Rankings", faulty_client.Time(NOW).clock())
    other._lanes.put(ranking().key, lane := _Lane(conflicts=CONFLICTS))
    assert other.commit(ranking(), [move("o", None, 5)]) == []
    assert (lane.number, lane.of) == (2, 4)
    assert reader.nodes([(ranking(), ROOT)])[ranking(), ROOT].counters == {66: 3, 65: 1}

    old = trees.lanes(ranking(), [(66,), (66, 2), ROOT])
    assert {lane: dict(content.counters) for lane, content in old[66,].items()} == {0: {2: 1}, 1: {2: 1}, 2: {2: 1}}
    for member, version in (("m", 2), ("n2", 3), ("n4", 4)):
        assert rankings.commit(ranking(), [move(member, 300, 6, version)]) == []
    assert trees.remove(ranking(), {(66, 2): old[66, 2]}, []) != []
    empty = trees.lanes(ranking(), [(66,), (66, 2), ROOT])
    paths: tuple[Path, ...] = ((66,), (66, 2))
    nodes = {path: empty[path] for path in paths}
    assert trees.remove(ranking(), nodes, [Removal(ROOT, [65], old[ROOT])]) != []
    assert trees.remove(ranking(), nodes, [Removal(ROOT, [66], empty[ROOT])]) == []
    assert trees.lanes(ranking(), [(66,), (66, 2)]) == {}
    assert reader.nodes([(ranking(), ROOT)])[ranking(), ROOT].counters == {65: 4}


def test_entries_of_a_period_expire_after_it_can_no_longer_be_read(rankings: Rankings, client: Any) -> None:
    day = ranking("day")
    rankings.commit(day, [Move(day, "m", None, Place(5), 1, NOW)])
    rankings.commit(ranking(), [move("left", None, 5), move("stays", None, 5)])
    rankings.commit(ranking(), [move("left", 5, None, 2)])
    items = {item["pk"]["S"]: item for item in client.scan(TableName="Rankings")["Items"]}
    until = day.readable_until

    assert until is not None
    expiring = {key: int(item["e"]["N"]) for key, item in items.items() if "e" in item}
    assert {key for key in expiring if key.startswith(day.key)} == {key for key in items if key.startswith(day.key)}
    assert {expiry for key, expiry in expiring.items() if key.startswith(day.key)} == {until // 1000 + 3 * 86_400}
    assert [key for key in expiring if key.startswith(ranking().key)] == [f"{ranking().key}#left"]
    assert expiring[f"{ranking().key}#left"] == NOW // 1000 + 60 * 86_400
