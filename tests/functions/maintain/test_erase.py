"""A person is erased from every board: nothing is left but what expires, whatever happens meanwhile."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any, Final

import pytest

from standings.domain.errors import InvalidArgumentError
from standings.domain.windows import DAY
from standings.maintain import member_boards
from standings.runtime.logs import logger
from standings.stores import StoreUnavailableError
from tests.support.aws.stack import ManualClock, Stack, project, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.builders.maintenance import before, call, calls, throttle
from tests.support.builders.querying import BOARDS, NOW, post
from tests.support.faults.faulty_client import Faulty, conflict, error, lost_answer, passes

CLUB: Final = '[boards."club"]\nmembers = "registered"\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
ADA: Final = "ada@example.org"


@pytest.fixture
def client(engine: Any) -> Faulty:
    return Faulty(engine)


@pytest.fixture
def is_built(request: pytest.FixtureRequest) -> bool:
    """Whether the index of members' boards is there, or DynamoDB still builds it."""
    return bool(getattr(request, "param", True))


@pytest.fixture
def stack(client: Faulty, clock: ManualClock, engine: Any, is_built: bool) -> Iterator[Stack]:
    """Ada on five boards, hidden on one of them and only registered on another; others beside her."""
    engine.table("Scores").indexes["boards"].is_built = is_built
    with running(client, clock, BOARDS + CLUB) as deployed:
        for board in ("b", "b-2", "hidden"):
            post(deployed, {ADA: 5, "bob": 7}, board=board)
            post(deployed, {ADA: 3, "bob": 4}, board=board, days_ago=2)
        post(deployed, {ADA: 70.5, "bob": 71}, board="golf-1", metric="strokes")
        post(deployed, {"bob": 1}, board="without-ada")
        deployed.put("/boards/hidden/member", {"hidden": True}, id=ADA)
        deployed.put("/boards/club/member", id=ADA)
        deployed.put("/members", {"name": "Ada"}, id=ADA)
        project(deployed)
        yield deployed


HERS: Final = ["b", "b-2", "club", "golf-1", "hidden"]


def erase(stack: Stack, member: str = ADA, seconds: float = 800, **more: Any) -> list[dict[str, Any]]:
    """Erase somebody; returns the answers."""
    answers = [*calls(stack, "erase", member=member, seconds=seconds, **more)]
    project(stack)
    return answers


EITHER: Final = pytest.mark.parametrize("is_built", [True, False], ids=["index", "every-board"], indirect=True)
"""With the index, and through all boards while it is being built."""


def assert_she_is_gone(stack: Stack) -> None:
    assert not [ranking for ranking, placed in entries(stack.dynamodb).items() if ADA in placed]
    assert_tiers_count_the_entries(stack.dynamodb)
    audit = call(stack, "audit", grace_seconds=0)
    assert (audit["done"], audit["drift"]) == (True, 0)


@EITHER
def test_nothing_is_left_but_what_expires(stack: Stack, is_built: bool) -> None:
    bob = stack.get("/boards/b/member", id="bob")[1]
    (answer,) = erase(stack)

    expected = {"boards": HERS, "looked_at": 5 if is_built else 6, "problems": [], "profile": True}
    assert answer == {**answer, **expected, "every_board": not is_built}
    assert stack.get("/members", id=ADA)[0] == 404
    for board in HERS:
        assert stack.get(f"/boards/{board}/member", id=ADA)[1]["type"] == "urn:standings:no-such-member"
    assert_she_is_gone(stack)
    assert stack.entries("/boards/b/points/last-7-days") == [{"rank": 1, "member": "bob", "score": 11}]
    assert stack.get("/boards/b/member", id="bob")[1] == bob


def test_what_is_left_names_a_score_in_receipts_alone_and_expires(stack: Stack) -> None:
    """Within sixty days; what receipts hold within thirty."""
    stack.clock.milliseconds += DAY
    latest = (stack.clock() + 60 * DAY) // 1000
    erase(stack)

    for table in ("Scores", "Rankings", "Receipts"):
        for item in rows(stack.dynamodb, table):
            if ADA not in json.dumps(item, default=repr):
                continue
            if table == "Receipts":  # What the event counted, for corrections
                assert int(item["e"]["N"]) <= (stack.clock() + 30 * DAY) // 1000
                continue
            assert int(item["e"]["N"]) <= latest, item
            # What has no period stays as long as an older record might be replayed; other rows may go with theirs.
            stays = table == "Scores" or item["pk"]["S"].endswith(f"a#{ADA}")
            hidden_for = DAY // 1000 if item["pk"]["S"].startswith("hidden#G") else 0
            assert not stays or int(item["e"]["N"]) == latest - hidden_for, item
            # In Scores keys, version, stamp, total (0), marks; in Rankings key, version, stamp and empty steps.
            assert item.keys() <= {"pk", "sk", "v", "t", "g", "x", "y", "e", "p"}, item
            assert item.get("g", {"N": "0"}) == {"N": "0"}


def test_a_stamp_does_not_go_back(stack: Stack) -> None:
    """The writer's clock may be ahead of the maintenance function's. A removal is later than all that counted."""
    stack.clock.milliseconds -= 5_000
    removed_at = stack.clock() + 5_001
    erase(stack)

    (item,) = (item for item in rows(stack.dynamodb, "Scores") if item["pk"]["S"].startswith("b#") and "x" in item)
    assert int(item["t"]["N"]) == removed_at


def test_it_may_be_run_again_and_changes_nothing(stack: Stack) -> None:
    assert erase(stack, "nobody")[0]["boards"] == []
    erase(stack)
    version = stack.dynamodb.stream("Scores")[0][-1]
    (answer,) = erase(stack)

    assert (answer["boards"], answer["looked_at"], answer["done"]) == ([], 5, True)
    assert stack.dynamodb.stream("Scores")[0][-1] == version


def test_an_event_that_still_arrives_brings_the_member_back_with_that_alone(stack: Stack) -> None:
    erase(stack)
    post(stack, {ADA: 2}, days_ago=1)

    card = stack.get("/boards/b/member", id=ADA)[1]
    assert (card["hidden"], card["metrics"][0]["score"]) == (False, 2)
    (item,) = (row for row in rows(stack.dynamodb, "Scores") if (row["pk"]["S"][:2], row["sk"]["S"]) == ("b#", ADA))
    assert not item.keys() & {"e", "x"}
    assert erase(stack)[0]["boards"] == ["b"]
    event = {"id": "late", "board": "club", "member": ADA, "at": NOW.isoformat(), "metrics": {"points": 1}}
    record = {"messageId": "1", "body": json.dumps(event), "messageAttributes": {}}
    assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}
    assert len(stack.dead_letters.reasons()) == 1  # On the registered board she is nobody


@EITHER
def test_each_call_does_what_its_time_allows(
    stack: Stack,
    engine: Any,
    is_built: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(member_boards, "MAX_ACTIONS", 2)
    # An eventually consistent read might miss what was counted a moment ago.
    consistent = ("BatchGetItem", "'Scores'", "'ConsistentRead': True")
    with before(engine, lambda: stack.clock.sleep(1), *consistent):
        answers = erase(stack, seconds=1.5)

    removed = [answer["boards"] for answer in answers if answer["boards"]]
    assert removed == [["b", "b-2"], ["club", "golf-1"], ["hidden"]]
    assert sum(answer["looked_at"] for answer in answers) == (5 if is_built else 6)
    assert len(answers) <= 7


def test_its_bound_is_that_of_her_boards_and_not_of_all(stack: Stack) -> None:
    """The requests of a call are counted (`most_requests`), also by the number of boards that it looks at."""
    for number in range(150):
        stack.put(f"/boards/another-{number}/member", id="bob")
    (by_index,) = erase(stack)
    (by_all,) = erase(stack, every_board=True)

    assert (by_index["looked_at"], by_all["looked_at"]) == (5, 156)
    assert (by_index["boards"], by_all["boards"]) == (HERS, [])


@pytest.mark.parametrize("seconds", [3, 800])
def test_an_index_that_lags_is_read_again(stack: Stack, engine: Any, seconds: float) -> None:
    """A board to which she came just before is not in it yet. In the second reading it is, also after 9 seconds."""
    index = engine.table("Scores").indexes["boards"]
    assert engine.query(
        TableName="Scores",
        IndexName="boards",
        KeyConditionExpression="sk = :m",
        ExpressionAttributeValues={":m": {"S": ADA}},
    )["Items"]
    index.behind, index.clock = 9.0, stack.clock.monotonic
    post(stack, {ADA: 1}, board="a-new-one")
    post(stack, {ADA: 1}, board="z-new-one")
    begun = stack.clock()
    answers = erase(stack, seconds=seconds)

    assert sorted(board for answer in answers for board in answer["boards"]) == sorted(
        [*HERS, "a-new-one", "z-new-one"]
    )
    assert [answer["wait"] > 0 for answer in answers] == ([True, False] if seconds < 10 else [False])
    assert 10_000 <= stack.clock() - begun < 13_000
    stack.clock.milliseconds += 9_000
    assert_she_is_gone(stack)


def test_whoever_does_not_trust_the_index_has_every_board_looked_at(stack: Stack, engine: Any) -> None:
    index = engine.table("Scores").indexes["boards"]
    index.behind, index.clock = 3_600.0, stack.clock.monotonic
    post(stack, {ADA: 1}, board="new")
    erase(stack)
    (answer,) = erase(stack, every_board=True)

    assert (answer["every_board"], answer["boards"]) == (True, ["new"])


def test_an_index_that_is_built_or_removed_meanwhile(stack: Stack, engine: Any) -> None:
    """A walk through all boards goes on as it began; one by an index that is gone begins again with all boards."""
    index = engine.table("Scores").indexes["boards"]
    (answer,) = erase(stack, "nobody", cursor="b-2", every_board=False)
    assert (answer["every_board"], answer["looked_at"]) == (True, 4)
    index.is_built = False
    (answer,) = erase(stack, cursor="#2#1795256100000#golf-1#")
    assert (answer["every_board"], answer["boards"], answer["looked_at"]) == (True, HERS, 6)


@pytest.mark.parametrize("cursor", ["#", "#3#1#b#", "#1#x#b#", "#1#1#b"])
def test_what_is_no_cursor_is_refused(stack: Stack, cursor: str) -> None:
    with pytest.raises(InvalidArgumentError, match="cursor: expected the cursor of an earlier answer"):
        call(stack, "erase", member=ADA, cursor=cursor)


def test_a_board_of_no_family_is_named(stack: Stack, clock: ManualClock) -> None:
    with running(stack.dynamodb, clock, (BOARDS + CLUB).replace('[boards."*"]', '[boards."b-*"]')) as narrower:
        answer = call(narrower, "erase", member=ADA)

    assert answer["boards"] == HERS
    assert [problem["board"] for problem in answer["problems"]] == ["b", "hidden"]
    assert "no family in boards.toml matches it" in answer["problems"][0]["why"]
    left = {item["sk"]["S"] for item in rows(stack.dynamodb, "Scores") if "g" in item and "x" not in item}
    assert left == {"bob"}


@pytest.mark.parametrize("member", ["", "x" * 257])
def test_what_cannot_be_a_member_is_refused(stack: Stack, member: str) -> None:
    with pytest.raises(InvalidArgumentError, match="member: expected 1 to 256 bytes of UTF-8, got"):
        call(stack, "erase", member=member)


def test_no_log_names_a_person(stack: Stack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    written = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", written)
    caplog.set_level(logging.DEBUG, logger.name)
    erase(stack)

    assert '"task":{"erase":{}}' in written.getvalue()
    assert ADA not in written.getvalue()


# ---- while others write, and while the store fails (`test_together.py` has rebuilds and deletions)


@EITHER
def test_a_board_that_others_keep_writing_is_named_and_holds_up_no_other(
    stack: Stack,
    engine: Any,
    is_built: bool,
) -> None:
    written = 0

    def write() -> None:
        """Somebody else writes Ada on the board b-2 just before each transaction that removes her."""
        nonlocal written
        written += 1
        stack.put("/boards/b-2/member", {"hidden": written % 2 == 1}, id=ADA)

    with before(engine, write, "TransactWriteItems", "'b-2#"):
        answer = call(stack, "erase", member=ADA, seconds=600)

    assert (answer["done"], answer["boards"]) == (True, ["b", "club", "golf-1", "hidden"])
    assert [problem["board"] for problem in answer["problems"]] == ["b-2"]
    assert written <= (20 if is_built else 10)
    again = call(stack, "erase", member=ADA)
    assert (again["boards"], again["problems"]) == (["b-2"], [])


def test_conflicts_and_lost_answers_are_tried_again(stack: Stack, client: Faulty) -> None:
    client.steps.extend([conflict, error("ThrottlingException"), lost_answer])
    (answer,) = erase(stack)

    assert (answer["boards"], answer["problems"]) == (HERS, [])
    assert_she_is_gone(stack)


@EITHER
def test_a_store_that_fails_halfway_ends_the_call_with_what_was_done(
    stack: Stack, client: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member_boards, "MAX_ACTIONS", 1)
    client.steps.extend([passes, *[error("ThrottlingException")] * 1_000])
    answer = call(stack, "erase", member=ADA, seconds=60)

    assert (answer["done"], answer["boards"]) == (False, ["b"])
    with pytest.raises(StoreUnavailableError):
        call(stack, "erase", member=ADA, cursor=answer["cursor"], seconds=60)
    client.steps.clear()
    rest = call(stack, "erase", member=ADA, cursor=answer["cursor"])
    assert (rest["done"], rest["boards"], rest["profile"]) == (True, HERS[1:], False)


def test_the_profile_goes_first_and_is_told_though_no_board_could_be_reached(stack: Stack, engine: Any) -> None:
    with before(engine, throttle, "DeleteItem", "'Profiles'"), pytest.raises(StoreUnavailableError):
        call(stack, "erase", member=ADA, seconds=60)
    with before(engine, throttle, "'Scores'"):
        answer = call(stack, "erase", member=ADA, seconds=60)

    assert (answer["done"], answer["boards"], answer["profile"]) == (False, [], True)
    (rest,) = erase(stack)
    assert (rest["boards"], rest["profile"]) == (HERS, False)
