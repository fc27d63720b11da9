"""Version 0.3.0 wrote `tables_of_0_3.json`. Today's functions read its tables, go on with them, and write equal items.

The file is what this program prints in a clone of commit beba167a:

    PYTHONPATH=layers/standings:. python tests/functions/upgrade/test_tables_of_0_3.py
"""

import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest import mock

import orjson

import tests.conftest  # noqa: F401 - sets the environment variables of the product
from tests.support.aws.stack import ManualClock, Stack, apply, project, running, write
from tests.support.awslambda.pollers import Context
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

FILE: Final = Path(__file__).with_name("tables_of_0_3.json")
NOW: Final = 1_795_256_100_000
"""2026-11-21T10:15:00Z."""
DAY: Final = 86_400_000
TABLES: Final = ("Scores", "Receipts", "Rankings", "Profiles")
BOARDS: Final = """
[boards."club-*"]
timezone = "Europe/Berlin"
metrics.km = { aggregate = "sum", precision = 1, windows = ["all", "day", "last-3-days"] }
metrics.best = { aggregate = "max", ties = "first", notes = true, windows = ["all", "month"] }

[boards."league-*"]
members = "registered"
shards = 3
metrics.points = { aggregate = "last", order = "ascending", windows = ["all", "season", "last-2-hours"] }

[[boards."league-*".seasons]]
name = "autumn"
starts = "2026-09-01"
ends = "2026-12-01"
"""
READS: Final = (
    *(f"/boards/club-a/km/{window}" for window in ("all", "day", "last-3-days")),
    *(f"/boards/club-a/best/{window}" for window in ("all", "month")),
    *(f"/boards/league-b/points/{window}" for window in ("all", "season", "last-2-hours")),
    "/boards/club-c/km/last-3-days",
)


def event(number: int, board: str, member: str, at: int, **more: Any) -> dict[str, Any]:
    day, time = divmod(at, DAY)
    hour = f"{time // 3_600_000:02d}:{time // 60_000 % 60:02d}"
    date = ("2026-11-18", "2026-11-19", "2026-11-20", "2026-11-21", "2026-11-22")[day - NOW // DAY + 3]
    return {"id": f"e{number}", "board": board, "member": member, "at": f"{date}T{hour}:00Z", **more}


def live(stack: Stack) -> None:
    """Some days of three boards: late and repeated events, removals, hidden members, a rebuild, a deleted board."""
    for name in ("x", "y", "z"):
        stack.put("/boards/league-b/member", {}, id=name)
    number = 0
    for day in range(3):
        stack.clock.milliseconds = NOW - (2 - day) * DAY
        events = []
        for member in range(6):
            for back in (0, 1) if (member + day) % 3 else (0,):
                number += 1
                metrics = {"km": 1.5 + (member * 7 + day * 3) % 11, "best": 100 + (member * member + day) % 5}
                at = stack.clock() - (back * 20 + member) * 3_600_000 if day else stack.clock() - member * 60_000
                events.append(event(number, "club-a", f"m{member}", at, metrics=metrics, note={"run": number}))
        for name in ("x", "y", "z"):
            number += 1
            points = {"points": 10 * len(events) - ord(name) % 7 * day}
            events.append(event(number, "league-b", name, stack.clock(), metrics=points))
        number += 1
        events.append(event(number, "club-c", "ä/ö", stack.clock(), metrics={"km": day}))
        apply(stack, events)
        write(stack, events[:3])  # delivered again
    stack.clock.milliseconds += 1_000
    stack.put("/boards/club-a/member", {"hidden": True}, id="m3")
    stack.delete("/boards/club-a/member", id="m4")
    stack.put("/members", {"name": "Ada Lovelace", "country": "GB", "data": {"club": 7}}, id="m1")
    project(stack)
    rebuild(stack, "club-a")
    apply(stack, [event(number + 1, "club-a", "m5", stack.clock(), metrics={"km": 3})])


def rebuild(stack: Stack, board: str) -> None:
    for _ in range(20):
        answer = stack.maintenance({"rebuild": {"board": board}}, Context(seconds=900))
        if answer["done"]:
            return
        stack.clock.milliseconds += round(answer["wait"] * 1000) + 1
    raise AssertionError(board)


def reads(stack: Stack) -> dict[str, Any]:
    """Every list whole, and each member's rank in it."""
    found: dict[str, Any] = {}
    for path in READS:
        found[path] = stack.entries(path)
        for entry in found[path]:
            rank = stack.get(f"{path}/rank", member=entry["member"])[1]
            assert (rank["rank"], rank["score"]) == (entry["rank"], entry["score"])
    found["boards"] = stack.get("/boards")[1]
    found["profile"] = stack.get("/members", id="m1")[1]
    return found


def dump(stack: Stack) -> dict[str, list[Any]]:
    """The items of every table, in the order of their keys. Bytes are in base64."""
    tables = {name: stack.dynamodb.scan(TableName=name)["Items"] for name in TABLES}
    items = {
        name: [{key: _shown(value) for key, value in sorted(item.items())} for item in rows]
        for name, rows in tables.items()
    }
    return {name: sorted(rows, key=orjson.dumps) for name, rows in items.items()}


def _shown(value: Any) -> Any:
    return {"B": b64encode(value["B"]).decode()} if "B" in value else value


def _stored(value: Any) -> Any:
    return {"B": b64decode(value["B"])} if "B" in value else value


@contextmanager
def stack_at(now: int) -> Iterator[Stack]:
    clock = ManualClock(now)
    engine = Engine(clock=lambda: clock() / 1000)
    create_tables(engine)
    # By chance a projector looks for empty nodes. It did not when the file was made.
    with mock.patch("random.random", return_value=0.5), running(engine, clock, BOARDS) as stack:
        yield stack


def recorded() -> dict[str, Any]:
    found: dict[str, Any] = {name: [] for name in TABLES}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        ((name, part),) = orjson.loads(line).items()
        found[name] = [*found[name], part] if name in TABLES else part
    return found


@contextmanager
def upgraded() -> Iterator[Stack]:
    """Today's functions on the tables of 0.3.0."""
    with stack_at(recorded()["now"]) as stack:
        for name in TABLES:
            stack.dynamodb.load(
                name, [{key: _stored(value) for key, value in item.items()} for item in recorded()[name]]
            )
        project_nothing(stack)
        yield stack


def project_nothing(stack: Stack) -> None:
    """The projector has had every record of what was loaded."""
    stack.projected = {number: len(shard) for number, shard in enumerate(stack.dynamodb.stream("Scores"))}


def drift(stack: Stack) -> int:
    return int(stack.maintenance({"audit": {}}, Context(seconds=900))["drift"])


def test_every_list_is_read_as_0_3_read_it() -> None:
    with upgraded() as stack:
        assert orjson.loads(orjson.dumps(reads(stack))) == recorded()["reads"]
        assert drift(stack) == 0


def test_events_go_on_without_a_rebuild() -> None:
    with upgraded() as stack:
        again = event(1, "club-a", "m0", NOW - 2 * DAY, metrics={"km": 1.5, "best": 100}, note={"run": 1})
        late = event(901, "club-a", "m3", NOW - DAY, metrics={"km": 2.5})
        back = event(902, "club-a", "m4", NOW, metrics={"km": 1, "best": 500})
        write(stack, [again, late, back])
        stack.put("/boards/club-a/member", {"hidden": False}, id="m3")
        stack.delete("/boards/club-a/member", id="m5")
        project(stack)
        assert drift(stack) == 0
        scores = {entry["member"]: entry["score"] for entry in stack.entries("/boards/club-a/km/last-3-days")}
        before = {entry["member"]: entry["score"] for entry in recorded()["reads"]["/boards/club-a/km/last-3-days"]}
        assert {**before, "m4": 1} == {name: score for name, score in scores.items() if name != "m3"} | {
            "m5": before["m5"]
        }
        rebuild(stack, "club-a")
        assert drift(stack) == 0


def test_the_same_life_is_stored_byte_for_byte() -> None:
    with stack_at(NOW - 2 * DAY) as stack:
        live(stack)
        written = dump(stack)
    for name in TABLES:
        assert _without_news(written[name]) == _without_news(recorded()[name])


def _without_news(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Items without what version 0.4 adds: the time of receipts and what they say of their events, and of a removal."""
    return sorted(map(_as_of_0_3, items), key=lambda item: orjson.dumps(item, option=orjson.OPT_SORT_KEYS))


def _as_of_0_3(item: dict[str, Any]) -> dict[str, Any]:
    if set(item) >= {"d", "e"} and "B" in item["d"]:
        return {name: value for name, value in item.items() if name not in ("t", "c")}
    return item | {"y": True} if "y" in item else item


def test_the_index_of_members_boards_is_filled_from_what_0_3_wrote() -> None:
    """While DynamoDB builds it, events count and its reads say so."""
    with upgraded() as stack:
        index = stack.dynamodb.table("Scores").indexes["boards"]
        index.is_built = False
        assert stack.get("/members/boards", id="m1")[1]["type"] == "urn:standings:not-built"
        apply(stack, [event(901, "club-c", "m1", NOW, metrics={"km": 2.5})])
        index.is_built = True
        boards = {name: stack.get("/members/boards", id=name)[1]["boards"] for name in ("m1", "m3", "m4", "x")}
        assert {name: [(one["board"], one["hidden"]) for one in listed] for name, listed in boards.items()} == {
            "m1": [("club-a", False), ("club-c", False)],
            "m3": [("club-a", True)],
            "m4": [],
            "x": [("league-b", False)],
        }


if __name__ == "__main__":
    with stack_at(NOW - 2 * DAY) as stack:
        live(stack)
        written: dict[str, Any] = {"now": stack.clock(), "reads": reads(stack), "tables": dump(stack)}
    lines = [{"now": written["now"]}, {"reads": written["reads"]}]
    lines += [{table: item} for table, items in written["tables"].items() for item in items]
    sys.stdout.write("".join(f"{orjson.dumps(line).decode()}\n" for line in lines))
