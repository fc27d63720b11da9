"""EventBridge for tests: the default bus, in memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass
class Bus:
    """The default bus. `fails` says why it does not take an event, by the event's detail; None: it does."""

    events: list[dict[str, Any]] = field(default_factory=list)
    fails: Callable[[dict[str, Any]], str | None] = lambda _: None

    def put_events(self, Entries: Sequence[Mapping[str, str]]) -> dict[str, Any]:  # noqa: N803
        assert 1 <= len(Entries) <= 10
        # https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
        assert sum(len(text.encode()) for entry in Entries for text in entry.values()) <= 256 * 1024
        results: list[dict[str, str]] = []
        for entry in Entries:
            detail = orjson.loads(entry["Detail"])
            if (why := self.fails(detail)) is not None:
                results.append({"ErrorCode": why, "ErrorMessage": "as a test says"})
                continue
            results.append({"EventId": str(len(self.events))})
            self.events.append({"source": entry["Source"], "type": entry["DetailType"], **detail})
        return {"FailedEntryCount": sum("ErrorCode" in result for result in results), "Entries": results}

    def ids(self, kind: str) -> list[str]:
        """The ids of the events of a type, in the order in which they came."""
        return [event["id"] for event in self.events if event["type"] == kind]
