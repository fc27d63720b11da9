"""Boards for the live page in a browser: runs in two metrics, leagues before their first season, and many names."""

import json
from typing import Any, Final

from tests.support.aws.stack import Stack
from tests.support.builders.querying import post_amounts

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

[boards."cup-*"]
seasons = [{ name = "winter-2026-2027", starts = "2026-11-15", ends = "2027-02-15" }]
metrics.points = { aggregate = "sum", windows = ["all", "day", "week", "month", "season", "last-7-days"] }

[boards."league-*"]
seasons = [{ name = "first", starts = "2099-01-01", ends = "2099-04-01" }]
metrics.goals = { aggregate = "sum", windows = ["all", "season"] }
"""
RUNNERS: Final = 120


def fill(stack: Stack) -> None:
    """Fill the board `run-berlin`, on two days; two more have some members, and some of the members have names."""
    runners = {f"runner-{place}": {"points": 1000 - place * 7, "best_km": 200 - place} for place in range(RUNNERS)}
    post_amounts(stack, "run-berlin", dict(reversed(runners.items())), days_ago=1)
    post_amounts(stack, "run-berlin", {member: {"points": 5 + place % 9} for place, member in enumerate(runners)})
    post_amounts(stack, "run-paris", {"ada": {"points": 12, "best_km": 5}, "bo": {"points": 9}})
    post_amounts(stack, "run-rome", {"cy": {"points": 1234}}, days_ago=2)
    post_amounts(stack, "league-a", {"dee": {"goals": 3}})
    for member, profile in PROFILES.items():
        assert stack.put("/members", json.dumps(profile), id=member)[0] == 200


PROFILES: Final[dict[str, Any]] = {
    "ada": {"name": "Ada Lovelace", "country": "GB"},
    "runner-0": {"name": "Ádám Nagy", "country": "HU"},
    "runner-1": {"name": "Adele Obi"},
    "runner-2": {"name": "A person whose name goes on for quite a while, in fact for long", "country": "DE"},
}
