"""Boards that end: exact to the instant, whatever DynamoDB has deleted, and never old numbers under the name."""

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

import pytest

from standings.domain.errors import NotFoundError
from tests.support.aws.stack import ManualClock, Stack, announce, deliver, project, running
from tests.support.awslambda.context import Context
from tests.support.builders.checks import rows
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

SECOND: Final = 1000
DAY: Final = 24 * 60 * 60 * SECOND
BEGAN: Final = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * SECOND)
TOML: Final = """
[boards."week-*"]
expires = "20 days"
settle = ["week"]
announce = { all = { top = 3 } }
metrics.points = { aggregate = "sum", windows = ["all", "day", "week", "last-7-days"] }
metrics.best = { aggregate = "max", windows = ["all"], ties = "first" }

[boards."total-*"]
expires = "20 days"
metrics.points = { aggregate = "sum", windows = ["all"] }

[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"] }
"""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(BEGAN)


@pytest.fixture
def engine() -> Engine:
    engine = Engine()
    create_tables(engine)
    return engine


@pytest.fixture
def stack(engine: Engine, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, TOML) as stack:
        yield stack


def event(number: int, member: str, points: int, board: str = "week-1", **more: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "board": board, "member": member, "metrics": {"points": points}, **more}


def post(stack: Stack, *events: dict[str, Any]) -> list[str]:
    """Post events that happen now, project them, and return why some were refused."""
    before = len(stack.dead_letters.messages)
    at = datetime.fromtimestamp(stack.clock() / SECOND, UTC).isoformat()
    deliver(stack, [one if "retract" in one else {"at": at, **one} for one in events])
    project(stack)
    return stack.dead_letters.reasons()[before:]


def problem(answer: tuple[int, Any]) -> tuple[int, str]:
    status, body = answer
    return status, "" if body is None else body.get("type", "").removeprefix("urn:standings:")


def reads(stack: Stack, board: str) -> dict[str, tuple[int, Any]]:
    """Every read that names a board."""
    ranking = f"/boards/{board}/points/all"
    return {
        "board": stack.get(f"/boards/{board}"),
        "member": stack.get(f"/boards/{board}/member", id="a"),
        "list": stack.get(ranking),
        "day": stack.get(f"/boards/{board}/points/day"),
        "rolling": stack.get(f"/boards/{board}/points/last-7-days"),
        "rank": stack.get(f"{ranking}/rank", member="a"),
        "score": stack.get(f"{ranking}/rank", score=1),
        "ranks": stack.post(f"{ranking}/ranks", {"members": ["a"]}),
        "history": stack.get(f"/boards/{board}/points/day/history", member="a"),
        "percentile": stack.get(f"{ranking}/percentile", p=50),
        "distribution": stack.get(f"{ranking}/distribution"),
        "search": stack.get("/members", name="ad", board=board),
    }


def maintained(stack: Stack, task: str, **payload: Any) -> dict[str, Any]:
    return stack.maintenance({task: payload}, Context())


def items(engine: Engine, table: str, board: str = "week-1") -> list[dict[str, Any]]:
    return [one for one in rows(engine, table) if one["pk"]["S"].startswith(f"{board}#")]


def test_a_board_ends_at_one_instant_everywhere(stack: Stack, clock: ManualClock) -> None:
    assert (
        post(stack, event(1, "a", 5), event(2, "b", 3, metrics={"points": 3, "best": 3}), event(3, "z", 1, "b")) == []
    )
    assert stack.put("/members", {"name": "Ada"}, id="a")[0] == 200
    assert stack.get("/boards/week-1")[1]["expires_at"] == "2026-12-11T10:15:00.000Z"
    # What is cached is from before the end, which is fixed in it.
    clock.milliseconds = BEGAN + 20 * DAY - 1
    assert {status for status, _ in reads(stack, "week-1").values()} == {200}
    assert stack.get("/boards")[1]["boards"] == [{"board": "b"}, {"board": "week-1"}]
    assert post(stack, event(4, "a", 1)) == []
    clock.milliseconds += 1
    assert {name: problem(answer) for name, answer in reads(stack, "week-1").items()} == dict.fromkeys(
        reads(stack, "week-1"), (404, "expired")
    )
    assert stack.get("/boards")[1]["boards"] == [{"board": "b"}]
    refused = "board: 'week-1' ended at 2026-12-11T10:15:00.000Z, and takes no more events"
    both = {"id": "e6", "updates": [event(0, "a", 1), event(0, "z", 1, "b")]}
    both["updates"] = [{name: one[name] for name in ("board", "member", "metrics")} for one in both["updates"]]
    # An event that counted is delivered once more.
    late = datetime.fromtimestamp((BEGAN + 20 * DAY - 1) / SECOND, UTC).isoformat()
    assert post(stack, event(5, "a", 1), both, event(4, "a", 1, at=late)) == [refused, refused]
    assert stack.get("/boards/b/points/all/rank", member="z")[1]["score"] == 1
    for answer in (stack.put("/boards/week-1/member", id="c"), stack.delete("/boards/week-1/member", id="a")):
        assert problem(answer) == (404, "expired")
    with pytest.raises(NotFoundError, match="ended at"):
        maintained(stack, "merge", board="week-1", old="a", new="b")
    for task in ("rebuild", "delete"):
        with pytest.raises(ValueError, match="board 'week-1' ended at"):
            maintained(stack, task, board="week-1", begin=True)
    assert [report["board"] for report in maintained(stack, "audit")["boards"]] == ["b"]
    assert maintained(stack, "audit", board="week-1")["boards"] == []


def test_an_event_is_taken_back_where_its_board_has_not_ended(stack: Stack, clock: ManualClock) -> None:
    both = [{"board": board, "member": "a", "metrics": {"points": 5}} for board in ("week-1", "b")]
    assert post(stack, event(1, "a", 1)) == []
    clock.milliseconds = BEGAN + 19 * DAY
    assert post(stack, {"id": "x", "updates": both}) == []
    clock.milliseconds = BEGAN + 20 * DAY
    assert post(stack, {"id": "c", "correct": "x", "updates": both})[0].startswith("board: 'week-1' ended at")
    assert post(stack, {"id": "d", "retract": "e1"})[0].startswith("board: 'week-1' ended at")
    assert post(stack, {"id": "r", "retract": "x"}) == []
    assert stack.get("/boards/b/points/all/rank", member="a")[1]["score"] == 0


def test_ttl_takes_all_of_a_board_and_the_projector_moves_nothing(
    stack: Stack, engine: Engine, clock: ManualClock
) -> None:
    for day in range(3):
        clock.milliseconds = BEGAN + day * DAY
        assert (
            post(stack, *(event(10 * day + n, m, n, metrics={"points": n, "best": n}) for n, m in enumerate("abc")))
            == []
        )
    stack.delete("/boards/week-1/member", id="c")
    stack.put("/boards/week-1/member", {"hidden": True}, id="b")
    stack.put("/boards/week-1/member", id="c")
    project(stack)
    announce(stack)
    assert maintained(stack, "rebuild", board="week-1", begin=True)["phase"] == "announced"
    post(stack, event(99, "d", 7))
    last = (BEGAN + 21 * DAY) // SECOND
    for table in ("Scores", "Rankings"):
        assert {int(one["e"]["N"]) <= last for one in items(engine, table)} == {True}
    clock.milliseconds = BEGAN + 21 * DAY
    for table in ("Scores", "Rankings"):
        engine.expire(table, clock() / SECOND + 1)
        assert items(engine, table) == []
    project(stack)
    assert items(engine, "Rankings") == []
    assert [one["sk"]["S"] for one in rows(engine, "Scores")] == ["week-1"]
    clock.milliseconds = BEGAN + 110 * DAY
    engine.expire("Scores", clock() / SECOND + 1)
    assert rows(engine, "Scores") == []


@pytest.mark.parametrize("board", ["week-1", "total-1"])
@pytest.mark.parametrize("seed", range(4))
def test_a_name_that_is_used_again_has_none_of_the_old_numbers(
    stack: Stack, engine: Engine, clock: ManualClock, seed: int, board: str
) -> None:
    """TTL has taken some items and not others, maybe the record first."""
    rng, scores = Random(seed), dict[str, int]()
    assert post(stack, *(event(n, m, 100 + n, board) for n, m in enumerate("abcdef"))) == []
    announce(stack)
    clock.milliseconds = BEGAN + 20 * DAY
    assert problem(stack.get(f"/boards/{board}/points/all")) == (404, "expired")
    clock.milliseconds = BEGAN + 110 * DAY - 1
    assert len(post(stack, event(6, "a", 1, board))) == 1
    clock.milliseconds += 1
    assert stack.get(f"/boards/{board}/points/all")[1]["total"] == 0
    for table in ("Scores", "Rankings") if seed else ():
        engine.expire(table, clock() / SECOND + 1, lambda: rng.random() < 0.5)
    for number in range(7, 15):
        member, points = rng.choice("abcd"), rng.randint(1, 9)
        scores[member] = scores.get(member, 0) + points
        assert post(stack, event(number, member, points, board)) == []
        engine.expire("Rankings", clock() / SECOND + 1, lambda: rng.random() < 0.2)
    for window in ("all", "last-7-days") if board == "week-1" else ("all",):
        shown = stack.entries(f"/boards/{board}/points/{window}")
        assert [(one["member"], one["score"]) for one in shown] == sorted(
            scores.items(), key=lambda one: (-one[1], one[0])
        )
    left = next(iter(set("abcdef") - scores.keys()))
    assert problem(stack.get(f"/boards/{board}/member", id=left)) == (404, "no-such-member")
    assert maintained(stack, "audit", board=board)["drift"] == 0
    assert all(not one["left"] for one in announce(stack))
    engine.expire("Scores", clock() / SECOND + 1)
    project(stack)
    assert maintained(stack, "audit", board=board)["drift"] == 0
