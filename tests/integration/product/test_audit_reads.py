"""Reads of an audit keep their contract on the engine, on DynamoDB Local and on moto."""

from collections.abc import Callable
from typing import Any

import pytest

from standings.aws.dynamodb.keys import COUNTERS, index_key, node_key, shard_of
from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads
from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place, encode_sortable, sort_key
from standings.domain.tiers.tier_path import ROOT
from standings.maintain.audit.report import Listed, Root, StoredRow
from standings.ports.errors import StoreUnavailableError
from standings.ports.scores import Rewrite
from tests.support.dynamodb.tables import create_tables
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000
BOARDS = parse_boards('[boards."*"]\nshards = 3\nmetrics.points = { aggregate = "sum", windows = ["all"] }')


@pytest.fixture
def evidence(client: Any, tables: dict[str, str]) -> DynamoAuditReads:
    return DynamoAuditReads(client, tables["ScoresTable"], tables["RankingsTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def rankings(client: Any, tables: dict[str, str]) -> DynamoRankings:
    return DynamoRankings(client, tables["RankingsTable"], faulty_client.Time(NOW).clock())


def ranking() -> Ranking:
    family = BOARDS.family("b")
    assert family is not None
    metric = family.metrics["points"]
    return Ranking("b", metric, metric.windows[0], 0)


def place(rankings: DynamoRankings, sort_values: dict[str, int]) -> None:
    moves = [Move(ranking(), member, None, Place(sort_value), 1, NOW) for member, sort_value in sort_values.items()]
    assert rankings.commit(ranking(), moves) == []


def test_an_item_beside_its_row(
    evidence: DynamoAuditReads, rankings: DynamoRankings, client: Any, tables: dict[str, str]
) -> None:
    image = Image("b", "m", 7, NOW, 0, hidden=False, values={"a1b": 5})
    scores = DynamoScores(client, tables["ScoresTable"], tables["ReceiptsTable"], faulty_client.Time(NOW).clock())
    assert scores.apply([], [Rewrite(image, None)], NOW) == []
    place(rankings, {"m": -5, "n": 300})
    row = StoredRow(sort_key(Place(-5), "m"), 1)

    assert evidence.pair(ranking(), "m") == (image, row)
    assert evidence.pair(ranking(), "n")[0] is None
    assert evidence.pair(ranking(), "nobody") == (None, None)
    assert evidence.rows([(ranking(), "m"), (ranking(), "nobody")]) == {(ranking(), "m"): row}
    assert evidence.images("b", ["m", "nobody"]) == {"m": image}
    assert [one.member for slot in range(64) for one in evidence.members("b", slot, None, 10)] == ["m"]


def test_a_row_in_another_shard_is_not_at_home(
    evidence: DynamoAuditReads, rankings: DynamoRankings, client: Any, tables: dict[str, str]
) -> None:
    place(rankings, {"m": -5})
    for shard in range(5):
        client.update_item(
            TableName=tables["RankingsTable"],
            Key={"pk": {"S": f"{ranking().key}#m"}},
            UpdateExpression="SET r = :r",
            ExpressionAttributeValues={":r": {"S": index_key(ranking().key, shard)}},
        )
        _, row = evidence.pair(ranking(), "m")
        assert row is not None
        # Entries from before the root had shards are in shard 0.
        assert row.at_home == (shard in {0, shard_of("m", 3)})


def test_counters_beside_what_they_count(
    evidence: DynamoAuditReads, rankings: DynamoRankings, client: Any, tables: dict[str, str]
) -> None:
    place(rankings, {"a": -300, "b": -300, "c": -10})

    assert evidence.root(ranking()) == Root(1, 3)
    assert evidence.edge(ranking(), ROOT, 62) == (2, 2)
    assert evidence.edge(ranking(), (62,), 125) == (2, 2)
    assert evidence.edge(ranking(), (62,), 1) == (0, 0)
    assert evidence.nodes(ranking(), [ROOT, (62,), (1,)], 1) == {ROOT: {62: 2, 63: 1}, (62,): {125: 2}}
    before = evidence.picture(ranking(), (62,))
    assert before.counters == {125: 2}
    assert before == evidence.picture(ranking(), (62,))
    # Another lane counts as soon as the root has the number of lanes.
    for path, digit in ((ROOT, 62), ((62,), 125)):
        client.update_item(
            TableName=tables["RankingsTable"],
            Key={"pk": {"S": node_key(ranking().key, path, 1)}},
            UpdateExpression=f"ADD {COUNTERS[digit]} :n",
            ExpressionAttributeValues={":n": {"N": "-1"}},
        )
    assert evidence.edge(ranking(), ROOT, 62) == (2, 2)
    client.update_item(
        TableName=tables["RankingsTable"],
        Key={"pk": {"S": node_key(ranking().key, ROOT)}},
        UpdateExpression="SET l = :l",
        ExpressionAttributeValues={":l": {"N": "2"}},
    )
    assert evidence.edge(ranking(), ROOT, 62) == (1, 1)
    assert evidence.picture(ranking(), (62,)) != before
    assert evidence.root(ranking()) == Root(2, 3)
    assert evidence.nodes(ranking(), [ROOT], 2) == {ROOT: {62: 1, 63: 1}}


def test_entries_between_two_keys(
    evidence: DynamoAuditReads, rankings: DynamoRankings, client: Any, tables: dict[str, str]
) -> None:
    place(rankings, {f"m{number}": number // 2 for number in range(30)})
    client.put_item(
        TableName=tables["RankingsTable"],
        Item={
            "pk": {"S": f"{ranking().key}#odd"},
            "r": {"S": index_key(ranking().key, 0)},
            "s": {"S": "zzz"},
            "t": {"N": "1"},
        },
    )

    def listed(beyond: str, before: str | None) -> list[Listed]:
        shards = (evidence.entries(ranking(), shard, beyond, before, 100) for shard in range(3))
        return sorted(entry for shard in shards for entry in shard)

    assert [entry.place for entry in listed(encode_sortable(5), encode_sortable(7))] == [
        Place(5),
        Place(5),
        Place(6),
        Place(6),
    ]
    assert len(listed(" ", None)) == 31
    assert listed(encode_sortable(15), None) == [Listed("zzz", "odd", None)]
    first = listed(encode_sortable(5), encode_sortable(7))[0]
    assert first not in listed(first.key, encode_sortable(7))


def test_a_cancelled_picture_can_be_tried_again(evidence: DynamoAuditReads) -> None:
    class Conflict:
        def transact_get_items(self, **_: Any) -> Any:
            raise faulty_client.cancelled(["TransactionConflict"])

    del evidence
    busy = DynamoAuditReads(Conflict(), "Scores", "Rankings", faulty_client.Time(NOW).clock())  # type: ignore[arg-type]
    with pytest.raises(StoreUnavailableError, match="TransactionConflict"):
        busy.pair(ranking(), "m")


def test_read_units_are_those_that_dynamodb_names(local_client: Any) -> None:
    tables, clock = create_tables(local_client), faulty_client.Time(NOW).clock()
    evidence = DynamoAuditReads(local_client, tables["ScoresTable"], tables["RankingsTable"], clock)
    place(DynamoRankings(local_client, tables["RankingsTable"], clock), {"m": -5, "n": 300})

    def units(read: Callable[[], Any]) -> float:
        before = evidence.units
        read()
        return evidence.units - before

    assert units(lambda: evidence.rows([(ranking(), "m"), (ranking(), "n")])) == 1
    assert units(lambda: evidence.pair(ranking(), "m")) == 6
    assert units(lambda: evidence.entries(ranking(), 0, " ", None, 10)) == 0.5
