"""A final period is audited, written to files that a sort agrees with, and told of by events, each id once."""

import csv
import gzip
import io
from hashlib import sha256
from typing import Any

import pytest

from standings.maintain.settle import settlement
from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
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
from tests.support.builders.stages.streaming import project


@pytest.mark.parametrize("part", [7, 41, 50_000])
def test_files_and_events_are_those_of_a_sort(stack: Stack, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlement, "PART", part)
    scores = play(stack, 1)
    stack.clock.milliseconds = FINAL

    answer = settle_whole(stack)

    (told,) = answer["rankings"]
    assert (told["settled"], told["why"]) == (True, None)
    assert lines_in(stack.bucket.results) == sorted_lines(scores)
    tables = sorted(key for key in stack.bucket.results if key.endswith(".csv.gz"))
    rows = [
        row
        for key in tables
        for row in csv.DictReader(io.StringIO(gzip.decompress(stack.bucket.results[key]).decode()))
    ]
    assert [(int(row["rank"]), row["member"], float(row["score"])) for row in rows] == [
        tuple(line.values()) for line in sorted_lines(scores)
    ]
    assert len(tables) == -(-len(scores) // part)
    assert won(stack) == winners(scores)
    assert len(stack.bus.ids("Prize Won")) == len(winners(scores)) == len(set(stack.bus.ids("Prize Won")))
    raw = b"".join(
        gzip.decompress(stack.bucket.results[key]) for key in sorted(stack.bucket.results) if key.endswith(".jsonl.gz")
    )
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


def test_a_period_is_settled_once(stack: Stack) -> None:
    play(stack, 2)
    stack.clock.milliseconds = FINAL
    first = settle_whole(stack)
    files, events = dict(stack.bucket.results), list(stack.bus.events)

    assert settle_whole(stack) == first
    assert (stack.bucket.results, stack.bus.events) == (files, events)


def test_before_it_is_final_nothing_is_written(stack: Stack) -> None:
    play(stack, 3)
    stack.clock.milliseconds = FINAL - 1

    (told,) = settle(stack)["rankings"]

    assert (told["settled"], told["why"]) == (False, "the period is final at 2026-11-22T00:05:00.000Z: settle it then")
    assert (stack.bucket.results, stack.bus.events) == ({}, [])


def test_without_a_period_the_latest_final_one_is_settled(stack: Stack) -> None:
    play(stack, 4)
    stack.clock.milliseconds = FINAL

    (told,) = settle_whole(stack, period=None)["rankings"]

    assert (told["period"], told["settled"]) == (DAY, True)


def test_what_the_audit_finds_keeps_a_period_from_being_settled(stack: Stack) -> None:
    play(stack, 5)
    lose_a_row(stack)
    stack.clock.milliseconds = FINAL

    (told,) = settle(stack)["rankings"]

    assert not told["settled"]
    assert told["why"].startswith("the audit found")
    assert told["drift"] > 0
    assert (stack.bucket.results, stack.bus.events) == ({}, [])


def test_a_ranking_that_is_behind_is_not_settled(stack: Stack) -> None:
    play(stack, 6)
    stack.clock.milliseconds = FINAL
    stack.put(f"/boards/{BOARD}/member", {"hidden": True}, id="m001")

    (told,) = settle(stack)["rankings"]

    assert told["why"] == "the audit found 1 behind: the ranking is still catching up: try again later"
    assert stack.bucket.results == {}


def test_who_is_hidden_is_in_no_file(stack: Stack) -> None:
    scores = play(stack, 7)
    stack.clock.milliseconds = FINAL
    stack.put(f"/boards/{BOARD}/member", {"hidden": True}, id="m001")
    project(stack)
    del scores["m001"]

    settle_whole(stack)

    assert lines_in(stack.bucket.results) == sorted_lines(scores)


@pytest.mark.parametrize("hidden", ["m001", "m039"])
def test_who_is_hidden_between_audit_and_files_stops_it(
    stack: Stack, hidden: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlement, "PART", 1)
    scores = play(stack, 8)
    stack.clock.milliseconds = FINAL
    written = stack.bucket.put_object

    def hide_first(**request: Any) -> None:
        stack.bucket.put_object = written  # type: ignore[method-assign]
        written(**request)
        stack.put(f"/boards/{BOARD}/member", {"hidden": True}, id=hidden)
        project(stack)
        # The next part of the list is read after this one was written.

    stack.bucket.put_object = hide_first  # type: ignore[method-assign, assignment]
    (told,) = settle_whole(stack)["rankings"]
    first = sorted_lines(scores)[0]["member"]

    assert told["settled"] is (hidden == first)
    if hidden != first:
        assert "hidden, removed or brought back meanwhile" in told["why"]
        assert f"{PREFIX}summary.json" not in stack.bucket.results
        assert stack.bus.events == []
        del scores[hidden]
        assert settle_whole(stack)["rankings"][0]["settled"]
        assert lines_in(stack.bucket.results) == sorted_lines(scores)


def test_again_replaces_the_files_and_sends_what_was_not_sent(stack: Stack) -> None:
    scores = play(stack, 9)
    stack.clock.milliseconds = FINAL
    settle_whole(stack)
    told = won(stack)
    best = sorted_lines(scores)[0]["member"]
    stack.put(f"/boards/{BOARD}/member", {"hidden": True}, id=best)
    project(stack)
    del scores[best]

    assert settle_whole(stack, again=True)["rankings"][0]["settled"]

    assert lines_in(stack.bucket.results) == sorted_lines(scores)
    who = {(prize, member) for prize, member, _ in told} | {(prize, member) for prize, member, _ in winners(scores)}
    assert {(prize, member) for prize, member, _ in won(stack)} == who
    ids = stack.bus.ids("Prize Won")
    assert len(ids) == len(set(ids)) == len(who)
    assert len(set(stack.bus.ids("Period Settled"))) == 2


def test_events_that_failed_are_put_again(stack: Stack) -> None:
    scores = play(stack, 10)
    stack.clock.milliseconds = FINAL
    tried: dict[str, int] = {}

    def every_second(detail: dict[str, Any]) -> str | None:
        tried[detail["id"]] = tried.get(detail["id"], 0) + 1
        return "ThrottlingException" if tried[detail["id"]] < 3 else None

    stack.bus.fails = every_second
    settle_whole(stack)

    assert won(stack) == winners(scores)
    assert len(stack.bus.events) == len(winners(scores)) + 1


def test_nobody_played(stack: Stack) -> None:
    post(stack, BOARD, {"m": 1})
    stack.clock.milliseconds = FINAL + 86_400_000

    (told,) = settle_whole(stack, period="2026-11-21")["rankings"]

    assert told["summary"]["members"] == 0
    assert [prize["winners"] for prize in told["summary"]["prizes"]] == [0, 0, 0]
    assert [event["type"] for event in stack.bus.events] == ["Period Settled"]


def test_settlements_are_listed(stack: Stack) -> None:
    play(stack, 11)
    stack.clock.milliseconds = FINAL
    settle_whole(stack)

    answer = stack.maintenance({"settlements": {"list": {"board": BOARD}}}, Context())

    assert [(one["period"], one["members"], one["prefix"]) for one in answer["results"]] == [(DAY, 41, PREFIX)]
    assert answer["done"]
