"""A DynamoDB client whose batches of reads are not of one moment: anything may happen before each item is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Place = tuple[int, int]
"""A batch of reads, and an item of it; both are counted from 0."""


@dataclass
class ItemByItem:
    """Forwards all calls to `client`, but reads the items of a BatchGetItem one after the other.

    `before` is called before each item with its place.
    """

    client: Any
    before: Callable[[Place], None] = lambda _: None
    batches: list[list[str]] = field(default_factory=list)
    """The partition keys of each batch so far."""

    def batch_get_item(self, RequestItems: Mapping[str, Any]) -> Any:  # noqa: N803 - as in boto3
        ((table, request),) = RequestItems.items()
        assert request["ConsistentRead"]
        batch = len(self.batches)
        self.batches.append([key["pk"]["S"] for key in request["Keys"]])
        items = []
        for number, key in enumerate(request["Keys"]):
            self.before((batch, number))
            answer = self.client.get_item(TableName=table, Key=key, ConsistentRead=True)
            items += [answer["Item"]] if "Item" in answer else []
        return {"Responses": {table: items}, "UnprocessedKeys": {}}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)
