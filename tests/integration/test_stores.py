"""One contract for the DynamoDB adapter, wherever it runs: the engine, DynamoDB Local and moto."""

from typing import Any

import pytest

from standings.domain.boards import Ranking
from standings.domain.definitions import parse_boards
from standings.domain.moves import Move
from standings.domain.places import place
from standings.domain.tiers import nodes_for
from standings.dynamodb.rankings import DynamoRankings
from standings.dynamodb.scores import DynamoScores
from standings.dynamodb.standing import DynamoStanding
from standings.services.store import (
    ChangeObstacle,
    Entry,
    Hindrance,
    ItemChange,
    Receipt,
    ReceiptObstacle,
    Row,
    StoreRefusedError,
)

NOW = 1_795_256_100_000
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }')


@pytest.fixture
def scores(client: Any, tables: dict[str, str]) -> DynamoScores:
    return DynamoScores(client, tables["ScoresTable"], tables["ReceiptsTable"])


@pytest.fixture
def rankings(client: Any, tables: dict[str, str]) -> DynamoRankings:
    return DynamoRankings(client, tables["RankingsTable"])


@pytest.fixture
def standing(client: Any, tables: dict[str, str]) -> DynamoStanding:
    return DynamoStanding(client, tables["RankingsTable"], tables["ScoresTable"])


def change(member: str = "m", *, exact: bool = False, seen: int | None = None, **other: Any) -> ItemChange:
    given: dict[str, Any] = {"adds": {"a1b": 3}, "removes": (), "stamp": NOW, "magnitude": 3, **other}
    return ItemChange("b", member, exact=exact, seen=seen, **given)


def ranking(window: str = "all") -> Ranking:
    family = BOARDS.family("b")
    assert family is not None
    metric = family.metrics["points"]
    found = metric.window(window)
    assert found is not None
    return Ranking("b", metric, found, 0 if window == "all" else family.timetable.index("d", NOW))


def move(member: str, old: int | None, new: int | None, version: int = 1) -> Move:
    return Move(ranking(), member, old, new, version, NOW)


def test_receipts_and_changes_are_done_together(scores: DynamoScores) -> None:
    assert scores.apply([Receipt("1", b"x"), Receipt("2", b"y")], [change(), change("n")], NOW) == []

    images = scores.images([("b", "m"), ("b", "n"), ("b", "nobody")])
    assert set(images) == {("b", "m"), ("b", "n")}
    image = images["b", "m"]
    assert (image.values, image.stamp, image.magnitude, image.hidden) == ({"a1b": 3}, NOW, 3, False)
    assert image.version == NOW + 1
    assert scores.image(("b", "m")) == image
    assert scores.image(("b", "nobody")) is None
    assert (scores.receipt("1"), scores.receipt("3")) == (b"x", None)


def test_a_known_receipt_keeps_all_of_it_from_being_done(scores: DynamoScores) -> None:
    scores.apply([Receipt("1", b"x")], [change()], NOW)
    obstacles = scores.apply([Receipt("2", b"y"), Receipt("1", b"z")], [change()], NOW)

    (obstacle,) = obstacles
    assert isinstance(obstacle, ReceiptObstacle)
    assert (obstacle.position, obstacle.hindrance, obstacle.found) == (1, Hindrance.CONDITION, b"x")
    assert scores.images([("b", "m")])["b", "m"].values == {"a1b": 3}


def test_additions_add_up_and_versions_count(scores: DynamoScores) -> None:
    scores.apply([], [change()], NOW)
    scores.apply([], [change(adds={"a1b": -5, "c2dd20778": 0}, removes=("c2dd1", "z9z"), stamp=NOW + 1)], NOW)
    image = scores.images([("b", "m")])["b", "m"]

    assert image.values == {"a1b": -2, "c2dd20778": 0}
    assert (image.version, image.stamp, image.magnitude) == (NOW + 2, NOW + 1, 6)


def test_a_stamp_never_goes_back_and_the_item_comes_with_the_no(scores: DynamoScores) -> None:
    scores.apply([], [change(stamp=NOW + 5)], NOW)
    (obstacle,) = scores.apply([Receipt("1", b"x")], [change("n"), change()], NOW)

    assert isinstance(obstacle, ChangeObstacle)
    assert (obstacle.position, obstacle.hindrance) == (1, Hindrance.CONDITION)
    assert obstacle.found is not None
    assert obstacle.found.stamp == NOW + 5
    assert ("b", "n") not in scores.images([("b", "n")])


def test_no_room_for_an_amount(scores: DynamoScores) -> None:
    scores.apply([], [change(adds={"a1b": 9 * 10**15}, magnitude=9 * 10**15)], NOW)
    (obstacle,) = scores.apply([], [change(magnitude=10**13)], NOW)

    assert obstacle.hindrance is Hindrance.CONDITION


def test_an_exact_change_needs_the_version_that_was_seen(scores: DynamoScores) -> None:
    assert scores.apply([], [change(exact=True)], NOW) == []
    (taken,) = scores.apply([], [change(exact=True)], NOW)
    assert taken.hindrance is Hindrance.CONDITION
    assert scores.apply([], [change(exact=True, seen=NOW + 1, magnitude=99)], NOW) == []
    assert scores.apply([], [change(exact=True, seen=NOW + 1)], NOW) != []
    assert scores.images([("b", "m")])["b", "m"].magnitude == 99


def test_more_items_than_one_request_reads(scores: DynamoScores) -> None:
    for start in range(0, 130, 65):
        scores.apply([], [change(f"m{n}") for n in range(start, start + 65)], NOW)

    assert len(scores.images([("b", f"m{n}") for n in range(140)])) == 130


def test_what_the_store_will_never_do_is_refused(scores: DynamoScores) -> None:
    with pytest.raises(StoreRefusedError):
        scores.apply([Receipt("", b"x")], [change()], NOW)


def test_boards_are_listed_once(scores: DynamoScores, standing: DynamoStanding) -> None:
    assert standing.rankings_of("b") is None
    scores.register_board("b", frozenset({"x", "y"}), NOW)
    scores.register_board("b", frozenset({"z"}), NOW)
    scores.register_board("c", frozenset(), NOW)

    assert standing.rankings_of("b") == frozenset({"x", "y"})
    assert standing.rankings_of("c") == frozenset()


def test_entries_and_tiers_move_together(rankings: DynamoRankings, standing: DynamoStanding) -> None:
    assert rankings.commit(ranking(), [move("m", None, -300), move("n", None, -10)]) == []
    assert rankings.commit(ranking(), [move("m", -300, -310, 2), move("n", -10, None, 2)]) == []

    assert standing.entry(ranking(), "m") == Entry(-310, "m", NOW)
    assert standing.entry(ranking(), "n") is None
    assert standing.entry(ranking(), "nobody") is None
    nodes = standing.nodes(ranking(), [*nodes_for(-310), *nodes_for(-10)[1:], (1, 2, 3)])
    counted = {path: {d: n for d, n in node.counters.items() if n} for path, node in nodes.items()}
    assert set(counted) == {(), (62,), (62, 125), (63,)}
    assert sum(counted[()].values()) == 1
    assert counted[63,] == {}


def test_a_row_that_is_not_as_believed_comes_with_the_no(rankings: DynamoRankings, standing: DynamoStanding) -> None:
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

    assert [(o.position, o.hindrance, o.found) for o in obstacles] == [
        (1, Hindrance.CONDITION, Row(5, 7)),
        (2, Hindrance.CONDITION, Row(None, 8)),
        (3, Hindrance.CONDITION, None),
    ]
    assert standing.entry(ranking(), "fine") is None


def test_a_gap_is_told_by_the_row(rankings: DynamoRankings) -> None:
    rankings.commit(ranking(), [move("m", None, 5, 7)])
    (obstacle,) = rankings.commit(ranking(), [move("m", 6, 9, 8)])

    assert obstacle.found == Row(5, 7)


def test_pages_in_both_directions_with_nodes_beside(rankings: DynamoRankings, standing: DynamoStanding) -> None:
    ordinals = {"c": -7, "a": -7, "b": 0, "用户": 0, "d": 12, "images/1": 12, "Z": 12}
    assert rankings.commit(ranking(), [move(name, None, number) for name, number in ordinals.items()]) == []
    expected = [name for name, _ in sorted(ordinals.items(), key=lambda pair: (pair[1], pair[0]))]

    first, nodes = standing.page(ranking(), None, 4, [()], forward=True)
    assert [entry.member for entry in first] == expected[:4]
    assert sum(nodes[()].counters.values()) == 7
    after = place(first[-1].ordinal, first[-1].member)
    rest, _ = standing.page(ranking(), after, 10, [()], forward=True)
    assert [entry.member for entry in rest] == expected[4:]
    back, _ = standing.page(ranking(), after, 2, [()], forward=False)
    assert [entry.member for entry in back] == [expected[2], expected[1]]
    assert standing.page(ranking("day"), None, 10, [()], forward=True) == ([], {})


def test_a_page_larger_than_one_answer(rankings: DynamoRankings, standing: DynamoStanding, client: Any) -> None:
    del client
    names = [f"{n:04}" + "x" * 250 for n in range(60)]
    assert rankings.commit(ranking(), [move(name, None, 0) for name in names]) == []
    entries, _ = standing.page(ranking(), None, 1000, [()], forward=True)

    assert [entry.member for entry in entries] == names


def test_rows_of_a_period_go_by_ttl_after_its_reading_has_ended(
    rankings: DynamoRankings, client: Any, tables: dict[str, str]
) -> None:
    day = ranking("day")
    rankings.commit(day, [Move(day, "m", None, 5, 1, NOW)])
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


def test_members_are_known_by_their_items(scores: DynamoScores, standing: DynamoStanding) -> None:
    scores.apply([], [change("m")], NOW)

    assert standing.has_member("b", "m")
    assert not standing.has_member("b", "n")
    assert not standing.has_member("c", "m")
