"""What docs/how-to/facets-friends-teams.md says: its events, its families, its list of friends, and what they cost."""

import re
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from benchmarks.harness.meter import Meter
from tests.support.aws.client import connected
from tests.support.aws.stack import ManualClock, Stack, apply, running
from tests.support.builders.querying import NOW
from tests.support.dynamodb.tables import engine_with_tables

PAGE: Final = (Path(__file__).parents[3] / "docs" / "how-to" / "facets-friends-teams.md").read_text(encoding="utf-8")
TEAMS: Final = """
[boards."teams-*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


BOARDS: Final = "".join(blocks("toml")) + TEAMS
OF_COUNTRY, OF_TEAM = map(orjson.loads, blocks("json"))
(FRIENDS,) = blocks("python")


def event(board: str, member: str, points: int) -> dict[str, Any]:
    about = {"board": board, "member": member, "at": "2026-11-21T10:15:00Z", "metrics": {"points": points}}
    return {"id": f"{board} {member} {points}", **about}


def scores(stack: Stack, board: str, window: str = "all") -> dict[str, int]:
    return {one["member"]: one["score"] for one in stack.entries(f"/boards/{board}/points/{window}")}


def test_an_event_counts_on_each_of_its_boards_once(stack: Stack) -> None:
    apply(stack, [OF_COUNTRY, OF_COUNTRY])
    apply(stack, [OF_COUNTRY])

    assert scores(stack, "trail-2026") == scores(stack, "trail-2026.DE") == {"ada": 3}
    assert [one["board"] for one in stack.get("/boards", prefix="trail-2026.")[1]["boards"]] == ["trail-2026.DE"]
    # The small board has the windows of its own family.
    assert scores(stack, "trail-2026", "last-7-days") == {"ada": 3}
    assert stack.get("/boards/trail-2026.DE/points/last-7-days")[0] == 404


def test_a_team_has_what_its_players_scored_and_keeps_it_when_one_leaves(stack: Stack) -> None:
    first, second = OF_TEAM["updates"]
    for_another = {**OF_TEAM, "id": "t5", "updates": [first, {**second, "member": "team#8"}]}
    apply(stack, [OF_TEAM, for_another, OF_TEAM])

    assert scores(stack, "trail-2026") == {"bob": 10}
    assert scores(stack, "teams-2026") == {"team#7": 5, "team#8": 5}


def test_friends_are_ranked_among_all_and_among_themselves(stack: Stack, tmp_path: Path) -> None:
    apply(stack, [event("trail-2026", member, points) for member, points in (("bob", 5), ("eve", 9), ("ada", 8))])
    names: dict[str, Any] = {"standings": connected(stack, tmp_path, BOARDS)}
    exec(FRIENDS, names)  # noqa: S102 - the page's own lines

    ranks = [(one["member"], one["rank"], one["group_rank"]) for one in names["friends"]]
    assert ranks == [("ada", 2, 1), ("bob", 3, 2)]
    # What the client answers, the API answers too.
    body = {"members": ["ada", "bob", "cy"]}
    assert stack.post("/boards/trail-2026/points/all/ranks", body)[1]["entries"] == names["found"]
    assert names["found"][2] == {"member": "cy", **dict.fromkeys(("rank", "score", "percentile", "group_rank"))}


def written(posted: list[dict[str, Any]], boards: list[str]) -> float:
    """How many write units events cost until they are ranked, each in a batch of its own, on boards with members."""
    with running(Meter(engine_with_tables()), ManualClock(round(NOW.timestamp() * 1000)), BOARDS) as stack:
        for points, member in enumerate(["ada", "bob", "cy", "eve"]):
            apply(stack, [event(board, member, points) for board in boards])
        before = stack.dynamodb.snapshot()
        for one in posted:
            apply(stack, [one])
        units: float = (stack.dynamodb.snapshot() - before).total.write
        return units


@pytest.mark.parametrize("count", [2, 3, 10])
def test_on_each_board_an_event_costs_as_alone_but_for_receipts(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.random", lambda: 1.0)  # tiers are cleaned by chance, here never
    boards = [f"trail-2026.{number}" for number in range(count)]
    about = {"member": "ada", "metrics": {"points": 90}}
    at = {"at": "2026-11-21T10:15:00Z"}
    alone = written([{"id": board, "board": board, **about, **at} for board in boards], boards)

    assert alone - written([{"id": "list", "board": boards, **about, **at}], boards) == 2 * (count - 1)
    updates = [{"board": board, **about} for board in boards]
    assert alone - written([{"id": "updates", "updates": updates, **at}], boards) == 2 * (count - 1)
