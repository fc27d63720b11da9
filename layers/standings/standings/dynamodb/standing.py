"""The read model in DynamoDB, as readers see it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from standings.domain.boards import Ranking
from standings.domain.places import Path, split_place
from standings.dynamodb.keys import (
    BOARDS,
    PLACES,
    counter_digit,
    entry_key,
    member_key,
    node_key,
)
from standings.dynamodb.transactions import Item, batch_get, get_item, store_error
from standings.services.store import Entry, Node

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


class DynamoStanding:
    """Rankings and the list of boards (`services.store.Standing`). All reads are eventually consistent."""

    def __init__(self, client: "DynamoDBClient", rankings: str, scores: str) -> None:
        self._client = client
        self._rankings = rankings
        self._scores = scores
        self._beside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="nodes")

    def entry(self, ranking: Ranking, member: str) -> Entry | None:
        item = get_item(self._client, self._rankings, {"pk": {"S": entry_key(ranking, member)}})
        return _entry(item) if item is not None and "s" in item else None

    def nodes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Node]:
        keys = {node_key(ranking, path): path for path in paths}
        items = batch_get(self._client, self._rankings, [{"pk": {"S": key}} for key in keys])
        return {keys[item["pk"]["S"]]: _node(item) for item in items}

    def page(
        self,
        ranking: Ranking,
        after: str | None,
        limit: int,
        paths: Sequence[Path],
        *,
        forward: bool,
    ) -> tuple[list[Entry], dict[Path, Node]]:
        nodes = self._beside.submit(self.nodes, ranking, paths)
        entries = self._entries(ranking, after, limit, forward=forward)
        return entries, nodes.result()

    def rankings_of(self, board: str) -> frozenset[str] | None:
        item = get_item(self._client, self._scores, {"pk": {"S": BOARDS}, "sk": {"S": board}})
        if item is None:
            return None
        return frozenset(item["r"]["SS"]) if "r" in item else frozenset()

    def has_member(self, board: str, member: str) -> bool:
        partition, sort = member_key(board, member)
        key = {"pk": {"S": partition}, "sk": {"S": sort}}
        return get_item(self._client, self._scores, key) is not None

    def _entries(self, ranking: Ranking, after: str | None, limit: int, *, forward: bool) -> list[Entry]:
        values = {":r": {"S": ranking.key}}
        condition = "r = :r"
        if after is not None:
            condition += " AND s > :s" if forward else " AND s < :s"
            values[":s"] = {"S": after}
        request: dict[str, Any] = {
            "TableName": self._rankings,
            "IndexName": PLACES,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": forward,
        }
        entries: list[Entry] = []
        # A query ends at 1 MB: a thousand entries with long names may be more.
        while len(entries) < limit:
            try:
                answer = self._client.query(**request, Limit=limit - len(entries))
            except (ClientError, BotoCoreError) as error:
                raise store_error(error) from error
            entries += [_entry(item) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                break
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        return entries


def _entry(item: Item) -> Entry:
    ordinal, member = split_place(item["s"]["S"])
    return Entry(ordinal, member, int(item["t"]["N"]))


def _node(item: Item) -> Node:
    counters = {digit: int(value["N"]) for name, value in item.items() if (digit := counter_digit(name)) is not None}
    return Node(counters, int(item["t"]["N"]))
