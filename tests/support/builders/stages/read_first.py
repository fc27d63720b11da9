"""Boards whose items the writer reads before it writes them, and events on these boards."""

from typing import Any

from standings.domain.boards.boards_toml import parse_boards

BOARDS = parse_boards(
    """
[boards."*"]
metrics.best = { aggregate = "max", windows = ["all", "day"] }
metrics.least = { aggregate = "min", order = "ascending", ties = "first", windows = ["all"] }
metrics.latest = { aggregate = "last", windows = ["all"] }
metrics.points = { aggregate = "sum", windows = ["all"] }
metrics.dated = { aggregate = "sum", ties = "first", windows = ["all"] }
[boards."club-*"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
metrics.best = { aggregate = "max", windows = ["all"] }
[boards."plain-*"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
"""
)


def event(event_id: str, second: int = 0, board: str = "b", **metrics: int) -> dict[str, Any]:
    return {"id": event_id, "board": board, "member": "m", "at": f"2026-11-21T10:14:{second:02}Z", "metrics": metrics}
