"""Boards that end: exact to the instant, whatever DynamoDB has deleted, and never old numbers under the name."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pkgutil import resolve_name
from random import Random
from typing import Any, Final

import pytest

from standings.domain.errors import NotFoundError
from standings.maintain import settlement
from standings.stores import StoreUnavailableError
from tests.support.aws.stack import ManualClock, Stack, announce, deliver, project, running
from tests.support.awslambda.context import Context
from tests.support.builders.checks import rows
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.thoroughness import seeds

SECOND: Final = 1000
DAY: Final = 24 * 60 * 60 * SECOND
BEGAN: Final = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * SECOND)
TOML: Final = """
[boards."week-*"]
expires = "20 days"
settle = ["week"]
prizes.week = [{ ranks = "1", name = "gold", metric = "points" }]
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


def settled(stack: Stack) -> list[tuple[str, str]]:
    """Run the schedule of settlements for one turn: the boards and periods that it has settled."""
    told: list[dict[str, Any]] = []
    for _ in range(20):
        answer = maintained(stack, "settlements", next={})
        told += answer["rankings"]
        if answer["done"]:
            return [(one["board"], one["period"]) for one in told if one["settled"]]
    raise AssertionError(told)


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
    assert stack.get("/members/boards", id="a")[1]["boards"] == [{"board": "week-1", "hidden": False}]
    assert post(stack, event(4, "a", 1)) == []
    clock.milliseconds += 1
    assert {name: problem(answer) for name, answer in reads(stack, "week-1").items()} == dict.fromkeys(
        reads(stack, "week-1"), (404, "expired")
    )
    assert stack.get("/boards")[1]["boards"] == [{"board": "b"}]
    refused = "board: 'week-1' ended at 2026-12-11T10:15:00.000Z, and takes no more events"
    shares = [event(0, "a", 1), event(0, "z", 1, "b")]
    both = {"id": "e6", "updates": [{name: one[name] for name in ("board", "member", "metrics")} for one in shares]}
    # An event that counted is delivered once more.
    late = datetime.fromtimestamp((BEGAN + 20 * DAY - 1) / SECOND, UTC).isoformat()
    sent = [event(5, "a", 1), both, event(4, "a", 1, at=late)]
    tried = stack.post("/events", [{"at": late, **one} for one in sent], dry_run="true")[1]["results"]
    assert [(one["status"], one["detail"]) for one in tried] == [("refused", refused)] * 2 + [("known", None)]
    assert post(stack, *sent) == [refused, refused]
    assert stack.get("/boards/b/points/all/rank", member="z")[1]["score"] == 1
    for answer in (
        stack.put("/boards/week-1/member", id="c"),
        stack.delete("/boards/week-1/member", id="a"),
        stack.delete("/boards/week-1"),
    ):
        assert problem(answer) == (404, "expired")
    assert stack.get("/members/boards", id="a")[1]["boards"] == []
    assert maintained(stack, "boards", show={"boards": ["week-1"]})["boards"][0]["state"] == "ended"
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


def test_what_is_settled_stays_and_nothing_more_is_settled_announced_or_exported(
    stack: Stack, clock: ManualClock
) -> None:
    """The first week is settled and its prize won. The second is final before the end, and nobody settles it."""
    assert post(stack, event(1, "a", 5), event(2, "b", 3)) == []
    clock.milliseconds = BEGAN + 5 * DAY
    assert post(stack, event(3, "b", 9)) == []
    assert announce(stack) != []
    clock.milliseconds = BEGAN + 10 * DAY
    assert settled(stack) == [("week-1", "2026-11-16")]
    assert [(one["member"], one["prize"]) for one in stack.bus.events if one["type"] == "Prize Won"] == [("a", "gold")]
    cursor = stack.get("/boards/week-1/points/all", limit=1)[1]["next"]
    assert post(stack, event(4, "a", 50)) == []  # Its announcement is still to come
    clock.milliseconds = BEGAN + 20 * DAY
    files, events = dict(stack.bucket.results), len(stack.bus.events)
    assert announce(stack) == []
    assert settled(stack) == []
    (second,) = maintained(stack, "settle", board="week-1", window="week", period="2026-11-23")["rankings"]
    assert second["why"] == "there is no such board, or it is being deleted, or it has ended"
    assert problem(stack.get("/boards/week-1/points/all", limit=1, cursor=cursor)) == (404, "expired")
    assert (stack.bucket.results, len(stack.bus.events)) == (files, events)
    (listed,) = maintained(stack, "settlements", list={"board": "week-1"})["results"]
    assert (listed["period"], listed["members"]) == ("2026-11-16", 2)
    # The next board of the name has other weeks, and leaves these files as they are.
    clock.milliseconds = BEGAN + 110 * DAY
    assert post(stack, event(5, "z", 1)) == []
    clock.milliseconds = BEGAN + 123 * DAY
    assert settled(stack) == [("week-1", "2027-03-08")]
    assert {key: body for key, body in stack.bucket.results.items() if key in files} == files


@pytest.mark.parametrize("by", ["the schedule", "a cursor", "a command"])
def test_prize_events_that_were_not_put_before_the_end_are_put_after_it(
    stack: Stack, clock: ManualClock, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An outage of EventBridge: gold was taken, the rest was not. Each event is put once, and no other week is."""
    assert post(stack, event(1, "a", 5), event(2, "b", 5)) == []
    clock.milliseconds = BEGAN + 10 * DAY
    monkeypatch.setattr(settlement, "PUT_TIMEOUT_S", 0)
    stack.bus.fails = lambda detail: None if detail.get("member") == "a" else "ServiceUnavailable"
    with pytest.raises(StoreUnavailableError, match="events were not taken"):
        settled(stack)
    clock.milliseconds = BEGAN + 20 * DAY
    stack.bus.fails = lambda _: None
    for table in ("Scores", "Rankings"):
        stack.dynamodb.expire(table, (BEGAN + 21 * DAY) / SECOND + 1)
    week: dict[str, Any] = {"board": "week-1", "window": "week", "period": "2026-11-16"}
    if by == "the schedule":
        clock.milliseconds += DAY - 1
        assert settled(stack) == [("week-1", "2026-11-16")]
    else:
        if by == "a command":
            clock.milliseconds += DAY
            assert settled(stack) == []  # The schedule gives up.
            clock.milliseconds += 88 * DAY
        cursor = {"metric": "points", "period": "2026-11-16", "at": {"stage": "events"}}
        (told,) = maintained(stack, "settle", **week, cursor=cursor if by == "a cursor" else None)["rankings"]
        assert (told["settled"], told["winners"]) == (True, {"gold": ["a", "b"]})
    assert [(one["type"], one.get("member")) for one in stack.bus.events] == [
        ("Prize Won", "a"),
        ("Prize Won", "b"),
        ("Period Settled", None),
    ]
    events = list(stack.bus.events)
    assert settled(stack) == []
    assert maintained(stack, "settle", **week)["rankings"][0]["before"]
    assert stack.bus.events == events
    clock.milliseconds = BEGAN + 110 * DAY
    with pytest.raises(
        ValueError,
        match="no event; `standings results week-1` has what was settled of an earlier board of this name, if any",
    ):
        maintained(stack, "settle", **week)
    (listed,) = maintained(stack, "settlements", list={"board": "week-1"})["results"]
    assert listed["winners"] == {"gold": ["a", "b"]}


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
    assert maintained(stack, "merge", board=board, old="f", new="e")["merged"]
    project(stack)
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
    with pytest.raises(NotFoundError, match="'f'"):
        maintained(stack, "merge", board=board, old="f", new="e")
    assert maintained(stack, "audit", board=board)["drift"] == 0
    assert all(not one["left"] for one in announce(stack))
    engine.expire("Scores", clock() / SECOND + 1)
    project(stack)
    assert maintained(stack, "audit", board=board)["drift"] == 0


def test_expires_that_is_added_or_taken_out_holds_for_boards_that_begin_later(
    engine: Engine, clock: ManualClock
) -> None:
    """As after an upgrade from 0.3. TTL has deleted the items of the board that ended by the time its name is free."""
    without = TOML.replace('expires = "20 days"\n', "")
    with running(engine, clock, without) as stack:
        assert post(stack, event(1, "a", 5, "total-1")) == []
    with running(engine, clock, TOML) as stack:
        assert post(stack, event(2, "a", 1, "total-1"), event(3, "a", 7, "total-2")) == []
        assert stack.get("/boards/total-1")[1]["expires_at"] is None
    clock.milliseconds = BEGAN + 110 * DAY
    for table in ("Scores", "Rankings"):
        engine.expire(table, clock() / SECOND + 1)
    with running(engine, clock, without) as stack:
        assert stack.get("/boards/total-1/points/all/rank", member="a")[1]["score"] == 6
        assert "expires_at" not in stack.get("/boards/total-2")[1]
        assert post(stack, event(4, "a", 2, "total-2")) == []
        assert stack.get("/boards/total-2/points/all/rank", member="a")[1]["score"] == 2


class Lives:
    """Random steps on boards that end, through several lives of each name, beside a model that is a dictionary."""

    def __init__(self, stack: Stack, engine: Engine, clock: ManualClock, seed: int) -> None:
        self.stack, self.engine, self.clock, self.rng = stack, engine, clock, Random(seed)
        self.ends: dict[str, int] = {}
        self.scores: dict[str, dict[str, int]] = {}
        self.number = 0

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.rng.choice((self.post, self.post, self.post, self.edit, self.pass_time, self.look))()
        self.look()

    def has_ended(self, board: str) -> bool | None:
        """Whether a board has ended; None if it has not begun, or its name is free again."""
        end = self.ends.get(board)
        return None if end is None or self.clock() >= end + 90 * DAY else self.clock() >= end

    def begin(self, board: str) -> dict[str, int]:
        if self.has_ended(board) is None:
            self.ends[board], self.scores[board] = self.clock() + 20 * DAY, {}
        return self.scores[board]

    def post(self) -> None:
        board, members = self.rng.choice(NAMES), self.rng.choices("abcde", k=3)
        events = []
        for member in members:
            self.number += 1
            events.append(event(self.number, member, self.rng.randint(1, 300), board))
        if self.has_ended(board):
            assert len(post(self.stack, *events)) == len(events)
            return
        scores = self.begin(board)
        assert post(self.stack, *events) == []
        for one in events:
            scores[one["member"]] = scores.get(one["member"], 0) + one["metrics"]["points"]

    def edit(self) -> None:
        board, member = self.rng.choice(NAMES), self.rng.choice("abcde")
        ended, there = self.has_ended(board), member in self.scores.get(board, {})
        status, _ = self.stack.delete(f"/boards/{board}/member", id=member)
        assert status == (204 if there and ended is False else 404)
        if status == 204:
            del self.scores[board][member]
        project(self.stack)

    def pass_time(self) -> None:
        """Let time go on, sometimes to just before or after an instant, and TTL delete some of what it may."""
        instants = [one + more for end in self.ends.values() for one in (end, end + 90 * DAY) for more in (-1, 0, DAY)]
        later = [one for one in instants if one > self.clock()]
        choices = [self.clock() + self.rng.randint(1, 3 * DAY), self.clock() + self.rng.randint(1, 3 * DAY), *later[:3]]
        self.clock.milliseconds = self.rng.choice(choices)
        for table in ("Scores", "Rankings", "Receipts"):
            self.engine.expire(table, self.clock() / SECOND, lambda: self.rng.random() < 0.4)
        project(self.stack)

    def look(self) -> None:
        listed = [one["board"] for one in self.stack.get("/boards")[1]["boards"]]
        assert listed == sorted(board for board in self.ends if self.has_ended(board) is False)
        for board in NAMES:
            path, scores = f"/boards/{board}/points/all", self.scores.get(board, {})
            if self.has_ended(board):
                assert problem(self.stack.get(path)) == (404, "expired")
                continue
            shown = self.stack.entries(path)
            living = {} if self.has_ended(board) is None else scores
            expected = sorted(living.items(), key=lambda one: (-one[1], one[0]))
            assert [(one["member"], one["score"]) for one in shown] == expected
            if shown:
                assert self.stack.get(f"{path}/rank", member=shown[-1]["member"])[1]["rank"] <= len(shown)
                assert maintained(self.stack, "audit", board=board, grace_seconds=0)["drift"] == 0


NAMES: Final = ("week-1", "total-1")


@pytest.mark.parametrize("seed", seeds(4, 300))
def test_lives_of_a_name_never_meet(stack: Stack, engine: Engine, clock: ManualClock, seed: int) -> None:
    Lives(stack, engine, clock, seed).run(60)


def _never(*_: Any, **__: Any) -> bool:
    return False


def _no_generation(original: Any) -> Any:
    def new_record(*given: Any) -> Any:
        return replace(original(*given), generation=0, written=(0,), latest=0)

    return new_record


RULES: Final[dict[str, tuple[str, Any]]] = {
    "an item that has expired counts as none": (
        "standings.aws.dynamodb.scores.decode_image",
        lambda original: lambda item, keys=None, now=None: original(item, keys),  # noqa: ARG005
    ),
    "nothing is added to an item that has expired": (
        "standings.aws.dynamodb.scores._NOT_EXPIRED",
        lambda _: "attribute_exists(t)",
    ),
    "an item that has expired is written as a whole, and nothing added": (
        "standings.domain.members.Image.is_left_over",
        lambda _: property(_never),
    ),
    "a board that begins has a new generation": ("standings.catalog._new_record", _no_generation),
    "the end is looked at": ("standings.domain.coverage.BoardRecord.has_ended", lambda _: _never),
    "90 days later the name is free": ("standings.domain.coverage.BoardRecord.is_gone", lambda _: _never),
    "items expire": ("standings.domain.coverage.BoardRecord.expiry", lambda _: property(lambda _: None)),
}


@pytest.mark.thorough
@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_needed(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it, some lives of a name meet."""
    where, change = RULES[rule]
    monkeypatch.setattr(where, change(resolve_name(where)))
    for seed in range(40):
        engine, clock = Engine(), ManualClock(BEGAN)
        create_tables(engine)
        with running(engine, clock, TOML) as stack:
            try:
                Lives(stack, engine, clock, seed).run(60)
            except (AssertionError, KeyError, StoreUnavailableError):
                return
    pytest.fail(f"40 schedules without this went well: {rule}")
