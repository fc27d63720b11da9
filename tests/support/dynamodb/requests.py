"""Counts the requests to each table that a client forwards, and the items that it reads of the sorted index."""

from collections import Counter
from typing import Any

from benchmarks.harness.meter import Meter


class Requests:
    """Wraps a client. `counts` are the requests by operation and table, or index.

    `listed` are the items that queries of the index `places` returned, by partition; `spans` is how many queries.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self.counts: Counter[tuple[str, str]] = Counter()
        self.listed: Counter[str] = Counter()
        self.spans = 0

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def counted(**request: Any) -> Any:
            for table in request.get("RequestItems") or [request.get("IndexName") or request.get("TableName", "")]:
                self.counts[name, table] += 1
            answer = method(**request)
            if request.get("IndexName") == "places" and "Select" not in request:
                self.spans += 1
                self.listed[request["ExpressionAttributeValues"][":r"]["S"]] += len(answer["Items"])
            return answer

        return counted if name.endswith(("item", "items", "query")) else method

    def take(self) -> dict[tuple[str, str], int]:
        counts, self.counts = self.counts, Counter()
        self.listed.clear()
        self.spans = 0
        return dict(counts)


def metered(client: Any) -> Requests:
    """Wrap a client so that its read units are counted too: `snapshot()` is the meter's."""
    return Requests(Meter(client))
