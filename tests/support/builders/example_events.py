"""Events for tests of the rules of events, and the boards that they are for."""

from datetime import UTC, datetime
from typing import Any

import orjson

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.events.event import Event
from standings.domain.events.event_rules import parse_event

BOARDS = parse_boards("""
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
metrics.distance = { aggregate = "sum", precision = 3 }
[boards."run-*"]
metrics.distance = { aggregate = "sum", precision = 1 }
""")
NOW = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000)
BASE = {"id": "e1", "board": "b", "member": "m", "at": "2026-11-21T10:15:00Z", "metrics": {"points": 3}}


def parse(body: Any) -> Event:
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return parse_event(text, BOARDS, NOW)
