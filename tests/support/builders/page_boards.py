"""Boards for the live page in a browser: runs in two metrics, leagues before their first season, and many names."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.support.aws.stack import Stack, apply

DEFINITIONS: Final = """
[boards."run-*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"] }
metrics.best_km = { aggregate = "max", precision = 1, windows = ["all"] }
metrics.breaks = { aggregate = "sum" }

[boards."prize-*"]
late = "1 day"
settle = ["day", "week"]
metrics.points = { aggregate = "sum", ties = "first", windows = ["all", "day", "week", "month", "year", "last-7-days"] }
prizes.day = [{ ranks = "1", name = "gold" }, { ranks = "2-3", name = "silver" }, { percent = 50, name = "half" }]
prizes.week = [{ ranks = "1-2", name = "cup", method = "ordinal" }]

[boards."league-*"]
seasons = [{ name = "first", starts = "2099-01-01", ends = "2099-04-01" }]
metrics.goals = { aggregate = "sum", windows = ["all", "season"] }
"""
RUNNERS: Final = 120


def post(stack: Stack, board: str, metrics: Mapping[str, Mapping[str, int]], days_ago: float = 0) -> None:
    """Apply an event for each member: `metrics` has the amounts by member."""
    at = datetime.fromtimestamp(stack.clock.milliseconds / 1000, UTC) - timedelta(days=days_ago)
    apply(
        stack,
        [
            {"id": f"{board}-{member}-{at}", "board": board, "member": member, "at": at.isoformat(), "metrics": amounts}
            for member, amounts in metrics.items()
        ],
    )


def fill(stack: Stack) -> None:
    """Fill the board `run-berlin`, on two days; two more have some members, and some of the members have names."""
    runners = {f"runner-{place}": {"points": 1000 - place * 7, "best_km": 200 - place} for place in range(RUNNERS)}
    post(stack, "run-berlin", dict(reversed(runners.items())), days_ago=1)
    post(stack, "run-berlin", {member: {"points": 5 + place % 9} for place, member in enumerate(runners)})
    post(stack, "run-paris", {"ada": {"points": 12, "best_km": 5}, "bo": {"points": 9}})
    post(stack, "run-rome", {"cy": {"points": 1234}}, days_ago=2)
    post(stack, "league-a", {"dee": {"goals": 3}})
    for member, profile in PROFILES.items():
        assert stack.put("/members", json.dumps(profile), id=member)[0] == 200


PROFILES: Final[dict[str, Any]] = {
    "ada": {"name": "Ada Lovelace", "country": "GB"},
    "runner-0": {"name": "Ádám Nagy", "country": "HU"},
    "runner-1": {"name": "Adele Obi"},
    "runner-2": {"name": "A person whose name goes on for quite a while, in fact for long", "country": "DE"},
}
