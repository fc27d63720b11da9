"""A final period is audited, written to files that a sort agrees with, and told of by events, each id once."""

import csv
import gc
import gzip
import io
import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any, Final
from unittest import mock

import pytest

from benchmarks.models.cost import settlements
from demo.embedded.stack import PROJECT
from standings.domain.errors import InvalidArgumentError
from standings.maintain import settlement
from standings.maintain.settled_files import ALL_SENT, Files
from standings.rankings.findings import AuditReads
from standings.stores import StoreUnavailableError
from tests.support.aws.stack import Stack, apply, project
from tests.support.builders.maintenance import before, call, calls, finish
from tests.support.builders.settling import leagues
from tests.support.builders.settling.leagues import (
    BOARD,
    DAY,
    FINAL,
    PREFIX,
    lines_in,
    lose_a_row,
    play,
    post,
    settle,
    settle_whole,
    sorted_lines,
    winners,
    won,
)

BOARDS: Final = leagues.BOARDS
EVENTS_PAGE: Final = PROJECT / "docs" / "how-to" / "seasons-and-prizes.md"
GONE: Final = FINAL + 39 * 86_400_000 - 5 * 60_000
"""When the day cannot be read any more."""


def play_until_final(stack: Stack, seed: int, board: str = BOARD) -> dict[str, float]:
    scores = play(stack, seed, board=board)
    stack.clock.milliseconds = FINAL
    return scores


@pytest.mark.parametrize("task", ["audit", "settle"])
def test_a_call_that_a_whole_rebuild_overtakes_reports_no_difference(stack: Stack, task: str) -> None:
    """The generation that the call reads is purged before it reads the rows."""
    scores = play_until_final(stack, 1)
    rebuilds = [partial(finish, stack, "rebuild", board=BOARD)]
    arguments: dict[str, Any] = (
        {"board": BOARD} if task == "audit" else {"board": BOARD, "window": "day", "period": DAY}
    )
    with before(stack.dynamodb, lambda: rebuilds and rebuilds.pop()(), "BatchGetItem", "'Rankings'"):
        answer = call(stack, task, **arguments)

    assert rebuilds == []
    (told,) = answer["boards"] if task == "audit" else answer["rankings"]
    assert (told["drift"], told["examples"]) == (0, [])
    if task == "settle":
        assert told["why"] == "the board was rebuilt or deleted meanwhile: try again"
        assert settle_whole(stack)["rankings"][0]["settled"]
        assert lines_in(stack.bucket.results) == sorted_lines(scores)
    else:
        again = finish(stack, "audit", board=BOARD, cursor=answer["cursor"])
        assert (answer["done"], again["drift"], again["boards"][0]["looked_at"]["members"]) == (False, 0, len(scores))


@pytest.mark.parametrize("part", [7, 41, 50_000])
def test_files_and_events_are_those_of_a_sort(stack: Stack, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "PART", part)
    scores = play_until_final(stack, 1)

    (told,) = settle_whole(stack)["rankings"]

    assert (told["settled"], told["why"]) == (True, None)
    assert lines_in(stack.bucket.results) == sorted_lines(scores)
    files = {key: gzip.decompress(body) for key, body in stack.bucket.results.items() if key.endswith(".gz")}
    tables = [files[key].decode() for key in sorted(files) if key.endswith(".csv.gz")]
    rows = [row for table in tables for row in csv.DictReader(io.StringIO(table))]
    assert [(int(row["rank"]), row["member"], float(row["score"])) for row in rows] == [
        tuple(line.values()) for line in sorted_lines(scores)
    ]
    assert len(tables) == -(-len(scores) // part)
    assert won(stack) == winners(scores)
    assert len(stack.bus.ids("Prize Won")) == len(winners(scores)) == len(set(stack.bus.ids("Prize Won")))
    raw = b"".join(files[key] for key in sorted(files) if key.endswith(".jsonl.gz"))
    (settled,) = [event for event in stack.bus.events if event["type"] == "Period Settled"]
    assert settled == {
        "source": "standings",
        "type": "Period Settled",
        "id": settled["id"],
        "stack": "standings",
        "board": BOARD,
        "metric": "points",
        "window": "day",
        "period": DAY,
        "members": len(scores),
        "digest": sha256(raw).hexdigest(),
        "bucket": "results",
        "prefix": PREFIX,
        "prizes": [
            {"name": name, "winners": sum(prize == name for prize, *_ in winners(scores))}
            for name in ("gold", "silver", "top-10")
        ],
    }
    assert stack.bus.events[-1] == settled
    rows = re.findall(r"^\| (`.*`) \| (.*) \| (.*) \|$", EVENTS_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for kind, event in (("Prize Won", stack.bus.events[0]), ("Period Settled", settled)):
        said = [name for names, *cells in rows if cells[kind != "Prize Won"] != "-" for name in names.split(", ")]
        assert sorted(said) == sorted(f"`{name}`" for name in event.keys() - {"source", "type"}), kind


def test_a_prize_by_ordinal_goes_to_a_position_of_the_list_so_of_equals_to_who_was_first(stack: Stack) -> None:
    for hour, (member, score) in enumerate((("eve", 9), ("dan", 5), ("ann", 5), ("bob", 5))):
        event = {"id": member, "board": "race-1", "member": member, "metrics": {"points": score}}
        apply(stack, [{**event, "at": f"{DAY}T{hour:02}:00:00Z"}])
    stack.clock.milliseconds = FINAL

    (told,) = settle_whole(stack, board="race-1")["rankings"]

    assert won(stack) == {
        ("gold", "eve", 1),
        *(("silver", member, 2) for member in ("dan", "ann")),
        *(("bronze", member, 2) for member in ("dan", "ann", "bob")),
        *(("top-75", member, rank) for member, rank in (("eve", 1), ("dan", 2), ("ann", 2))),
    }
    assert [prize["winners"] for prize in told["summary"]["prizes"]] == [1, 2, 3, 3]
    (points,) = stack.get("/boards/race-1")[1]["metrics"]
    assert [window.get("prizes") for window in points["windows"]] == [
        None,
        [
            {"name": "gold", "method": "ordinal", "ranks": "1"},
            {"name": "silver", "method": "ordinal", "ranks": "2-3"},
            {"name": "bronze", "method": "competition", "ranks": "2-3"},
            {"name": "top-75", "method": "ordinal", "percent": 75},
        ],
    ]


def test_files_and_events_have_tie_breaks_and_ranks_go_by_them(stack: Stack) -> None:
    played: dict[str, dict[str, float]] = {
        '","score":1': {"points": 6, "least": 2.5, "score": 1},
        "bob": {"points": 6, "least": 2.5, "score": 1},
        "cat": {"points": 6, "least": 2.5},
        "dan": {"points": 6, "score": 9},
        "eve": {"points": 7},
    }
    for member, metrics in played.items():
        apply(
            stack, [{"id": member, "board": "table-1", "member": member, "metrics": metrics, "at": f"{DAY}T12:00:00Z"}]
        )
    stack.clock.milliseconds = FINAL

    (told,) = settle_whole(stack, board="table-1")["rankings"]

    numbers = ((1, "eve", 7, None, 0), (2, '","score":1', 6, 2.5, 1), (2, "bob", 6, 2.5, 1), (4, "cat", 6, 2.5, 0))
    prefix = f"results/table-1/points/day/{DAY}/"
    assert lines_in(stack.bucket.results, prefix) == [
        {"rank": rank, "member": member, "score": score, "tie_breaks": {"least": least, "score": goals}}
        for rank, member, score, least, goals in (*numbers, (5, "dan", 6, None, 9))
    ]
    assert told["settled"]
    (table,) = (content for key, content in stack.bucket.results.items() if key.startswith(prefix) and ".csv" in key)
    read = [*csv.reader(io.StringIO(gzip.decompress(table).decode()))]
    assert read[:3] == [
        ["rank", "member", "score", "least", "tie_breaks.score"],
        ["1", "eve", "7", "", "0"],
        ["2", '","score":1', "6", "2.5", "1"],
    ]
    stack.clock.milliseconds = FINAL + 86_400_000
    settle_whole(stack, board="table-1", period="2026-11-21", empty=True)
    (empty,) = (content for key, content in stack.bucket.results.items() if "/2026-11-21/" in key and ".csv" in key)
    assert gzip.decompress(empty) == b"rank,member,score,least,tie_breaks.score\n"
    medals = [event for event in stack.bus.events if event["type"] == "Prize Won"]
    assert [(event["rank"], event["member"], event["tie_breaks"]) for event in medals] == [
        (rank, member, {"least": least, "score": goals}) for rank, member, _, least, goals in numbers[:3]
    ]


def test_a_period_is_settled_once_and_listed(stack: Stack) -> None:
    play_until_final(stack, 2)
    first = settle_whole(stack)
    files, events = dict(stack.bucket.results), list(stack.bus.events)

    # Without a period it is the latest one that is final.
    again = settle_whole(stack)
    assert again == settle_whole(stack, period=None)
    assert [one.pop("before") for one in (*first["rankings"], *again["rankings"])] == [False, True]
    assert again == first
    assert (stack.bucket.results, stack.bus.events) == (files, events)
    listed = call(stack, "settlements", "list", board=BOARD)
    assert [(one["period"], one["members"], one["prefix"]) for one in listed["results"]] == [(DAY, 41, PREFIX)]
    assert listed["done"]


def wait(milliseconds: int) -> Callable[[Stack], None]:
    return lambda stack: setattr(stack.clock, "milliseconds", stack.clock() + milliseconds)


@pytest.mark.parametrize(
    ("happens", "drift", "why"),
    [
        (wait(-1), 0, "the period is final at 2026-11-22T00:05:00.000Z: settle it then"),
        (
            lambda stack: stack.put(f"/boards/{BOARD}/member", {"hidden": True}, id="m001"),
            0,
            "the audit found 1 behind: the ranking is still catching up: try again later",
        ),
        (lose_a_row, 2, "the audit found 1 missing, 1 counter: rebuild the board"),
        (wait(GONE - FINAL), 0, "the period could be read until 2026-12-31T00:00:00.000Z: nothing is left to settle"),
        (
            lambda stack: finish(stack, "delete", board=BOARD),
            0,
            "there is no such board, or it is being deleted, or it has ended",
        ),
    ],
)
def test_what_keeps_a_period_unsettled(stack: Stack, happens: Callable[[Stack], Any], drift: int, why: str) -> None:
    play_until_final(stack, 3)
    happens(stack)

    (told,) = settle(stack)["rankings"]

    assert (told["settled"], told["why"], told["drift"]) == (False, why, drift)
    assert (stack.bucket.results, stack.bus.events) == ({}, [])


def test_an_empty_period_of_a_board_with_members_is_settled_only_on_demand(stack: Stack) -> None:
    play_until_final(stack, 3)
    empty: dict[str, Any] = {"period": "2026-11-18"}

    (told,) = settle(stack, **empty)["rankings"]
    assert (told["settled"], told["empty"], told["drift"]) == (False, True, 0)
    assert told["why"] == "nobody is ranked in this period, though the board has members: post what is missing first"
    assert (stack.bucket.results, stack.bus.events) == ({}, [])
    (told,) = settle_whole(stack, **empty, empty=True)["rankings"]
    assert (told["settled"], told["summary"]["members"]) == (True, 0)
    assert [prize["winners"] for prize in told["summary"]["prizes"]] == [0, 0, 0]
    assert [event["type"] for event in stack.bus.events] == ["Period Settled"]

    for member in {line["member"] for line in stack.entries(f"/boards/{BOARD}/points/all")}:
        stack.delete(f"/boards/{BOARD}/member", id=member)
    project(stack)
    stack.clock.milliseconds += 3_600_000
    # Nobody is left who could have been ranked.
    assert settle_whole(stack, period="2026-11-19")["rankings"][0]["settled"]


def test_events_that_failed_are_put_again(stack: Stack) -> None:
    scores = play_until_final(stack, 10)
    tried: Counter[str] = Counter()

    def every_second(detail: dict[str, Any]) -> str | None:
        tried[detail["id"]] += 1
        return "ThrottlingException" if tried[detail["id"]] < 3 else None

    stack.bus.fails = every_second
    settle_whole(stack)

    assert won(stack) == winners(scores)
    assert len(stack.bus.events) == len(winners(scores)) + 1


def test_events_that_were_put_are_not_put_again_if_the_settlement_fails_right_after(stack: Stack) -> None:
    scores = play_until_final(stack, 10)
    put = Files.put

    def fails_at_the_end(files: Files, name: str, document: Any) -> None:
        if name == ALL_SENT:
            raise StoreUnavailableError("the bucket is down")
        put(files, name, document)

    with mock.patch.object(Files, "put", fails_at_the_end), pytest.raises(StoreUnavailableError):
        settle(stack)
    settle_whole(stack)

    assert len(stack.bus.events) == len(winners(scores)) + 1


def test_a_prize_with_too_many_winners_is_in_the_files_alone(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = play_until_final(stack, 3)
    top = sum(prize == "top-10" for prize, *_ in winners(scores))
    monkeypatch.setattr(settlement, "MAX_ANNOUNCED", top - 1)

    (told,) = settle_whole(stack)["rankings"]

    prizes = {prize["name"]: (prize["winners"], prize["events"]) for prize in told["summary"]["prizes"]}
    assert prizes["top-10"] == (top, False)
    assert {prize for prize, *_ in won(stack)} == {name for name, (number, told) in prizes.items() if told and number}


# ---- in many calls, while the board is rebuilt


@pytest.mark.parametrize("stage", ["audit", "files", "seal", "events"])
def test_a_rebuild_meanwhile_starts_the_audit_again(stack: Stack, stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "PART", 10)
    scores = play_until_final(stack, 2)
    step = partial(settle, stack, seconds=0)  # So little time is enough for one step
    answer = step()
    while answer["rankings"][0]["stage"] != stage:
        answer = step(cursor=answer["cursor"])
    finish(stack, "rebuild", board=BOARD)
    project(stack)
    after = step(cursor=answer["cursor"])

    assert (after["done"], after["rankings"][0]["stage"]) == ((False, "audit") if stage != "events" else (True, None))
    assert settle_whole(stack, cursor=after["cursor"])["rankings"][0]["settled"]
    assert lines_in(stack.bucket.results) == sorted_lines(scores)
    assert won(stack) == winners(scores)


# ---- seasons


def test_a_season_is_settled_by_its_name_or_a_day_in_it_and_is_the_latest_that_is_final(stack: Stack) -> None:
    scores = play_until_final(stack, 1, board="cup-1")

    settled = partial(settle_whole, stack, board="cup-1", window="season")
    answers = [settled(period=period) for period in ("autumn-2026", "2026-11-12", None)]

    assert [answer["rankings"][0].pop("before") for answer in answers] == [False, True, True]
    assert answers[0] == answers[1] == answers[2]
    (told,) = answers[0]["rankings"]
    prefix = "results/cup-1/points/season/autumn-2026/"
    assert (told["settled"], told["period"], told["prefix"]) == (True, "autumn-2026", prefix)
    assert lines_in(stack.bucket.results, prefix) == sorted_lines(scores)
    best = max(scores.values())
    assert {(event["prize"], event["period"], event["member"]) for event in stack.bus.events if "prize" in event} == {
        ("cup", "autumn-2026", member) for member, points in scores.items() if points == best
    }
    (winter,) = settled(period="winter-2026")["rankings"]
    assert winter["why"] == "the period is final at 2026-12-21T00:05:00.000Z: settle it then"


# ---- what cannot be settled, because it is not there


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"window": "all"}, r"window: expected one that boards.toml settles for this board \(day, week\), got 'all'"),
        ({"window": None}, "window: expected one that boards.toml settles"),
        ({"metric": "runs"}, r"metric: expected one that is ranked in 'day' \(points\), got 'runs'"),
        ({"board": "other"}, r"settles for this board \(none\)"),
        ({"period": "yesterday"}, "expected a day such as 2026-11-20"),
        ({"board": "cup-1", "window": "season", "period": "spring-2026"}, "seasons: autumn-2026, winter-2026"),
        ({"board": "later-1", "window": "season", "period": None}, "board 'later-1' has had no season yet"),
    ],
)
def test_what_cannot_be_settled_is_said(stack: Stack, arguments: dict[str, Any], why: str) -> None:
    post(stack, str(arguments.get("board", BOARD)), {"m": 1})
    with pytest.raises((InvalidArgumentError, ValueError), match=why):
        settle(stack, **arguments)
    assert stack.bucket.results == {}


def test_a_board_that_has_had_no_event_is_said(stack: Stack) -> None:
    with pytest.raises(ValueError, match=f"board '{BOARD}' has had no event"):
        settle(stack, window="all")
    with pytest.raises(ValueError, match=f"board '{BOARD}' has had no event"):
        call(stack, "settlements", "list", board=BOARD)


# ---- who is erased is named in the settled files that hold them, and gone once these are rewritten


def mentions(stack: Stack, member: str) -> tuple[list[str], int]:
    """The files that an erasure names, and in how many calls."""
    answers = [*calls(stack, "erase", member=member)]
    project(stack)
    return [key for answer in answers for key in answer["files"]], len(answers)


@pytest.mark.parametrize("is_slow", [False, True])
def test_files_of_a_person_are_named_and_rewritten(
    stack: Stack, is_slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "PART", 10)
    scores = play(stack, 1)
    play(stack, 2, board="league-2", members=0)
    stack.clock.milliseconds = FINAL
    settle_whole(stack)
    settle_whole(stack, board="league-2")
    place = next(n for n, line in enumerate(sorted_lines(scores)) if line["member"] == "m007")
    part = f"{PREFIX}standings-{1 + place // 10:05}.jsonl.gz"

    read = stack.bucket.get_object

    def read_slowly(**request: Any) -> Any:
        stack.clock.sleep(400)
        return read(**request)

    with monkeypatch.context() as patches:
        if is_slow:
            patches.setattr(stack.bucket, "get_object", read_slowly)
        named, number = mentions(stack, "m007")

    assert named == [part]
    assert (number > 1) is is_slow
    assert mentions(stack, "m007") == ([part], 1), "it may be asked again"
    del scores["m007"]
    assert settle_whole(stack, again=True)["rankings"][0]["settled"]
    assert lines_in(stack.bucket.results) == sorted_lines(scores)
    assert mentions(stack, "m007") == ([], 1)


def test_a_name_within_a_name_is_no_mention(stack: Stack) -> None:
    play_until_final(stack, 3)
    settle_whole(stack)
    stack.put(f"/boards/{BOARD}/member", None, id="m00")

    assert mentions(stack, "m00") == ([], 1)


# ---- what it costs


def test_a_settlement_costs_what_the_model_says(stack: Stack) -> None:
    members = 1_000
    play(stack, 1, members=members - 1)
    stack.clock.milliseconds = FINAL
    names = ("put_object", "get_object", "list_objects_v2")
    put, get, listed = counted = [mock.Mock(wraps=getattr(stack.bucket, name)) for name in names]
    gc.collect()  # Stores of earlier tests that went while the settlement runs would be subtracted
    before = units_of_all_audits()
    with mock.patch.multiple(stack.bucket, **dict(zip(names, counted, strict=True))):
        settle_whole(stack)

    modelled = settlements.of_settlement(members, len(stack.bus.ids("Prize Won")))
    assert units_of_all_audits() - before == pytest.approx(modelled.read_units, rel=0.05)
    assert put.call_count + listed.call_count == pytest.approx(modelled.bucket_writes, abs=2)
    assert get.call_count == pytest.approx(modelled.bucket_reads, abs=2)
    assert len(stack.bus.events) == modelled.bus_events
    assert (settlement.PART, settlement.REMEMBERED_TOGETHER) == (settlements.PART, settlements.REMEMBERED)


def units_of_all_audits() -> float:
    """The read units of every audit's store in this process."""
    return sum(one.units for one in gc.get_objects() if isinstance(one, AuditReads))
