"""Boards are rebuilt, deleted and redefined while events flow and others write their members."""

import itertools
import random
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import compress
from typing import Any, Final

import orjson
import pytest

from standings.aws.dynamodb.scores import Scores, decode_image, encode_image
from standings.domain.boards_toml import parse_boards
from standings.domain.coverage import PROPAGATION_WAIT
from standings.domain.members import Image, new_image
from standings.domain.windows import DAY
from standings.stores import StoreUnavailableError
from standings.wiring.building_blocks import REPORTING_RESERVE
from standings_cli.redefinitions import redefinitions
from tests.support.aws.stack import ManualClock, Stack, apply, count, deliver, event, project, running, write
from tests.support.awslambda.context import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.builders.maintenance import before, call, calls, clock_of, finish, throttle
from tests.support.faults.faulty_client import cancelled

ALL: Final = '[boards."b"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
DAYS: Final = '[boards."b"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day", "last-2-days"] }\n'
NUMBERS: Final = itertools.count()


@dataclass
class Upkeep:
    """Sends events to the board `b`, and adds them up."""

    stack: Stack
    rng: random.Random = field(default_factory=lambda: random.Random(0))
    totals: dict[str, int] = field(default_factory=dict)

    def event(self, member: str, points: int) -> None:
        """An event of today, in UTC."""
        at = today(self.stack.clock).isoformat()
        write(self.stack, [{**event(member, points), "id": str(next(NUMBERS)), "at": at}])
        self.totals[member] = self.totals.get(member, 0) + points

    def projected(self, member: str, points: int) -> None:
        self.event(member, points)
        project(self.stack)

    def events(self, number: int) -> None:
        for _ in range(number):
            self.event(f"m{self.rng.randrange(40)}", self.rng.choice([-3, 0, 1, 5, 127, 300]))
        project(self.stack)

    def page(self, window: str = "all") -> tuple[int, dict[str, int]]:
        status, page = self.stack.get(f"/boards/b/points/{window}", limit=1000)
        return status, {entry["member"]: entry["score"] for entry in page.get("entries", [])}


def today(clock: ManualClock) -> datetime:
    return datetime.fromtimestamp(clock() / 1000, UTC).replace(hour=0, minute=0)


def job(stack: Stack, task: str, between: Callable[[], Any] = lambda: None) -> list[str]:
    """Run a job of the board to its end, with `between` between its calls; returns its phases."""
    phases = []
    for progress in calls(stack, task, board="b"):
        if not progress["done"]:
            phases.append(progress["phase"])
            between()
    return list(dict.fromkeys(phases))


def test_a_rebuild_makes_everything_again_while_events_go_on(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.events(120)
        assert upkeep.page() == (200, upkeep.totals)

        def between() -> None:
            assert upkeep.page() == (200, upkeep.totals)
            upkeep.events(7)
            assert upkeep.page() == (200, upkeep.totals)

        assert job(stack, "rebuild", between) == ["announced", "switched", "retired"]
        upkeep.events(5)
        assert upkeep.page() == (200, upkeep.totals)
    assert {key.partition("~")[2] for key in entries(engine)} == {"1"}
    assert_tiers_count_the_entries(engine)
    left = [row for row in rows(engine, "Rankings") if "~1" not in row["pk"]["S"]]
    assert all("r" not in row and "e" in row for row in left)  # score-less rows, which expire


def test_a_new_window_can_be_read_once_the_board_is_rebuilt_for_what_was_kept(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, ALL) as stack:
        Upkeep(stack).projected("before", 5)
    with running(engine, clock, DAYS) as stack:
        problem = stack.get("/boards/b/points/day")[1]
        assert problem["type"].endswith("not-built")
        assert problem["detail"].endswith("where none were, a window begins with its next period")
        job(stack, "rebuild")
        assert "does not have all scores for this period" in stack.get("/boards/b/points/day")[1]["detail"]
        (told,) = redefinitions(parse_boards(ALL), parse_boards(DAYS), clock())
        tomorrow, after = (f"{today(clock).date() + timedelta(days)}" for days in (1, 2))
        assert told.whole_from == {"day": tomorrow, "last-2-days": after}
        clock.milliseconds += DAY
        upkeep = Upkeep(stack)
        upkeep.projected("tomorrow", 2)
        assert (upkeep.page("day"), upkeep.page("last-2-days")[0]) == ((200, {"tomorrow": 2}), 404)


def test_tie_breaks_start_new_rankings_and_a_rebuild_leaves_nothing_of_those_before(
    engine: Any, clock: ManualClock
) -> None:
    goals = 'metrics.goals = { aggregate = "sum", windows = ["day", "last-2-days"] }\n'
    tied = DAYS.replace("windows", 'tie_breaks = ["goals"], windows')

    def list_of(stack: Stack, window: str) -> list[tuple[int, str]]:
        return [(one["rank"], one["member"]) for one in stack.entries(f"/boards/b/points/{window}")]

    with running(engine, clock, DAYS + goals) as stack:
        for number in range(60):
            metrics = {"points": number % 5, "goals": (number * 7) % 400}
            at = today(stack.clock).isoformat()
            write(stack, [{**event(f"m{number:02}", 0), "id": f"g{number}", "at": at, "metrics": metrics}])
        project(stack)
    expected = sorted((-(number % 5), -((number * 7) % 400), f"m{number:02}") for number in range(60))
    with running(engine, clock, tied + goals) as stack:
        call(stack, "audit", board="b")
        clock.milliseconds += 61_000
        assert {stack.get(f"/boards/b/points/{window}")[0] for window in ("all", "day", "last-2-days")} == {404}
        for generation in (1, 2):
            finish(stack, "rebuild", board="b")
            clock.milliseconds += 61_000
            # The days were kept for both metrics.
            for window in ("all", "day", "last-2-days"):
                assert list_of(stack, window) == [(n, member) for n, (_, _, member) in enumerate(expected, 1)]
            left = [row for row in rows(engine, "Rankings") if f"~{generation}" not in row["pk"]["S"]]
            assert [row for row in left if "r" in row or "e" not in row or "/" in row["pk"]["S"]] == []
        assert finish(stack, "audit", board="b")["drift"] == 0


@pytest.mark.parametrize("seconds", [60.0, 890.0])
def test_over_http_a_deletion_goes_on_by_itself_and_the_board_begins_from_zero(
    engine: Any, clock: ManualClock, seconds: float
) -> None:
    """A call waits, and calls the next one where its time does not suffice; what Lambda repeats does no harm."""
    with running(engine, clock, DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.events(60)
        assert stack.delete("/boards/a-b_c")[1]["type"] == "urn:standings:no-such-board"
        assert stack.delete("/boards/b") == stack.delete("/boards/b") == (202, {"board": "b", "status": "deleting"})
        clock.milliseconds += 60_000  # For as long the query function keeps the record
        assert stack.get("/boards/b")[1]["type"] == "urn:standings:being-deleted"
        done = []
        while stack.later.calls:
            function, event = stack.later.calls.pop(0)
            assert function.rpartition(":")[2] == "maintenance"
            answer = stack.maintenance(event, Context("maintenance", seconds=seconds, clock=clock.monotonic))
            project(stack)
            done.append((event, answer["done"]))
            clock.milliseconds += round(1000 * seconds) if not answer["done"] else 0
        assert (len(done) > 4, done[-1][1]) == (seconds < 100, True)
        assert stack.delete("/boards/b")[0] == 404
        assert (stack.get("/boards")[1]["boards"], entries(engine)) == ([], {})
        assert (upkeep.page(), stack.get("/boards/b/member", id="m1")[0]) == ((200, {}), 404)
        # What is left expires.
        assert all("e" in row for row in rows(engine, "Rankings") if row["pk"]["S"].startswith("b#"))

        clock.milliseconds += PROPAGATION_WAIT
        upkeep.totals.clear()
        upkeep.projected("m1", 4)
        for event, _ in done:  # Lambda may call with an event once more, and late
            assert stack.maintenance(event, Context(seconds=seconds, clock=clock.monotonic))["done"]
        assert stack.get("/boards")[1]["boards"] == [{"board": "b"}]
        assert upkeep.page() == upkeep.page("day") == (200, {"m1": 4})
    assert_tiers_count_the_entries(engine)


def test_a_deletion_that_does_not_come_to_its_end_says_so(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, DAYS) as stack:
        Upkeep(stack).events(20)
        assert stack.delete("/boards/b")[0] == 202
        ((_, event),) = stack.later.calls
        event["delete"]["calls"] = 1
        with pytest.raises(RuntimeError, match="board 'b' is not deleted yet: delete it again, which goes on"):
            stack.maintenance(event, Context(seconds=60, clock=clock.monotonic))
        with before(engine, throttle, "'Scores'"), pytest.raises(StoreUnavailableError):
            stack.maintenance(event, Context(seconds=60, clock=clock.monotonic))


@pytest.mark.parametrize("record", ["of today", "of 0.2"])
def test_a_deletion_that_was_held_up_leaves_those_who_came_back(engine: Any, clock: ManualClock, record: str) -> None:
    """A call has removed nobody yet. Another finishes the deletion, or 0.2 writes the record without a token."""
    with running(engine, clock, DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.events(60)
        clock.milliseconds += round(call(stack, "delete", board="b")["wait"] * 1000)
        finished, written = list[Any](), list[Any]()

        def others_finish() -> None:
            if not finished:
                finished.append(finish(stack, "delete", board="b"))
                clock.milliseconds += PROPAGATION_WAIT
                upkeep.totals.clear()
                for number in range(40):
                    upkeep.projected(f"m{number}", 7)

        def write_as_02() -> None:
            if not written:
                key = {"pk": {"S": "#boards"}, "sk": {"S": "b"}}
                written.append(engine.update_item(TableName="Scores", Key=key, UpdateExpression="REMOVE f"))

        with before(engine, others_finish if record == "of today" else write_as_02, "TransactWriteItems", "b#"):
            held_up = call(stack, "delete", board="b", begin=False, seconds=800.0)
        assert held_up["done"] is bool(finished)
        others_finish()
        project(stack)
        clock.milliseconds += PROPAGATION_WAIT
        assert upkeep.page() == (200, upkeep.totals)
    assert_tiers_count_the_entries(engine)


# ---- all boards whose names match


GLOB: Final = '[boards."b-*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'


def fill(stack: Stack, *boards: str) -> None:
    apply(stack, [{**event("m", 1), "id": board, "board": board} for board in boards])


def test_from_the_start_of_a_deletion_events_are_refused_and_nothing_is_shown(engine: Any, clock: ManualClock) -> None:
    """So nothing is shown and then dropped. Each process has just used the board's record."""
    with running(engine, clock, DAYS) as stack:
        upkeep = Upkeep(stack)
        upkeep.projected("m1", 5)
        late = {**event("m1", 7), "id": "late", "at": today(clock).isoformat()}
        refused: list[str] = []

        def told(progress: dict[str, Any]) -> None:
            deliver(stack, [{**late, "id": f"late-{len(refused)}"}])
            project(stack)
            refused.append(stack.dead_letters.reasons()[-1])
            assert stack.put("/boards/b/member", id="m2")[1]["type"] == "urn:standings:being-deleted"
            # The query function keeps a record for a minute.
            if progress["phase"] != "leaving":
                for path in ("/boards/b", "/boards/b/points/all", "/boards/b/points/last-2-days"):
                    status, answer = stack.get(path)
                    assert (status, answer["type"]) == (404, "urn:standings:being-deleted")

        progress = call(stack, "delete", board="b")
        assert progress["phase"] == "leaving"
        assert stack.get("/boards", limit=1)[1] == {"boards": [], "next": None}
        while progress["phase"] in ("leaving", "announced"):
            told(progress)
            clock.milliseconds += round(progress["wait"] * 1000)
            progress = call(stack, "delete", board="b", begin=False)
        reason = "board: 'b' is being deleted: replay the event once that has ended"
        assert refused == [reason, reason]
        finish(stack, "delete", board="b", begin=False)
        clock.milliseconds += PROPAGATION_WAIT

        # What was refused is not lost.
        assert upkeep.page() == (200, {})
        assert finish(stack, "dead_letters", "replay")["replayed"] == 2
        count(stack)
        clock.milliseconds += PROPAGATION_WAIT
        assert upkeep.page() == (200, {"m1": 14})


def test_deleted_boards_cost_the_list_and_the_audits_nothing(engine: Any, clock: ManualClock) -> None:
    queries: list[dict[str, Any]] = []
    engine.before.append(lambda operation, request: queries.append(request) if operation == "Query" else None)

    def work(stack: Stack) -> tuple[int, int]:
        clock.milliseconds += DAY
        queries.clear()
        assert stack.get("/boards", limit=1)[1]["boards"] == [{"board": "b-z"}]
        listed = len(queries)
        assert finish(stack, "audits", "next", read_units=10_000)["done"]
        return listed, len(queries)

    with running(engine, clock, GLOB) as stack:
        fill(stack, "b-z")
        before = work(stack)
        for number in range(8):
            fill(stack, f"b-{number}")
            finish(stack, "delete", board=f"b-{number}")
            project(stack)
        assert work(stack) == before


@pytest.mark.parametrize("deleted_by", ["this version", "0.2"])
def test_a_deleted_board_that_comes_back_goes_on_with_its_generations(
    engine: Any, clock: ManualClock, deleted_by: str
) -> None:
    def records() -> dict[str, tuple[int, int]]:
        found = (row for row in rows(engine, "Scores") if row["pk"]["S"] in ("#boards", "#deleted"))
        return {row["pk"]["S"]: (int(row["v"]["N"]), orjson.loads(row["d"]["S"])["generation"]) for row in found}

    with running(engine, clock, DAYS) as stack:
        upkeep = Upkeep(stack)
        for life in (1, 2):
            upkeep.projected("m1", life)
            finish(stack, "delete", board="b")
            project(stack)
            if deleted_by == "0.2":
                (tombstone,) = (row for row in rows(engine, "Scores") if row["pk"]["S"] == "#deleted")
                engine.delete_item(TableName="Scores", Key={"pk": tombstone["pk"], "sk": tombstone["sk"]})
                engine.put_item(TableName="Scores", Item={**tombstone, "pk": {"S": "#boards"}})
                assert stack.get("/boards")[1]["boards"] == []
            ((version, generation),) = records().values()
            assert generation == life
            clock.milliseconds += PROPAGATION_WAIT
        upkeep.totals.clear()
        upkeep.projected("m1", 4)
        assert records()["#boards"] == (version + 1, generation)
        assert upkeep.page() == (200, {"m1": 4})


def test_all_boards_that_match_are_rebuilt_side_by_side(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, GLOB + GLOB.replace("b-*", "c")) as stack:
        fill(stack, "b-1", "b-2", "b-3", "c")
        answers = [*calls(stack, "rebuild", board="b-*")]
        again = call(stack, "rebuild", board="b-*", cursor=answers[-1]["cursor"])

    assert [answer["wait"] for answer in answers] == [180.0, 180.0, 180.0, 0.0]
    assert [answer["boards_done"] for answer in answers] == [0, 0, 0, 3]
    assert (again["done"], again["boards"]) == (True, 3)
    assert sorted(entries(engine)) == ["b-1#G0Pa~1", "b-2#G0Pa~1", "b-3#G0Pa~1", "c#G0Pa"]


def test_a_board_that_cannot_be_written_holds_up_no_other(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, GLOB) as stack:
        fill(stack, "b-1", "b-2", "b-3")
        with before(engine, throttle, "PutItem", "'sk': {'S': 'b-1'}"):
            answers = [call(stack, "rebuild", board="b-*", seconds=60)]
            for _ in range(4):
                clock.milliseconds += PROPAGATION_WAIT
                answers.append(call(stack, "rebuild", board="b-*", cursor=answers[-1]["cursor"], seconds=60))

    assert [(answer["done"], answer["boards_done"]) for answer in answers[-2:]] == [(False, 2), (False, 2)]
    (problem,) = answers[-1]["problems"]
    assert problem["board"] == "b-1"
    assert "ThrottlingException" in problem["why"]


# ---- members that others keep writing, and a store that is slow


OTHER: Final = '[boards."b"]\nmembers = "registered"\nmetrics.other = { aggregate = "sum", windows = ["all"] }\n'
POINTS: Final = OTHER.replace("metrics.other", "metrics.points")
"""With it, a rebuild has to write every registered member: it gives each a 0 that is ranked."""
NAMES: Final = [f"m{number:03}" for number in range(130)]
CALL: Final = 0.01
"""Seconds of one call."""


def test_a_job_whose_clock_is_behind_takes_no_members_clock_back(engine: Any, clock: ManualClock) -> None:
    """Guarantee 2: an item's clock never goes back, whoever writes the item. A rebuild writes it, and a deletion."""

    def clock_of_item() -> int:
        (item,) = (row for row in rows(engine, "Scores") if row["pk"]["S"].startswith("b#"))
        return int(item["t"]["N"])

    now = clock.milliseconds
    clock.milliseconds = ahead = now + DAY
    with running(engine, clock, OTHER) as stack:
        assert stack.put("/boards/b/member", id="m")[0] == 200
    clock.milliseconds = now
    with running(engine, clock, POINTS) as stack:
        finish(stack, "rebuild", board="b")
        assert stack.get("/boards/b/points/all")[1]["total"] == 1
        assert clock_of_item() == ahead
        finish(stack, "delete", board="b")
        assert clock_of_item() == ahead + 1  # a removal is later than all that the item counted


class Busy:
    """Others write some of the members just before a job does. They conflict with it, or change them."""

    def __init__(self, engine: Any, clock: ManualClock, members: Collection[str], *, are_changed: bool) -> None:
        self.engine, self.clock, self.members, self.are_changed = engine, clock, set(members), are_changed
        self.calls, self.latest = 0, float("inf")
        engine.before.append(self._before)

    def continue_job(self, stack: Stack, task: str, seconds: float) -> dict[str, Any]:
        """Continue the job for some seconds. A call that began in time may end later."""
        self.calls, self.latest = 0, self.clock.monotonic() + seconds + 2 * CALL
        return call(stack, task, board="b", seconds=seconds)

    def _before(self, operation: str, request: dict[str, Any]) -> None:
        if operation in ("UpdateItem", "Scan"):  # Of others
            return
        self.calls += 1
        self.clock.sleep(CALL)
        assert self.clock.monotonic() < self.latest, "it goes on after the deadline"
        puts = [action.get("Put", {"Item": {}})["Item"] for action in request.get("TransactItems", ())]
        busy = [put.get("sk", {"S": ""})["S"] in self.members for put in puts]
        if self.are_changed:
            for put in compress(puts, busy):
                more = {"UpdateExpression": "ADD v :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
                self.engine.update_item(TableName="Scores", Key={name: put[name] for name in ("pk", "sk")}, **more)
        elif any(busy):
            raise cancelled(["TransactionConflict" if is_busy else "None" for is_busy in busy])

    def undone(self, task: str) -> set[str]:
        """The members that a job has not removed, or not registered and placed."""
        images = [decode_image(row) for row in rows(self.engine, "Scores") if row["pk"]["S"] != "#boards"]
        placed = entries(self.engine).get("b#G0Pa~1", {})
        done = {one.member for one in images if (one.removed if task == "delete" else one.values)}
        return {one.member for one in images} - (done if task == "delete" else done & placed.keys())


@pytest.mark.parametrize(
    ("task", "after", "members", "are_changed", "seconds"),
    [
        ("delete", "announced", NAMES, False, 5),
        ("delete", "announced", NAMES[::60], False, 60),
        ("delete", "announced", NAMES[::60], True, 60),
        ("rebuild", "switched", NAMES, False, 5),
        ("rebuild", "switched", NAMES[::60], False, 60),
    ],
)
def test_busy_members_hold_up_no_others_until_the_deadline_and_the_job_goes_on_at_the_next_call(
    engine: Any,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
    task: str,
    after: str,
    members: list[str],
    are_changed: bool,
    seconds: int,
) -> None:
    with running(engine, clock, OTHER) as stack:
        for name in NAMES:
            assert stack.put("/boards/b/member", id=name)[0] == 200
        project(stack)
    monkeypatch.setattr("random.random", lambda: 0.5)  # how long it waits between tries
    with running(engine, clock, POINTS) as stack:
        clock.milliseconds += round(call(stack, task, board="b")["wait"] * 1000)
        busy = Busy(engine, clock, members, are_changed=are_changed)
        with pytest.raises(StoreUnavailableError):
            busy.continue_job(stack, task, seconds)

        assert 10 < busy.calls < 0.9 * seconds / CALL, "it waits between its tries"
        assert busy.undone(task) == set(members)
        busy.members.clear()
        assert busy.continue_job(stack, task, 60)["phase"] == after
        busy.latest = float("inf")
        project(stack)
        assert busy.undone(task) == set()


def test_on_a_slow_store_each_call_ends_before_its_functions_time_and_the_next_one_goes_on(
    engine: Any, clock: ManualClock
) -> None:
    """One part of a rolling window is hundreds of writes, which take longer than what a function keeps to answer."""
    phases, ends = list[str](), 0.0

    def slow() -> None:
        clock.sleep(0.1)
        assert clock.monotonic() < ends, "its function's time is over"

    with running(engine, clock, ALL.replace('"all"', '"all", "last-30-days"')) as stack:
        upkeep = Upkeep(stack)
        for number in range(300):
            upkeep.event(f"m{number}", number % 100)
            clock.milliseconds += DAY // 12
        project(stack)
        page = upkeep.page("last-30-days")
        while not phases or phases[-1]:
            ends = clock.monotonic() + 120 + REPORTING_RESERVE
            with before(engine, slow):
                answer = call(stack, "rebuild", board="b", seconds=120)
            clock.milliseconds += round(answer["wait"] * 1000)
            phases.append(answer["phase"])
        assert 1 < phases.count("placing") < 20
        assert upkeep.page("last-30-days") == page


def test_members_too_large_for_one_transaction_are_registered_in_several(engine: Any, clock: ManualClock) -> None:
    """Each item has 45 KB of days of a metric that is gone, with the longest tie keys."""
    days = [f"z0ad{day}" for day in range(10_000, 10_085)]
    image = replace(new_image("b", "", clock()), values=dict.fromkeys(days, 1), tie_keys=dict.fromkeys(days, "x" * 520))
    with running(engine, clock, OTHER) as stack:
        assert stack.put("/boards/b/member", id="m")[0] == 200
    engine.load("Scores", [encode_image(replace(image, member=name)) for name in NAMES])
    with running(engine, clock, POINTS) as stack:
        finish(stack, "rebuild", board="b")
        assert stack.get("/boards/b/points/all")[1]["total"] == 1 + len(NAMES)


# ---- changed definitions: old and new functions run side by side, and old numbers stay


EARLIER: Final = "2026-11-21T08:00:00Z"
LATER: Final = "2026-11-21T10:00:00Z"


def points(aggregate: str, ties: str = "member") -> str:
    return f'[boards."b"]\nmetrics.points = {{ aggregate = "{aggregate}", ties = "{ties}", windows = ["all"] }}\n'


def count_points(engine: Any, clock: ManualClock, boards: str, at: str = LATER, **metrics: int) -> Image:
    """Write an event under a definition; returns the member's item."""
    with running(engine, clock, boards) as stack:
        write(stack, [{"id": str(next(NUMBERS)), "board": "b", "member": "m", "at": at, "metrics": metrics}])
    image = Scores(engine, "Scores", "Receipts", clock_of(clock)).image(("b", "m"))
    assert image is not None
    return image


@pytest.mark.parametrize("beside", [{}, {"best": 1}], ids=["added", "rewritten"])
@pytest.mark.parametrize(("aggregate", "later", "total"), [("max", 12, 12), ("sum", 2, 12)])
def test_what_changed_while_nobody_kept_marks_is_not_dated_by_the_mark_before(
    engine: Any, clock: ManualClock, aggregate: str, later: int, total: int, beside: dict[str, int]
) -> None:
    """The tie key of the 10 does not apply to the 12, which has none."""
    best = 'metrics.best = { aggregate = "max", windows = ["all"] }\n'
    count_points(engine, clock, points(aggregate, "first") + best, EARLIER, points=10)
    image = count_points(engine, clock, points(aggregate) + best, LATER, points=later, **beside)
    assert (list(image.values.values()), dict(image.tie_keys)) == ([total, *beside.values()], {})


def test_an_equal_best_changes_nothing_where_marks_are_left_over(engine: Any, clock: ManualClock) -> None:
    count_points(engine, clock, points("max", "first"), points=10)
    images = [count_points(engine, clock, points("max"), points=10) for _ in range(3)]
    assert images[0] == images[2]
