"""Counts the requests to each table that a client forwards."""

from collections import Counter
from typing import Any


class Requests:
    """Wraps a client. `counts` are the requests by operation and table, or index."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.counts: Counter[tuple[str, str]] = Counter()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)

        def counted(**request: Any) -> Any:
            for table in request.get("RequestItems") or [request.get("IndexName") or request.get("TableName", "")]:
                self.counts[name, table] += 1
            return method(**request)

        return counted if name.endswith(("item", "items", "query")) else method

    def take(self) -> dict[tuple[str, str], int]:
        counts, self.counts = self.counts, Counter()
        return dict(counts)
