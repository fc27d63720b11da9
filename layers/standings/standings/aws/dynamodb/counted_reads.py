"""Counts the read units that DynamoDB charges."""

from typing import Any

from standings.aws.dynamodb.calls import DynamoDBClient


class CountedReads:
    """A client of DynamoDB with those calls that audits make. `units` are the read units of all calls so far.

    DynamoDB names no units when it cancels a transaction, so those are not counted.
    """

    def __init__(self, client: DynamoDBClient) -> None:
        self._client = client
        self.units = 0.0

    def batch_get_item(self, **request: Any) -> Any:
        return self._counted(self._client.batch_get_item(**request, ReturnConsumedCapacity="TOTAL"))

    def query(self, **request: Any) -> Any:
        return self._counted(self._client.query(**request, ReturnConsumedCapacity="TOTAL"))

    def transact_get_items(self, **request: Any) -> Any:
        return self._counted(self._client.transact_get_items(**request, ReturnConsumedCapacity="TOTAL"))

    def _counted(self, answer: Any) -> Any:
        consumed = answer.get("ConsumedCapacity", [])
        # A query names one table; the others name each table that they read.
        self.units += sum(one["CapacityUnits"] for one in (consumed if isinstance(consumed, list) else [consumed]))
        return answer
