"""A table of members with their scores and an index sorted by score, which most methods use."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from benchmarks.harness.population import BOARD, member
from benchmarks.harness.shapes import Scores
from tests.support.dynamodb.engine import Engine

Answer = dict[str, Any]
_INDEX: Final = "ranked"


def create(client: Any, name: str, key: tuple[str, str], range_key: tuple[str, str] | None = None) -> None:
    """Create a table with a key and an optional range key, each a name and a type."""
    keys = [key] if range_key is None else [key, range_key]
    client.create_table(
        TableName=name,
        AttributeDefinitions=[{"AttributeName": one, "AttributeType": kind} for one, kind in keys],
        KeySchema=[
            {"AttributeName": one, "KeyType": kind} for (one, _), kind in zip(keys, ("HASH", "RANGE"), strict=False)
        ],
        BillingMode="PAY_PER_REQUEST",
    )


def pages(client: Any, request: Answer) -> Iterator[Answer]:
    """Yield every page of a query."""
    while True:
        answer: Answer = client.query(**request)
        yield answer
        if "LastEvaluatedKey" not in answer:
            return
        request = {**request, "ExclusiveStartKey": answer["LastEvaluatedKey"]}


class Listed:
    """The members of one board. With several shards a member's number decides its shard of the index."""

    def __init__(self, client: Any, name: str = "Members", shards: int = 1) -> None:
        self.client = client
        self.name = name
        self.shards = shards

    def create(self) -> None:
        """Create the table."""
        self.client.create_table(
            TableName=self.name,
            AttributeDefinitions=[
                {"AttributeName": "member", "AttributeType": "S"},
                {"AttributeName": "board", "AttributeType": "S"},
                {"AttributeName": "score", "AttributeType": "N"},
            ],
            KeySchema=[{"AttributeName": "member", "KeyType": "HASH"}],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": _INDEX,
                    "KeySchema": [
                        {"AttributeName": "board", "KeyType": "HASH"},
                        {"AttributeName": "score", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "KEYS_ONLY"},
                }
            ],
            BillingMode="PAY_PER_REQUEST",
        )

    def place(self, client: Engine, scores: Scores, most: int | None = None) -> None:
        """Load the members, or the first `most` of them."""
        client.load(self.name, (self._item(member(number), score) for number, score in enumerate(scores[:most])))

    def put(self, name: str, score: int) -> None:
        """Write a member's score; it replaces the last one."""
        self.client.put_item(TableName=self.name, Item=self._item(name, score))

    def score(self, name: str) -> int:
        """Return a member's score."""
        answer = self.client.get_item(TableName=self.name, Key={"member": {"S": name}})
        return int(answer["Item"]["score"]["N"])

    def highest(self) -> int:
        """Return the highest score."""
        ((_, score),) = self.top(1)
        return score

    def count(self, low: int, high: int, *, first_page: bool = False) -> int:
        """Count the members with scores from `low` to `high`, both included; or only those on the first page."""
        request = self._query("board = :board AND score BETWEEN :low AND :high", low=low, high=high)
        counted = pages(self.client, {**request, "Select": "COUNT"})
        return int(next(counted)["Count"]) if first_page else sum(answer["Count"] for answer in counted)

    def count_above(self, score: int) -> int:
        """Count the members with a higher score."""
        request = self._query("board = :board AND score > :low", low=score)
        return sum(answer["Count"] for answer in pages(self.client, {**request, "Select": "COUNT"}))

    def descending(self) -> Iterator[int]:
        """Yield all scores, the highest first."""
        request = {**self._query("board = :board"), "ScanIndexForward": False}
        for answer in pages(self.client, request):
            yield from (int(item["score"]["N"]) for item in answer["Items"])

    def top(self, count: int, shard: int = 0) -> list[tuple[str, int]]:
        """Return the first members of one shard and their scores."""
        request = {**self._query("board = :board", shard=shard), "ScanIndexForward": False, "Limit": count}
        lines: list[tuple[str, int]] = []
        for answer in pages(self.client, request):
            lines += [(item["member"]["S"], int(item["score"]["N"])) for item in answer["Items"]]
            if len(lines) >= count:
                break
        return lines

    def _query(self, condition: str, shard: int = 0, **numbers: int) -> Answer:
        values = {f":{name}": {"N": str(number)} for name, number in numbers.items()}
        return {
            "TableName": self.name,
            "IndexName": _INDEX,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": {":board": {"S": self._part(shard)}, **values},
        }

    def _item(self, name: str, score: int) -> Answer:
        shard = int(name[-6:]) % self.shards
        return {"member": {"S": name}, "board": {"S": self._part(shard)}, "score": {"N": str(score)}}

    @staticmethod
    def _part(shard: int) -> str:
        return f"{BOARD}/{shard}" if shard else BOARD


def merged(lists: Iterable[list[tuple[str, int]]], count: int) -> list[tuple[str, int]]:
    """Merge lists and return the first lines: the highest score first, equals by member."""
    return sorted((line for one in lists for line in one), key=lambda line: (-line[1], line[0]))[:count]
