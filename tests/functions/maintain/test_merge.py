"""Two ids of one person become one member: what both had counts for one, exactly once, whatever happens meanwhile.

The state machine and the schedules of faults merge members of every board.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from standings.domain.errors import InvalidArgumentError, NotFoundError
from standings.domain.windows import DAY, MINUTE
from standings.stores import StoreUnavailableError
from tests.support.aws.stack import ManualClock, Stack, apply, deliver, project, running, write
from tests.support.builders.maintenance import before, call, calls, finish
from tests.support.dynamodb.requests import metered
from tests.support.faults.faulty_client import Faulty, lost_answer, passes

BOARDS = """
[boards."*"]
late = "1 day"
settle = ["day"]
metrics.km = { aggregate = "sum", precision = 1, windows = ["all", "day", "last-3-days"], ties = "first" }
metrics.lift = { aggregate = "max", windows = ["all", "day"], notes = true, tie_breaks = ["weight"] }
metrics.weight = { with = "lift", order = "ascending" }
metrics.level = { aggregate = "last", windows = ["all"] }
[boards."club"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
"""
NOW: Final = 1_795_256_100_000


@pytest.fixture
def client(engine: Any) -> Faulty:
    return Faulty(metered(engine))


@pytest.fixture
def stack(client: Faulty, clock: ManualClock) -> Iterator[Stack]:
    with running(client, clock, BOARDS) as deployed:
        yield deployed


def event(number: int, member: str, at: str, note: str = "", **metrics: float) -> dict[str, Any]:
    said = {"id": f"e{number}", "board": "b", "member": member, "at": at, "metrics": metrics}
    return {**said, "note": {"where": note}} if note else said


TRAINED: Final = [
    event(1, "old", "2026-11-21T08:00:00Z", "Ulm", km=3, lift=100, weight=80, level=4),
    event(2, "old", "2026-11-20T09:00:00Z", "Bonn", km=2.5, lift=120, weight=85),
    event(3, "new", "2026-11-21T09:00:00Z", "Kiel", km=4, lift=100, weight=70, level=2),
    event(4, "ann", "2026-11-21T10:00:00Z", km=9.5),
]


def merge(stack: Stack, old: str = "old", new: str = "new", board: str = "b") -> dict[str, Any]:
    answer = call(stack, "merge", board=board, old=old, new=new)
    project(stack)
    return answer


def test_all_that_one_had_counts_for_the_other_in_every_period(stack: Stack) -> None:
    apply(stack, TRAINED)
    assert merge(stack) == {
        "done": True,
        "board": "b",
        "old": "old",
        "new": "new",
        "merged": True,
        "hidden": False,
        "merged_at": NOW + 1,
    }
    expected: dict[str, list[tuple[str, float]]] = {
        "km/all": [("new", 9.5), ("ann", 9.5)],  # whose latest event is earlier
        "km/day": [("ann", 9.5), ("new", 7)],
        "km/last-3-days": [("new", 9.5), ("ann", 9.5)],
        "lift/all": [("new", 120)],
        "lift/day": [("new", 100)],
        "level/all": [("new", 2)],
    }
    listed = {
        name: stack.get(f"/boards/b/{name}", notes="true" if "lift" in name else None)[1]["entries"]
        for name in expected
    }
    assert {name: [(one["member"], one["score"]) for one in of] for name, of in listed.items()} == expected
    bests = [(one["tie_breaks"]["weight"], one["note"]["where"]) for one in listed["lift/all"] + listed["lift/day"]]
    assert bests == [(85, "Bonn"), (70, "Kiel")]
    assert [one["score"] for one in stack.entries("/boards/b/km/day", period="2026-11-20")] == [2.5]
    assert stack.get("/boards/b/member", id="old")[0] == 404
    assert finish(stack, "audit", board="b")["drift"] == 0
    finish(stack, "rebuild", board="b")
    assert stack.entries("/boards/b/km/all") == listed["km/all"]
    assert finish(stack, "audit", board="b")["drift"] == 0


def test_what_it_had_stays_known_and_what_comes_later_is_its_own(stack: Stack) -> None:
    apply(stack, TRAINED)
    merge(stack)
    stack.clock.milliseconds += 2 * MINUTE
    apply(stack, [*TRAINED, event(5, "old", "2026-11-21T10:00:00Z", km=1)])
    assert [(one["member"], one["score"]) for one in stack.entries("/boards/b/km/all")][::-2] == [
        ("old", 1),
        ("new", 9.5),
    ]
    # It comes back, and is merged once more.
    assert merge(stack)["merged"]
    assert [one["score"] for one in stack.entries("/boards/b/km/all")] == [10.5, 9.5]
    assert stack.dead_letters.reasons() == []


def test_a_merge_is_done_once(stack: Stack) -> None:
    apply(stack, TRAINED)
    first = merge(stack)
    assert merge(stack) == {**first, "merged": False}
    assert [one["score"] for one in stack.entries("/boards/b/km/all")] == [9.5, 9.5]


@pytest.mark.parametrize(("hidden", "of"), [(["old"], []), (["new"], []), ([], ["new"])])
def test_the_other_one_is_registered_and_hidden_if_either_was(stack: Stack, hidden: list[str], of: list[str]) -> None:
    for member in ("old", *hidden, *of):
        stack.put("/boards/club/member", {"hidden": member in hidden}, id=member)
    stack.put("/members", {"name": "Ada"}, id="old")
    project(stack)
    assert merge(stack, board="club")["hidden"] is bool(hidden)
    assert stack.get("/boards/club/member", id="new")[1]["hidden"] is bool(hidden)
    assert [one["member"] for one in stack.entries("/boards/club/points/all")] == ([] if hidden else ["new"])
    assert stack.get("/members", id="old")[1]["name"] == "Ada"  # profiles are beside the boards


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        ({"old": "ann", "new": "ann"}, InvalidArgumentError, "new: expected another member than old, got the same one"),
        ({"old": "nobody", "new": "ann"}, NotFoundError, "board 'b' has no member 'nobody'"),
        ({"old": "ann", "new": ""}, InvalidArgumentError, "new: expected 1 to 256 bytes of UTF-8, got 0"),
        ({"new": "ann"}, InvalidArgumentError, "old: expected 1 to 256 bytes"),
        ({"old": "ann", "new": "x", "board": "a/b"}, NotFoundError, "expected a board name"),
        ({"old": "ann", "new": "x", "board": "none"}, NotFoundError, "board 'none' has no member 'ann'"),
        (
            {"old": "far", "new": "farther"},
            InvalidArgumentError,
            r"new: expected members whose numbers fit together: km in all would go beyond ±\(2\^53 - 1\) units",
        ),
    ],
)
def test_what_cannot_be_merged_is_refused_and_nothing_is_written(
    stack: Stack, engine: Any, given: dict[str, Any], kind: type[Exception], said: str
) -> None:
    far = [event(n, name, "2026-11-21T08:00:00Z", km=500_000_000_000_000) for n, name in ((8, "far"), (9, "farther"))]
    apply(stack, [*TRAINED, *far])
    written = engine.stream("Scores")
    with pytest.raises(kind, match=said):
        call(stack, "merge", **{"board": "b", **given})
    assert engine.stream("Scores") == written
    assert stack.get("/boards", prefix="none")[1]["boards"] == []


def one_more(stack: Stack, member: str) -> Callable[[], None]:
    """An event of a member, the first time that it is called."""
    left = [event(7, member, "2026-11-21T10:00:00Z", km=1)]
    return lambda: deliver(stack, [left.pop()]) if left else None


@pytest.mark.parametrize("member", ["old", "new"])
def test_events_between_its_reads_and_its_writes_count(stack: Stack, engine: Any, member: str) -> None:
    apply(stack, TRAINED)
    with before(engine, one_more(stack, member), "TransactWriteItems", "'u': {'N'"):
        merge(stack)
    first = stack.entries("/boards/b/km/all")[0]
    assert (first["member"], first["score"]) == ("new", 10.5)


def test_an_answer_that_was_lost_does_not_merge_twice(stack: Stack, client: Faulty) -> None:
    apply(stack, TRAINED)
    client.steps.extend([passes] * 3 + [lost_answer] * 12)
    assert merge(stack)["merged"]
    assert [one["score"] for one in stack.entries("/boards/b/km/all")] == [9.5, 9.5]


def test_it_waits_no_longer_than_others_do(stack: Stack, engine: Any) -> None:
    """Somebody writes the member before each try."""
    apply(stack, TRAINED)
    numbers = iter(range(100, 10_000))

    def posts() -> None:
        deliver(stack, [event(next(numbers), "new", "2026-11-21T10:00:00Z", km=1)])

    with before(engine, posts, "TransactWriteItems", "'u': {'N'"), pytest.raises(StoreUnavailableError):
        merge(stack)


def test_it_costs_what_two_rewritten_items_cost(stack: Stack, client: Faulty) -> None:
    """A transaction costs two write units for each KB of an item; reads are those of both items and of the record."""
    apply(stack, TRAINED)
    start = client.client.snapshot()
    call(stack, "merge", board="b", old="old", new="new")
    spent = client.client.snapshot() - start
    assert (spent.total.write, spent.total.read) == (4, 3)


def test_a_final_period_changes_and_its_settled_files_stay(stack: Stack) -> None:
    apply(stack, TRAINED)
    stack.clock.milliseconds += DAY * 2
    settled = finish(stack, "settle", board="b", window="day", metric="km", period="2026-11-21")["rankings"][0]
    files = dict(stack.bucket.results)
    merge(stack)
    assert settled["summary"]["members"] == 3
    assert stack.bucket.results == files
    answer = stack.get("/boards/b/km/day", period="2026-11-21")[1]
    assert (answer["state"], answer["total"]) == ("final", 2)


def test_numbers_of_another_definition_are_not_mixed(stack: Stack, client: Faulty, clock: ManualClock) -> None:
    """A newer definition counts a metric that the maintenance function does not know yet; an older one is gone."""
    apply(stack, TRAINED)
    with running(client, clock, BOARDS.replace("metrics.level", "metrics.grade")) as newer:
        newer.projected.update(stack.projected)
        write(newer, [event(5, "old", "2026-11-21T10:00:00Z", grade=3)])
        write(newer, [event(6, "ann", "2026-11-21T10:00:00Z", grade=3)])
        for new in ("ann", "new"):
            if new == "ann":
                with pytest.raises(InvalidArgumentError, match=r"numbers that this boards\.toml does not know"):
                    call(stack, "merge", board="b", old="old", new="ann")
            else:
                assert call(newer, "merge", board="b", old="old", new=new)["merged"]
        project(newer)
        assert newer.get("/boards/b/member", id="new")[1]["metrics"][-1]["score"] == 3


# ---- on all boards that the first one is in


def everywhere(stack: Stack, seconds: float = 800, **more: Any) -> list[dict[str, Any]]:
    """Merge on all boards; returns the answers."""
    answers = [*calls(stack, "merge", all_boards=True, old="old", new="new", seconds=seconds, **more)]
    project(stack)
    return answers


def spread(stack: Stack) -> None:
    """Old on five boards, on one of them hidden, and others without it."""
    for board, members in (("a", "old new"), ("b", "old"), ("c", "new ann"), ("d", "old ann"), ("e", "old new")):
        apply(stack, [{**event(n, one, "2026-11-21T08:00:00Z", km=3), "id": f"{board}{n}", "board": board}
                      for n, one in enumerate(members.split())])  # fmt: skip
    stack.put("/boards/club/member", {"hidden": True}, id="old")
    project(stack)


SPREAD: Final = ["a", "b", "club", "d", "e"]


def assert_merged_everywhere(stack: Stack) -> None:
    scores = {
        board: {one["member"]: one["score"] for one in stack.entries(f"/boards/{board}/km/all")} for board in "abcde"
    }
    assert scores == {
        "a": {"new": 6},
        "b": {"new": 3},
        "c": {"new": 3, "ann": 3},
        "d": {"new": 3, "ann": 3},
        "e": {"new": 6},
    }
    assert stack.get("/boards/club/member", id="new")[1]["hidden"]
    assert stack.get("/members/boards", id="old")[1]["boards"] == []


def test_on_all_boards_each_is_merged_once(stack: Stack) -> None:
    spread(stack)
    (answer,) = everywhere(stack)
    merged = [{"board": board, "hidden": board == "club"} for board in SPREAD]
    assert answer == {**answer, "merged": merged, "before": 0, "problems": [], "every_board": False, "done": True}
    assert_merged_everywhere(stack)
    for more in ({}, {"every_board": True}):
        (again,) = everywhere(stack, **more)
        assert (again["merged"], again["before"], again["every_board"]) == ([], 5, bool(more))
    assert_merged_everywhere(stack)


def test_a_task_that_ends_anywhere_goes_on(stack: Stack, engine: Any) -> None:
    """Each call has time for a board or two; and a board that it came to just before is in the second reading."""
    spread(stack)
    index = engine.table("Scores").indexes["boards"]
    assert stack.get("/members/boards", id="old")[1]["boards"]
    index.behind, index.clock = 9.0, stack.clock.monotonic
    apply(stack, [{**event(50, "old", "2026-11-21T08:00:00Z", km=1), "board": "new-one"}])
    with before(engine, lambda: stack.clock.sleep(1), "TransactWriteItems", "'u': {'N'"):
        answers = everywhere(stack, seconds=1.5)
    assert [one["board"] for answer in answers for one in answer["merged"]] == [*SPREAD, "new-one"]
    assert len(answers) > 3
    stack.clock.milliseconds += 10_000
    assert_merged_everywhere(stack)


def test_a_board_that_refuses_is_named_and_holds_up_no_other(stack: Stack, engine: Any) -> None:
    spread(stack)
    apply(
        stack,
        [
            {**event(60 + n, one, "2026-11-21T08:00:00Z", km=500_000_000_000_000), "board": "far"}
            for n, one in enumerate(("old", "new"))
        ],
    )
    numbers = iter(range(100, 10_000))

    def posts() -> None:
        deliver(stack, [{**event(next(numbers), "new", "2026-11-21T10:00:00Z", km=1), "board": "busy"}])

    apply(stack, [{**event(70, "old", "2026-11-21T08:00:00Z", km=1), "board": "busy"}])
    with before(engine, posts, "TransactWriteItems", "'u': {'N'", "'busy#"):
        (answer,) = everywhere(stack)
    assert [one["board"] for one in answer["merged"]] == SPREAD
    why = {problem["board"]: problem["why"] for problem in answer["problems"]}
    assert why.keys() == {"busy", "far"}
    assert why["busy"].endswith("stop what posts for them, then merge again")
    assert "km in all would go beyond" in why["far"]
    (again,) = everywhere(stack)
    assert ([one["board"] for one in again["merged"]], again["before"]) == (["busy"], 5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"old": "a", "new": "b"}, "merge: board is missing"),
        ({"old": "a", "new": "b", "board": "b", "all_boards": True}, "merge: board cannot go with all_boards"),
        ({"old": "a", "new": "b", "board": "b", "cursor": "x"}, "merge: board cannot go with all_boards"),
        ({"old": "a", "new": "a", "all_boards": True}, "new: expected another member than old"),
    ],
)
def test_what_is_no_such_task_is_refused(stack: Stack, given: dict[str, Any], said: str) -> None:
    with pytest.raises((ValueError, InvalidArgumentError), match=said):
        call(stack, "merge", **given)
