"""Reads Scores and Rankings for an audit: items by key, items of one moment, and parts of the sorted index."""

from collections.abc import Collection, Iterable
from typing import Any

from standings.aws.dynamodb.calls import DynamoDBClient, Item, batch_get, query_items, store_errors
from standings.aws.dynamodb.keys import PLACES, index_key, member_item_key, shard_of, shards_ever
from standings.domain.boards.definitions import MAX_UNITS, Metric
from standings.domain.scoring.sort_order import Place, decode_sort_key, sort_key
from standings.maintain.audit.report import StoredRow
from standings.runtime.retry import Clock

Key = tuple[str, Item]  # A table, and the key of an item in it


class AuditTables:
    """The tables of Scores and Rankings."""

    def __init__(self, client: DynamoDBClient, scores: str, rankings: str, clock: Clock) -> None:
        self._client = client
        self._scores = scores
        self._rankings = rankings
        self._clock = clock

    def items(self, keys: Collection[str]) -> dict[str, Item]:
        """Items of Rankings by key; they may be a moment old."""
        items = batch_get(self._client, self._rankings, [{"pk": {"S": key}} for key in keys], self._clock)
        return {item["pk"]["S"]: item for item in items}

    def at_once(self, *keys: Key) -> list[Item]:
        """Items of one moment. An item that does not exist is empty. StoreUnavailableError: conflict with a write."""
        gets: Any = [{"Get": {"TableName": table, "Key": key}} for table, key in keys]
        with store_errors():
            answer = self._client.transact_get_items(TransactItems=gets)
        return [response.get("Item", {}) for response in answer["Responses"]]

    def of_member(self, board: str, member: str) -> Key:
        """A member's item in Scores, for `at_once`."""
        return self._scores, member_item_key(board, member)

    def of_ranking(self, key: str) -> Key:
        """An item of Rankings, for `at_once`."""
        return self._rankings, {"pk": {"S": key}}

    def placed(self, partition: str, beyond: str, before: str | None, limit: int) -> list[Item]:
        """Up to `limit` items of a partition of the sorted index, between two sort keys."""
        values = {":r": {"S": partition}, ":s": {"S": beyond}}
        condition = "r = :r AND s > :s"
        if before is not None:
            # BETWEEN includes both ends, which are dropped below.
            condition = "r = :r AND s BETWEEN :s AND :e"
            values[":e"] = {"S": before}
            limit += 2
        items = query_items(self._client, limit, self._rankings, condition, values, IndexName=PLACES)
        return [item for item in items if item["s"]["S"] not in {beyond, before}]


def spreads(naming: Item, metric: Metric) -> set[int]:
    """The numbers of shards that are or were in use: of the definition, those that an item names, and 1 before that."""
    return {1, metric.shards, *shards_ever(naming)}


def stored_row(item: Item, key: str, member: str, numbers: Iterable[int]) -> StoredRow:
    """A row, or list item, of the list with this key. It is at home in its shard for one of some numbers of shards."""
    homes = {index_key(key, shard_of(member, shards)) for shards in numbers}
    placed = item["s"]["S"] if "s" in item else None
    return StoredRow(placed, version_of(item), "r" in item and item["r"]["S"] in homes)


def version_of(item: Item) -> int:
    """The version of a row or list item."""
    return int(item["v"]["N"]) if "v" in item else 0


def decoded_place(key: str, metric: Metric) -> Place | None:
    """The place that a sort key encodes; None if it is not a valid key. Such a key may be anywhere in the order."""
    try:
        place, member = decode_sort_key(key, ties_by_instant=metric.ties_by_instant)
    except (KeyError, IndexError):
        return None
    return place if sort_key(place, member) == key and abs(place.sort_value) <= MAX_UNITS else None
