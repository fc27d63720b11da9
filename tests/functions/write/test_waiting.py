"""`POST /events?wait=5`: it answers when the event counts and every rank of its members follows, or as ever."""

from collections.abc import Callable
from random import Random
from typing import Any, Final
from unittest import mock

import orjson
import pytest

from standings.following import LOOKS, MAX_PAIRS
from tests.support.aws.stack import ManualClock, Stack, apply, count, http_event, project
from tests.support.awslambda.pollers import Context
from tests.support.documents.openapi import OPERATIONS, assert_valid
from tests.support.dynamodb.requests import Requests
from tests.support.thoroughness import seeds

BOARDS: Final = """
[boards."club"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"], ties = "first", tie_breaks = ["time"] }
metrics.time = { aggregate = "min", order = "ascending" }
"""
CLIENT: Final = Requests
Act = Callable[[], object]


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch, clock: ManualClock) -> list[Act]:
    """What happens while a request sleeps: one act each time."""
    to_come: list[Act] = []

    def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        if to_come:
            to_come.pop(0)()

    monkeypatch.setattr("time.sleep", sleep)
    return to_come


def event(number: Any, members: str = "m", board: str = "b", **more: Any) -> dict[str, Any]:
    shares = [{"board": board, "member": member, "metrics": {"points": 1, **more}} for member in members]
    return {"id": f"e{number}", "at": "2026-11-21T10:00:00Z", "updates": shares}


def post(stack: Stack, body: Any, wait: int = 5, scope: str | None = None) -> tuple[int, Any]:
    request = http_event("/events", f"wait={wait}", "POST") | {"body": orjson.dumps(body).decode()}
    if scope is not None:
        request["requestContext"]["authorizer"] = {"jwt": {"claims": {"scope": scope}, "scopes": None}}
    answer = stack.command(request, None)
    content = orjson.loads(answer["body"])
    responses = OPERATIONS["postEvents"].definition["responses"]
    if str(answer["statusCode"]) in ("200", "202"):
        schema = responses[str(answer["statusCode"])]["content"]["application/json"]["schema"]
        assert_valid(schema, content, "postEvents")
    return answer["statusCode"], content


@pytest.mark.parametrize("seed", seeds(8, 200))
def test_an_answer_with_ranks_has_the_event_in_each(acts: list[Act], stack: Stack, seed: int) -> None:
    """The writer and the projector work bit by bit, and others post, hide and remove meanwhile."""
    rng, answered = Random(seed), 0
    apply(stack, [event(f"before-{number}", "mno"[: rng.randint(1, 3)], time=number) for number in range(3)])
    for number in range(12):
        chosen: list[Act] = [
            lambda: count(stack),
            lambda: stack.writer({"Records": stack.activity.records()}, Context()),
            lambda: project(stack),
            lambda number=number: stack.post("/events", event(f"x{number}", "m")),  # type: ignore[misc]
            lambda: stack.put("/boards/b/member", {"hidden": rng.random() < 0.3}, id="m"),
            lambda: stack.delete("/boards/b/member", id="n"),
            lambda: None,
        ]
        weights = [1, 8, 8, 3, 1, 0.2, 4]
        acts[:] = rng.choices(chosen, weights, k=rng.randint(0, 12))
        status, answer = post(stack, event(f"{seed}-{number}", rng.choice(["m", "mn", "mno"]), time=rng.randint(1, 99)))
        acts.clear()
        assert answer["results"][0]["status"] == ("counted" if status == 200 else "queued"), (seed, number)
        for card in answer.get("members", ()):
            for row in card["metrics"][0]["windows"]:
                path = f"/boards/b/points/{row['window']}/rank"
                found = stack.get(path, member=card["member"])[1]
                now = (None, None) if card["hidden"] else (found["rank"], found["score"])
                assert (row["rank"], row["rank"] and row["score"]) == now, (seed, number, row)
                project(stack)
                later = stack.get(path, member=card["member"])[1]
                assert later.get("score") == found.get("score"), (seed, number, row)
        answered += status == 200
        if rng.random() < 0.5:
            count(stack)
    assert answered, seed


def test_past_its_time_it_is_answered_as_ever_after_twenty_looks(acts: list[Act], stack: Stack) -> None:
    sent: Requests = stack.dynamodb
    began = stack.clock()
    sent.take()
    status, answer = post(stack, event(1), wait=2)
    assert (status, answer) == (202, {"results": [{"id": "e1", "status": "queued", "detail": None}]})
    assert stack.clock() - began == 2_000
    assert sent.take() == {("batch_get_item", "Receipts"): 1, ("get_item", "Receipts"): 1 + LOOKS}
    acts[:] = [lambda: stack.writer({"Records": stack.activity.records()}, Context())]
    assert post(stack, event(2), wait=2)[0] == 202  # counted, and nothing is projected
    looks = sent.take()
    assert looks["batch_get_item", "Rankings"] <= 4 * LOOKS
    count(stack)
    acts[:] = [lambda: count(stack)]
    sent.take()
    assert post(stack, event(3), wait=10)[1]["members"][0]["metrics"][0]["windows"][2]["score"] == 3


@pytest.mark.parametrize("takes_s", [3, 9])
def test_what_the_request_itself_takes_is_no_longer_waited_for(
    acts: list[Act], stack: Stack, clock: ManualClock, takes_s: int
) -> None:
    take, began = stack.activity.send_message_batch, stack.clock()

    def slow(**batch: Any) -> Any:
        clock.sleep(takes_s)
        return take(**batch)

    with mock.patch.object(stack.activity, "send_message_batch", side_effect=slow):
        assert post(stack, event(1), wait=5)[0] == 202
        assert (stack.clock() - began) // 1000 == max(5, takes_s)
        acts[:] = [lambda: count(stack)]
        assert post(stack, event(2), wait=5)[0] == 200  # there is one look


def test_the_answer_says_where_an_event_counts_that_is_late(acts: list[Act], stack: Stack) -> None:
    acts[:] = [lambda: count(stack)]
    late = {**event(1), "at": "2026-08-01T10:00:00Z"}
    status, answer = post(stack, late)
    assert (status, answer["results"][0]["status"]) == (200, "counted")
    assert answer["results"][0]["detail"].startswith("it is older than `late` and counts in `all` alone; the other")


def test_what_is_known_is_answered_at_once_and_what_is_refused_says_so(acts: list[Act], stack: Stack) -> None:
    apply(stack, [event(1)])
    began = stack.clock()
    assert post(stack, event(1))[0] == 200
    assert stack.clock() - began == 250
    status, answer = post(stack, event(1, "n"))
    assert (status, answer["results"][0]["status"]) == (202, "refused")
    assert "other content" in answer["results"][0]["detail"]
    status, answer = post(stack, {**event(2), "at": 7})
    assert (status, answer["results"][0]["detail"]) == (202, "at: expected text, got 7")
    for scope, detail in (
        ("standings/admin standings/read", "member: 'm' is not registered on board 'club'"),
        ("standings/read", "the writer refused it; an administrator sees why"),
        (
            "standings/read",
            "the writer refused it; an administrator sees why",
        ),  # the status of before is not the answer
    ):
        acts[:] = [lambda: None, lambda: count(stack)]
        status, answer = post(stack, event("club", board="club"), scope=scope)
        assert (status, answer["results"]) == (202, [{"id": "eclub", "status": "refused", "detail": detail}])
        assert acts == []


def test_what_cannot_be_waited_for_is_queued_by_nobody(stack: Stack) -> None:
    for body, said in (
        ([event(1), event(2)], "wait: expected one event, got 2"),
        (event(1, "abcdefghijk"), f"wait: expected an event of at most {MAX_PAIRS} pairs of board and member, got 11"),
    ):
        status, answer = post(stack, body)
        assert (status, answer["type"]) == (400, "urn:standings:bad-body")
        assert answer["detail"].startswith(said)
    status, answer = post(stack, event(1), scope="standings/write")
    assert (status, answer["type"]) == (403, "urn:standings:not-your-member")
    assert "standings/read" in answer["detail"]
    assert stack.post("/events", event(1), wait=5, dry_run="true")[0] == 400
    assert stack.post("/events", event(1), wait=11)[0] == 400
    assert stack.activity.messages == []
