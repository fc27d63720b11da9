"""Boards are rebuilt, deleted and redefined while events flow, with the real handlers and a test clock."""

import itertools
import random
from typing import Any

import orjson
import pytest

from standings.domain.windows.calendar import DAY
from standings.maintain.rebuild.rebuild import PROPAGATION_WAIT
from standings.wiring import building_blocks
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.builders.stages.streaming import project

NOW = 1_795_256_100_000  # 2026-11-21T10:15:00Z
ALL = '[boards."b"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
DAYS = '[boards."b"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day", "last-2-days"] }\n'
NUMBERS = itertools.count()


class Upkeep:
    """Sends events to one board and runs its jobs; time passes where a rebuild waits."""

    def __init__(self, stack: Stack, seed: int = 0) -> None:
        self.stack = stack
        self.rng = random.Random(seed)
        self.totals: dict[str, int] = {}

    def event(self, member: str, points: int) -> None:
        at = building_blocks.now()
        event = {
            "id": str(next(NUMBERS)),
            "board": "b",
            "member": member,
            "at": f"2026-11-{21 + (at - NOW + 37_000_000) // DAY:02}T00:00:00Z",
            "metrics": {"points": points},
        }
        record = {"messageId": "1", "body": orjson.dumps(event).decode(), "messageAttributes": {}}
        assert self.stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}
        assert self.stack.dead_letters.reasons() == []
        self.totals[member] = self.totals.get(member, 0) + points

    def events(self, count: int) -> None:
        for _ in range(count):
            self.event(f"m{self.rng.randrange(40)}", self.rng.choice([-3, 0, 1, 5, 127, 300]))
        project(self.stack)

    def job(self, task: str, between: Any = lambda: None) -> list[str]:
        """Run a job to its end, with `between` between its calls; returns its phases."""
        phases: list[str] = []
        begin = True
        for _ in range(500):
            answer = self.stack.maintenance({task: {"board": "b", "begin": begin}}, Context())
            begin = False
            if answer["done"]:
                return phases
            if answer["phase"] not in phases[-1:]:
                phases.append(answer["phase"])
            between()
            self.stack.clock.milliseconds += round(answer["wait"] * 1000)
        raise AssertionError(phases)

    def page(self, window: str = "all", period: str | None = None) -> tuple[int, dict[str, int]]:
        status, page = self.stack.get(f"/boards/b/points/{window}", limit=1000, period=period)
        return status, {entry["member"]: entry["score"] for entry in page.get("entries", [])}


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The monotonic clock follows the stack's clock."""
    del request
    monkeypatch.setattr("time.monotonic", lambda: building_blocks.now() / 1000)


def test_a_rebuild_makes_everything_anew_while_events_go_on(engine: Any) -> None:
    with running(engine, ManualClock(NOW), DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.events(120)
        assert upkeep.page() == (200, upkeep.totals)

        def between() -> None:
            assert upkeep.page() == (200, upkeep.totals)
            upkeep.events(7)
            assert upkeep.page() == (200, upkeep.totals)

        phases = upkeep.job("rebuild", between)
        assert phases == ["announced", "switched", "retired"]
        upkeep.events(5)
        assert upkeep.page() == (200, upkeep.totals)
    assert {key.partition("~")[2] for key in entries(engine)} == {"1"}
    assert_tiers_count_the_entries(engine)
    left = [row for row in rows(engine, "Rankings") if "~1" not in row["pk"]["S"]]
    assert all("r" not in row and "e" in row for row in left)  # score-less rows, which expire


def test_a_rebuild_mends_what_is_wrong(engine: Any) -> None:
    with running(engine, ManualClock(NOW), DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.events(60)
        for row in rows(engine, "Rankings")[::2]:
            engine.delete_item(TableName="Rankings", Key={"pk": row["pk"]})
        assert upkeep.page() != (200, upkeep.totals)

        upkeep.job("rebuild")
        assert upkeep.page() == (200, upkeep.totals)
        assert upkeep.page("last-2-days") == (200, upkeep.totals)
    placed = {key: who for key, who in entries(engine).items() if "~1" in key}
    assert len(placed) == 4  # all, the day, two rolling periods


def test_a_new_window_can_be_read_once_the_board_is_rebuilt_and_for_what_was_kept(engine: Any) -> None:
    clock = ManualClock(NOW)
    with running(engine, clock, ALL) as stack:
        Upkeep(stack).event("before", 5)
        project(stack)
    with running(engine, clock, DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.event("after", 3)
        project(stack)
        assert stack.get("/boards/b/points/day")[1]["type"].endswith("not-built")
        upkeep.job("rebuild")
        assert upkeep.page() == (200, {"before": 5, "after": 3})
        status, problem = stack.get("/boards/b/points/day")
        assert status == 404
        assert "has not kept for all of this period" in problem["detail"]

        clock.milliseconds += DAY
        upkeep.event("tomorrow", 2)
        project(stack)
        assert upkeep.page("day") == (200, {"tomorrow": 2})
        assert upkeep.page("last-2-days")[0] == 404

        clock.milliseconds += DAY
        assert upkeep.page("last-2-days") == (200, {"tomorrow": 2})


def test_a_window_that_was_dropped_is_not_whole_when_it_comes_back(engine: Any) -> None:
    clock = ManualClock(NOW)
    with running(engine, clock, DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.event("m", 5)
        project(stack)
        assert upkeep.page("day") == (200, {"m": 5})
    with running(engine, clock, ALL) as stack:
        Upkeep(stack).event("m", 1)
        project(stack)
    with running(engine, clock, DAYS) as stack:
        upkeep = Upkeep(stack)
        assert upkeep.page() == (200, {"m": 6})
        assert upkeep.page("day")[0] == 404
        upkeep.job("rebuild")
        assert upkeep.page("day")[0] == 404  # the 1 is not in its day
        clock.milliseconds += DAY
        assert upkeep.page("day") == (200, {})


def test_a_board_that_begins_beside_older_functions_is_whole_for_what_these_keep_up(engine: Any) -> None:
    with running(engine, ManualClock(NOW), DAYS) as new:
        Upkeep(new).event("m", 5)
        with running(engine, ManualClock(NOW), ALL) as old:
            Upkeep(old).event("n", 1)
        project(new)
        assert new.get("/boards/b/points/all")[1]["total"] == 2
        assert new.get("/boards/b/points/day")[1]["type"].endswith("not-built")


def test_more_shards_are_in_use_for_everyone_after_a_rebuild(engine: Any) -> None:
    clock = ManualClock(NOW)
    with running(engine, clock, ALL) as stack:
        upkeep = Upkeep(stack)
        upkeep.events(40)
    with running(engine, clock, ALL + "shards = 3\n") as stack:
        upkeep.stack = stack
        stack.projected[0] = len(engine.stream("Scores")[0])
        upkeep.job("rebuild")
        assert upkeep.page() == (200, upkeep.totals)
    partitions = {row["r"]["S"].partition("~")[2] for row in rows(engine, "Rankings") if "r" in row}
    assert partitions == {"1", "1/1", "1/2"}


def test_a_deleted_board_is_gone_and_begins_anew(engine: Any) -> None:
    with running(engine, ManualClock(NOW), DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.events(60)
        phases = upkeep.job("delete", lambda: project(stack))
        assert phases == ["leaving", "announced", "switched", "retired"]
        project(stack)
        assert stack.get("/boards")[1]["boards"] == []
        assert upkeep.page() == (200, {})
        assert entries(engine) == {}
        assert stack.get("/boards/b/member", id="m1")[0] == 404
        # What is left expires.
        assert all("e" in row for row in rows(engine, "Rankings") if row["pk"]["S"].startswith("b#"))

        stack.clock.milliseconds += PROPAGATION_WAIT
        upkeep.totals.clear()
        upkeep.event("m1", 4)
        project(stack)
        assert stack.get("/boards")[1]["boards"] == [{"board": "b"}]
        assert upkeep.page() == (200, {"m1": 4})
        assert upkeep.page("day") == (200, {"m1": 4})
    assert_tiers_count_the_entries(engine)


def test_whoever_comes_while_a_board_is_deleted_is_on_the_board_that_begins_anew(engine: Any) -> None:
    with running(engine, ManualClock(NOW), DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.events(20)
        answer = stack.maintenance({"delete": {"board": "b"}}, Context())
        assert answer["phase"] == "leaving"
        stack.clock.milliseconds += round(answer["wait"] * 1000)
        assert stack.maintenance({"delete": {"board": "b"}}, Context())["phase"] == "announced"
        upkeep.totals.clear()
        upkeep.event("new", 9)
        project(stack)
        upkeep.job("delete")
        assert stack.get("/boards")[1]["boards"] == [{"board": "b"}]
        assert upkeep.page() == (200, {"new": 9})
    assert_tiers_count_the_entries(engine)


def test_longer_limits_hold_after_a_rebuild_and_for_what_was_still_there(engine: Any) -> None:
    """What short limits have removed does not come back with longer ones."""
    short = DAYS.replace("\n", '\nlate = "1 day"\nkeep = "1 day"\n', 1)
    clock = ManualClock(NOW)
    with running(engine, clock, short) as stack:
        upkeep = Upkeep(stack)
        for _ in range(6):
            upkeep.event("m", 1)
            project(stack)
            clock.milliseconds += DAY
        readable = [day for day in range(21, 28) if upkeep.page("day", f"2026-11-{day}")[0] == 200]
        assert readable == [25, 26, 27]
    with running(engine, clock, DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.event("m", 1)
        project(stack)
        clock.milliseconds += DAY
        assert upkeep.page("day", "2026-11-25")[0] == 404
        upkeep.job("rebuild")
        found = {day: upkeep.page("day", f"2026-11-{day}") for day in range(21, 29)}
    assert {day for day, (status, _) in found.items() if status == 200} == {26, 27, 28}
    assert [page for status, page in found.values() if status == 200] == [{"m": 1}, {"m": 1}, {}]
