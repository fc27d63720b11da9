"""Tells a chat of each `Top Changed`: who leads, and who was overtaken.

A chat forgives a message that comes twice. To tell each member once, remember the event's `id` as `grant_prizes` does.
"""

import json
import os
import urllib.request
from typing import Any

_WEBHOOK = os.environ["CHAT_WEBHOOK"]


def handler(event: dict[str, Any], _: Any) -> None:
    """Post one message for an event. An error is raised: then Lambda delivers the event again."""
    lines = [*_leader(event["detail"]), *_overtaken(event["detail"])]
    if lines:
        body = json.dumps({"text": "\n".join(lines)}).encode()
        request = urllib.request.Request(_WEBHOOK, body, {"Content-Type": "application/json"})  # noqa: S310 - ours
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310


def _leader(top: dict[str, Any]) -> list[str]:
    """A line for each member that was not at rank 1 before."""
    new = {line["member"] for line in (*top["entered"], *top["moved"]) if line["rank"] == 1}
    return [
        f"{line['member']} leads {top['board']} with {line['score']}" for line in top["top"] if line["member"] in new
    ]


def _overtaken(top: dict[str, Any]) -> list[str]:
    """A line for each member of the top whom somebody has passed. Who has left the top was overtaken as well."""
    passed = [
        f"{line['member']} was overtaken: rank {line['rank']} after {line['was']}"
        for line in top["moved"]
        if line["rank"] > line["was"]
    ]
    return [*passed, *(f"{line['member']} left the top: rank {line['was']} before" for line in top["left"])]
