"""A board whose days and weeks are settled, and the files that a sort of its scores would write."""

import gzip
import random
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from tests.support.aws.stack import Stack, apply
from tests.support.builders.maintenance import call, finish

BOARDS: Final = """
[boards."league-*"]
late = "1 day"
keep = "40 days"
settle = ["day", "week"]
metrics.points = { aggregate = "sum", precision = 2, windows = ["all", "day", "week"] }
prizes.day = [
  { ranks = "1", name = "gold" },
  { ranks = "2-3", name = "silver" },
  { percent = 10, name = "top-10" },
]
[boards."race-*"]
late = "1 day"
settle = ["day"]
metrics.points = { aggregate = "sum", ties = "first", windows = ["all", "day"] }
prizes.day = [
  { ranks = "1", name = "gold", method = "ordinal" },
  { ranks = "2-3", name = "silver", method = "ordinal" },
  { ranks = "2-3", name = "bronze" },
  { percent = 75, name = "top-75", method = "ordinal" },
]
[boards."table-*"]
late = "1 day"
settle = ["day"]
metrics.points = { aggregate = "sum", windows = ["day"], tie_breaks = ["least", "score"] }
metrics.least = { aggregate = "min", order = "ascending", precision = 1 }
metrics.score = { aggregate = "sum" }
prizes.day = [{ ranks = "1-2", name = "medal" }]
[boards."cup-*"]
late = "1 day"
settle = ["season"]
metrics.points = { aggregate = "sum", precision = 2, windows = ["all", "season"] }
prizes.season = [{ ranks = "1", name = "cup" }]
[[boards."cup-*".seasons]]
name = "autumn-2026"
starts = "2026-11-10"
ends = "2026-11-21"
[[boards."cup-*".seasons]]
name = "winter-2026"
starts = "2026-11-25"
ends = "2026-12-20"
[boards."later-*"]
keep = "10 days"
settle = ["season"]
metrics.points = { aggregate = "sum", windows = ["season"] }
[[boards."later-*".seasons]]
name = "summer-2027"
starts = "2027-06-01"
ends = "2027-09-01"
[boards."*"]
metrics.points = { aggregate = "sum", precision = 2, windows = ["all", "day"] }
"""
BOARD: Final = "league-1"
DAY: Final = "2026-11-20"
FINAL: Final = int(datetime(2026, 11, 22, 0, 5, tzinfo=UTC).timestamp() * 1000)
"""When the day is final."""
PREFIX: Final = f"results/{BOARD}/points/day/{DAY}/"
Scores = dict[str, float]


def play(stack: Stack, seed: int, members: int = 40, board: str = BOARD) -> Scores:
    """Give members points on the day, many of them the same, and return them."""
    rng = random.Random(seed)
    scores = {f"m{number:03}": rng.choice([0.25, 1, 2, 2, 3.5, 7, 12, -1]) for number in range(members)}
    scores['c,o"m/ma'] = 7
    post(stack, board, scores)
    return scores


def post(stack: Stack, board: str, scores: Scores) -> None:
    """Give members points on the day."""
    events = [
        {"id": f"{board}-{member}", "board": board, "member": member, "metrics": {"points": points}}
        for member, points in scores.items()
    ]
    apply(stack, [{**event, "at": f"{DAY}T12:00:00Z"} for event in events])


def lose_a_row(stack: Stack, *parts: str) -> None:
    """Delete a row whose key has these parts; without any, a member's row in the day's ranking."""
    keys = [item["pk"] for item in stack.dynamodb.scan(TableName="Rankings")["Items"]]
    key = next(key for key in keys if all(part in key["S"] for part in parts or ("d20777#m003",)))
    stack.dynamodb.delete_item(TableName="Rankings", Key={"pk": key})


def settle(stack: Stack, seconds: float = 800, **arguments: Any) -> dict[str, Any]:
    """One call of the task."""
    return call(stack, "settle", seconds=seconds, **{"board": BOARD, "window": "day", "period": DAY, **arguments})


def settle_whole(stack: Stack, **arguments: Any) -> dict[str, Any]:
    """Call the task until it is done."""
    return finish(stack, "settle", **{"board": BOARD, "window": "day", "period": DAY, **arguments})


def sorted_lines(scores: Scores) -> list[dict[str, Any]]:
    """The lines that the files must have, by a sort."""
    ordered = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
    ranks = {points: 1 + sum(other > points for other in scores.values()) for points in scores.values()}
    return [{"rank": ranks[points], "member": member, "score": points} for member, points in ordered]


def lines_in(files: dict[str, bytes], prefix: str = PREFIX) -> list[dict[str, Any]]:
    """The lines of the JSON files, in order."""
    keys = sorted(key for key in files if key.startswith(prefix) and key.endswith(".jsonl.gz"))
    return [orjson.loads(line) for key in keys for line in gzip.decompress(files[key]).splitlines()]


def winners(scores: Scores) -> set[tuple[str, str, int]]:
    """The prizes of the day, by a sort: who wins which one with which rank."""
    last = {"gold": (1, 1), "silver": (2, 3), "top-10": (1, -(-len(scores) // 10))}
    return {
        (name, line["member"], line["rank"])
        for line in sorted_lines(scores)
        for name, (first, end) in last.items()
        if first <= line["rank"] <= end
    }


def won(stack: Stack) -> set[tuple[str, str, int]]:
    """The prizes that events told of."""
    return {
        (event["prize"], event["member"], event["rank"]) for event in stack.bus.events if event["type"] == "Prize Won"
    }
