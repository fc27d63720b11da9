"""A person is erased from every board, with the real handlers: nothing is left but what expires."""

import io
import itertools
import json
import logging
from collections.abc import Iterator
from typing import Any, Final

import pytest

from standings.domain.windows.calendar import DAY
from standings.maintain import erase as erasing
from standings.runtime.logs import logger
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.builders.querying import BOARDS, NOW, post
from tests.support.builders.stages.streaming import project

CLUB: Final = '[boards."club"]\nmembers = "registered"\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
ADA: Final = "ada@example.org"
RESERVE_S: Final = 10
"""Seconds that a maintenance task leaves for its answer."""


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    assert clock() == int(NOW.timestamp() * 1000)
    with running(engine, clock, BOARDS + CLUB) as deployed:
        yield deployed


def populate(stack: Stack) -> None:
    """Ada on five boards, hidden on one of them and only registered on another; others beside her."""
    for board in ("b", "b-2", "hidden"):
        post(stack, {ADA: 5, "bob": 7}, board=board)
        post(stack, {ADA: 3, "bob": 4}, board=board, days_ago=2)
    post(stack, {ADA: 70.5, "bob": 71}, board="golf-1", metric="strokes")
    post(stack, {"bob": 1}, board="without-ada")
    stack.put("/boards/hidden/member", {"hidden": True}, id=ADA)
    stack.put("/boards/club/member", id=ADA)
    stack.put("/members", {"name": "Ada"}, id=ADA)
    project(stack)


def erase(stack: Stack, member: str = ADA, seconds: float = 900) -> list[dict[str, Any]]:
    """Call the function until it is done; returns its answers."""
    arguments: dict[str, Any] = {"member": member}
    answers: list[dict[str, Any]] = []
    while not answers or not answers[-1]["done"]:
        answers.append(stack.maintenance({"erase": arguments}, Context(seconds=seconds)))
        arguments["cursor"] = answers[-1]["cursor"]
        assert len(answers) < 100
    project(stack)
    return answers


def test_nothing_is_left_but_what_expires(stack: Stack) -> None:
    populate(stack)
    (answer,) = erase(stack)

    assert answer["boards"] == ["b", "b-2", "club", "golf-1", "hidden"]
    assert (answer["looked_at"], answer["problems"], answer["profile"]) == (6, [], True)
    assert stack.get("/members", id=ADA)[0] == 404
    for board in answer["boards"]:
        assert stack.get(f"/boards/{board}/member", id=ADA)[1]["type"] == "urn:standings:no-such-member"
    assert not [ranking for ranking, placed in entries(stack.dynamodb).items() if ADA in placed]
    assert_tiers_count_the_entries(stack.dynamodb)
    assert [entry["member"] for entry in stack.entries("/boards/b/points/last-7-days")] == ["bob"]
    audit = stack.maintenance({"audit": {"grace_seconds": 0}}, Context(seconds=900))
    assert (audit["done"], audit["drift"]) == (True, 0)


def test_what_is_left_names_no_score_and_expires_within_sixty_days(stack: Stack) -> None:
    populate(stack)
    stack.clock.milliseconds += DAY
    erase(stack)
    latest = (stack.clock() + 60 * DAY) // 1000

    for table in ("Scores", "Rankings", "Receipts"):
        for item in rows(stack.dynamodb, table):
            if ADA not in json.dumps(item, default=repr):
                continue
            assert table != "Receipts"
            assert int(item["e"]["N"]) <= latest, item
            # The item in Scores stays as long as an older record might be replayed; rows may go with their period.
            assert table == "Rankings" or int(item["e"]["N"]) == latest, item
            # In Scores keys, version, stamp, total (0), marks; in Rankings key, version, stamp and empty steps.
            assert item.keys() <= {"pk", "sk", "v", "t", "g", "x", "y", "e", "p"}, item
            assert item.get("g", {"N": "0"}) == {"N": "0"}


def test_a_stamp_does_not_go_back(stack: Stack) -> None:
    """The writer's clock may be ahead of the maintenance function's."""
    populate(stack)
    stack.clock.milliseconds -= 5_000
    erase(stack)

    (item,) = (item for item in rows(stack.dynamodb, "Scores") if item["pk"]["S"].startswith("b#") and "x" in item)
    assert int(item["t"]["N"]) == stack.clock() + 5_000


def test_others_stay_as_they_are(stack: Stack) -> None:
    populate(stack)
    before = stack.get("/boards/b/member", id="bob")[1]
    erase(stack)

    assert stack.get("/boards/b/member", id="bob")[1] == before
    assert [entry["score"] for entry in stack.entries("/boards/b/points/all")] == [11]
    assert erase(stack, "nobody")[0]["boards"] == []


def test_it_may_be_run_again(stack: Stack) -> None:
    populate(stack)
    erase(stack)
    version = stack.dynamodb.stream("Scores")[0][-1]
    (answer,) = erase(stack)

    assert (answer["boards"], answer["looked_at"], answer["done"]) == ([], 6, True)
    assert stack.dynamodb.stream("Scores")[0][-1] == version


def test_an_event_that_still_arrives_brings_the_member_back_with_that_alone(stack: Stack) -> None:
    populate(stack)
    erase(stack)
    post(stack, {ADA: 2}, days_ago=1)

    card = stack.get("/boards/b/member", id=ADA)[1]
    assert (card["hidden"], card["metrics"][0]["score"]) == (False, 2)
    assert erase(stack)[0]["boards"] == ["b"]
    event = {"id": "late", "board": "club", "member": ADA, "at": NOW.isoformat(), "metrics": {"points": 1}}
    record = {"messageId": "1", "body": json.dumps(event), "messageAttributes": {}}
    assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}
    assert len(stack.dead_letters.reasons()) == 1  # On the registered board she is nobody


def test_each_call_does_what_its_time_allows(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasing, "MAX_ACTIONS", 2)
    for number in range(9):
        post(stack, {ADA: number}, board=f"n{number}")
    batch_get_item = stack.dynamodb.batch_get_item

    def slow(**request: Any) -> Any:
        # An eventually consistent read might miss what was counted a moment ago.
        assert request["RequestItems"].get("Scores", {"ConsistentRead": True})["ConsistentRead"] is True
        stack.clock.milliseconds += 1_000
        return batch_get_item(**request)

    monkeypatch.setattr(stack.dynamodb, "batch_get_item", slow)
    answers = erase(stack, seconds=RESERVE_S + 1.5)

    assert len(answers) > 2
    assert list(itertools.chain(*(answer["boards"] for answer in answers))) == [f"n{number}" for number in range(9)]
    assert sum(answer["looked_at"] for answer in answers) == 9


def test_an_answer_names_so_many_boards_and_the_next_call_goes_on(
    stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "MAX_ACTIONS", 2)
    monkeypatch.setattr(erasing, "MAX_NAMED", 3)
    for number in range(9):
        post(stack, {ADA: number}, board=f"n{number}")

    assert [len(answer["boards"]) for answer in erase(stack)] == [4, 4, 1]


def test_a_board_of_no_family_is_named(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, BOARDS) as stack:
        post(stack, {ADA: 5})
        post(stack, {ADA: 70}, board="golf-1", metric="strokes")
    with running(engine, clock, BOARDS.replace('[boards."*"]', '[boards."c*"]')) as stack:
        answer = stack.maintenance({"erase": {"member": ADA}}, Context(seconds=900))

    assert answer["boards"] == ["b", "golf-1"]
    assert [problem["board"] for problem in answer["problems"]] == ["b"]
    assert "no family in boards.toml matches it" in answer["problems"][0]["why"]
    assert {item["sk"]["S"] for item in rows(engine, "Scores") if "g" in item and "x" not in item} == set()


@pytest.mark.parametrize("member", ["", "x" * 257])
def test_what_cannot_be_a_member_is_refused(stack: Stack, member: str) -> None:
    with pytest.raises(Exception, match="member: expected 1 to 256 bytes of UTF-8, got"):
        stack.maintenance({"erase": {"member": member}}, Context())


def test_no_log_names_the_person(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    populate(stack)
    written = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", written)
    level = logger.log_level
    logger.setLevel(logging.DEBUG)
    try:
        erase(stack)
    finally:
        logger.setLevel(level)

    assert '"task":{"erase":{}}' in written.getvalue()
    assert ADA not in written.getvalue()
