"""`GET /events?id=`: whether an event was counted or refused, for whoever may post; the reason, for administrators."""

from typing import Any, Final
from unittest import mock
from urllib.parse import quote

import orjson
import pytest
from botocore.exceptions import ClientError

from standings.aws.dynamodb.scores import RECEIPT_LIFETIME, REFUSAL_LIFETIME
from standings.domain.boards_toml import parse_boards
from standings.domain.windows import DAY, SECOND, instant
from tests.support.aws.stack import ManualClock, Stack, deliver, http_event
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import call
from tests.support.builders.stages.writers import Subject, event
from tests.support.documents.openapi import OPERATIONS, assert_valid
from tests.support.dynamodb.items import item_size
from tests.support.dynamodb.requests import Requests

BOARDS: Final = """
[boards."club"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
[boards."cup"]
late = "1 day"
keep = "1 day"
metrics.points = { aggregate = "sum", windows = ["all", "week", "season"] }
seasons = [
  { name = "autumn", starts = "2026-09-01", ends = "2026-11-15" },
  { name = "winter", starts = "2026-11-15", ends = "2027-03-01" },
]
"""
CLIENT: Final = Requests
STRANGER: Final = "member: 'm' is not registered on board 'club'"


def ask(
    stack: Stack, event_id: str, scope: str | None = None, method: str = "GET", *, tried: Any = None
) -> tuple[int, Any]:
    """What a caller hears of an event, also of one that is `tried`: with a token of this scope, or as IAM knows it."""
    request = http_event("/events", f"id={event_id}", method)
    if tried is not None:
        request = http_event("/events", "dry_run=true", "POST", [tried])
    who = {"iam": {"userArn": "arn"}} if scope is None else {"jwt": {"claims": {"scope": scope}, "scopes": None}}
    request["requestContext"]["authorizer"] = who
    answer = stack.command(request, None)
    assert tried is not None or answer["headers"]["Cache-Control"] == "no-cache"
    content = orjson.loads(answer["body"]) if answer["body"] else None
    if answer["statusCode"] == 200 and method == "GET":
        responses = OPERATIONS["getEvent"].definition["responses"]
        assert_valid(responses["200"]["content"]["application/json"]["schema"], content, "getEvent")
    return answer["statusCode"], content


def status(stack: Stack, event_id: str) -> tuple[str, str | None] | str:
    code, content = ask(stack, event_id)
    return (content["status"], content.get("reason")) if code == 200 else content["type"].removeprefix("urn:standings:")


def test_an_event_is_counted_or_refused_or_nothing_is_known_of_it(stack: Stack, clock: ManualClock) -> None:
    deliver(stack, [event("good"), event("stranger", board="club"), event("twice"), event("twice"), event("bad", at=7)])

    assert ask(stack, "good") == (200, {"id": "good", "status": "counted", "at": instant(clock())})
    refused = {"id": "stranger", "status": "refused", "reason": STRANGER, "at": instant(clock())}
    assert ask(stack, "stranger") == (200, refused)
    assert status(stack, "twice") == ("counted", None)
    assert status(stack, "bad") == ("refused", "at: expected text, got 7")
    assert status(stack, "unknown") == "no-such-event"
    assert ask(stack, "good", method="HEAD") == (200, None)
    assert ask(stack, "unknown", method="HEAD") == (404, None)


def test_a_dry_run_says_which_events_have_counted_and_queues_none(stack: Stack, clock: ManualClock) -> None:
    """A lost event is `new` again after its members were removed: from then on it would count."""

    def results(*events: dict[str, Any], **more: str) -> list[tuple[str, str | None]]:
        code, answer = stack.post("/events", list(events), dry_run="true", **more)
        assert (code, stack.activity.messages) == (202, [])
        return [(one["status"], one["detail"]) for one in answer["results"]]

    shared = event("shared", board=["b", "c"])
    deliver(stack, [event("good"), shared])
    other = (event("good", points=2), event("stranger", board="club"), event("bad", at=7))
    used = "id: 'good' was used before, for an event with other content"
    assert results(event("good"), shared, *other) == [
        ("known", None),
        ("known", None),
        ("refused", used),
        ("new", None),
        ("refused", "at: expected text, got 7"),
    ]
    assert results(event("good", board="c"), event("shared", board="c")) == [
        ("refused", f"{used}, on 'b'"),
        ("refused", "id: 'shared' was used before, for an event with other content"),
    ]
    assert stack.delete("/boards/b/member", id="m")[0] == 204
    assert results(event("good")) == [("known", None)]
    clock.milliseconds += 60_002
    assert results(event("good"), shared, other[0]) == [("new", None), ("known", None), ("refused", used)]
    closed = "it is older than `late` and counts in `all` alone"
    assert results(
        event("of-a-season", board="cup", at="2026-11-01T10:00:00Z"),
        event("of-no-season", board="cup", at="2026-08-01T10:00:00Z"),
        event("in-time", board="cup", at="2026-11-20T10:00:00Z"),
    ) == [
        ("new", f"{closed}; history=true counts it in its season, unless settled"),
        ("new", f"{closed}; the other periods can no longer be read"),
        ("new", None),
    ]
    assert results(event("of-a-season", board="cup", at="2026-11-01T10:00:00Z"), history="true") == [("new", None)]


def test_only_administrators_see_the_reason_which_may_name_a_member(stack: Stack, clock: ManualClock) -> None:
    deliver(stack, [event("x", board="club"), event("y")])
    for scope, board in (("standings/write", ""), ("standings/write standings/admin", ", on 'b'")):
        answer = ask(stack, "y", scope, tried=event("y", board="c"))[1]
        assert answer["results"][0]["detail"].partition("other content")[2] == board

    without = {"id": "x", "status": "refused", "at": instant(clock())}
    assert ask(stack, "x", "standings/write") == ask(stack, "x", "[standings/read standings/write]") == (200, without)
    assert ask(stack, "x", "standings/write standings/admin") == (200, {**without, "reason": STRANGER})


@pytest.mark.parametrize("again", ["replayed", "redriven by SQS"])
def test_a_refused_event_that_is_delivered_again_has_a_new_status(stack: Stack, clock: ManualClock, again: str) -> None:
    def deliver_again() -> None:
        if again == "replayed":
            call(stack, "dead_letters", "replay")
        else:
            stack.activity.messages += [{**letter, "Id": "0"} for letter in stack.dead_letters.messages]
            stack.dead_letters.messages.clear()
        assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}

    deliver(stack, [event("x", board="club")])
    first = ask(stack, "x")
    clock.milliseconds += 1
    deliver_again()
    assert (status(stack, "x"), ask(stack, "x") == first) == (("refused", STRANGER), False)

    assert stack.put("/boards/club/member", id="m")[0] == 200
    deliver_again()
    assert status(stack, "x") == ("counted", None)

    # What uses the id for something else is refused. It does not hide that the event was counted.
    deliver(stack, [event("x", board="club", points=2), event("x", metrics={"points": "many"})])
    assert len(stack.dead_letters.messages) == 2
    assert status(stack, "x") == ("counted", None)


@pytest.mark.parametrize(("board", "kept_for"), [("b", RECEIPT_LIFETIME), ("club", REFUSAL_LIFETIME)])
def test_a_status_ends_even_if_dynamodb_has_not_deleted_the_item(
    stack: Stack, clock: ManualClock, board: str, kept_for: int
) -> None:
    assert (RECEIPT_LIFETIME, REFUSAL_LIFETIME) == (30 * DAY, 14 * DAY)
    deliver(stack, [event("x", board=board)])
    clock.milliseconds += kept_for - SECOND
    assert ask(stack, "x")[0] == 200
    clock.milliseconds += SECOND
    assert (ask(stack, "x")[0], len(rows(stack.dynamodb, "Receipts"))) == (404, 1)


def test_it_is_one_read_and_a_refusal_one_write_of_one_unit(stack: Stack, engine: Any) -> None:
    longest = "😀" * 128
    deliver(stack, [event("counted")])
    stack.dynamodb.counts.clear()

    unknown = event("counted", board="b" * 128, metrics={"points": {"many": 1}})
    deliver(stack, [event(longest, board="a" * 128, note={"of": "x"}), unknown])
    assert stack.dynamodb.counts == {("put_item", "Receipts"): 2}
    sizes = {row["pk"]["S"]: item_size(row) for row in rows(engine, "Receipts")}
    assert 450 < sizes[longest] <= 1024
    stack.dynamodb.counts.clear()

    with mock.patch.object(stack.dynamodb, "get_item", wraps=engine.get_item, create=True) as read:
        for one in (longest, "counted", "unknown"):
            ask(stack, quote(one))
    assert read.call_count == 3
    assert all(
        (made.kwargs["TableName"], made.kwargs["ConsistentRead"]) == ("Receipts", True) for made in read.mock_calls
    )
    assert not stack.dynamodb.counts


def test_a_refusal_that_cannot_be_remembered_now_comes_again(engine: Any) -> None:
    """No event is put aside without its status, and nothing else waits for it."""
    subject = Subject(engine, parse_boards(BOARDS))

    def throttled(**request: Any) -> Any:
        if request["TableName"] != "Receipts":
            return engine.put_item(**request)
        raise ClientError({"Error": {"Code": "ProvisionedThroughputExceededException"}}, "PutItem")

    refused = event("x", board="club")
    with mock.patch.object(subject.client, "put_item", side_effect=throttled, create=True):
        written = subject.write(refused, event("good"), patience=5)
    assert (written.applied, written.refused, list(written.failed)) == (1, [], ["message-0"])
    assert "ProvisionedThroughputExceeded" in written.failed["message-0"]
    assert rows(engine, "Receipts")[0]["pk"] == {"S": "good"}

    written = subject.write(refused)
    assert ([refusal.rule for _, refusal in written.refused], written.failed) == (["unregistered"], {})
    status = subject.scores.status("x")
    assert status is not None
    assert status.reason == STRANGER
