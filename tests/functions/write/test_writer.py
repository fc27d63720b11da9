"""The writer: every event once, and each failure its own message's alone."""

import random
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import orjson
import pytest

from standings.aws.dynamodb.keys import member_key
from standings.aws.dynamodb.scores.member_items import decode_image
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.coverage import coverage_of
from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.events.event_rules import parse_event
from standings.runtime.environment import BOARDS_FILE
from standings.write.writer import QueueMessage, Writer, WriteResult
from tests.support.builders.catalogs import registry
from tests.support.builders.checks import rows
from tests.support.dynamodb.storage.sizes import item_size
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000  # 2026-11-21T10:15:00Z
AT = "2026-11-21T10:15:00Z"
BOARDS = parse_boards(BOARDS_FILE.read_text(encoding="utf-8"))


class Subject:
    """A writer over the engine, its faults and its time."""

    def __init__(self, engine: Any) -> None:
        self.client = faulty_client.Faulty(engine)
        self.time = faulty_client.Time(NOW)
        self.writer = Writer(
            registry(BOARDS, self.client, self.time.pacing()),
            DynamoScores(self.client, "Scores", "Receipts", self.time.pacing()),  # type: ignore[arg-type]
            self.time.pacing(),
        )

    def write(self, *events: dict[str, Any] | str, patience: float = 30.0) -> WriteResult:
        messages = [
            QueueMessage(f"message-{n}", event if isinstance(event, str) else orjson.dumps(event).decode())
            for n, event in enumerate(events)
        ]
        return self.writer.write(messages, self.time.monotonic() + patience)

    def total(self, member: str = "m", board: str = "b") -> int | None:
        values = self.values(member, board)
        family = BOARDS.family(board)
        assert family is not None
        return values.get(family.metrics["points"].total()) if values is not None else None

    def values(self, member: str = "m", board: str = "b") -> dict[str, int] | None:
        pk, sk = member_key(board, member)
        item = self.client.get_item(TableName="Scores", Key={"pk": {"S": pk}, "sk": {"S": sk}}).get("Item")
        return dict(decode_image(item).values) if item else None

    def receipts(self) -> set[str]:
        return {row["pk"]["S"] for row in rows(self.client, "Receipts")}


@pytest.fixture
def subject(engine: Any) -> Subject:
    return Subject(engine)


def event(event_id: str, points: float = 1, member: str = "m", **other: Any) -> dict[str, Any]:
    return {"id": event_id, "board": "b", "member": member, "at": AT, "metrics": {"points": points}, **other}


def test_events_of_one_member_cost_one_write_and_a_receipt_each(subject: Subject) -> None:
    written = subject.write(event("1", 3), event("2", 4), event("3", -2), event("4", 5, "n"))

    assert (written.applied, written.duplicates, written.refused, written.failed) == (4, 0, [], {})
    assert (subject.total("m"), subject.total("n")) == (5, 5)
    assert subject.receipts() == {"1", "2", "3", "4"}
    assert [len(actions) for actions in subject.client.transactions] == [6]


def test_a_duplicate_is_dropped_and_its_neighbours_are_applied(subject: Subject) -> None:
    subject.write(event("1", 3))
    written = subject.write(event("1", 3), event("2", 4), event("3", 5, "n"))

    assert (written.applied, written.duplicates, written.refused, written.failed) == (2, 1, [], {})
    assert (subject.total("m"), subject.total("n")) == (7, 5)


def test_a_batch_of_nothing_but_duplicates(subject: Subject) -> None:
    subject.write(event("1"), event("2"))
    written = subject.write(event("2"), event("1"))

    assert (written.applied, written.duplicates) == (0, 2)
    assert subject.total() == 2


def test_the_same_event_twice_in_a_batch(subject: Subject) -> None:
    written = subject.write(event("1", 3), event("1", 3.0))

    assert (written.applied, written.duplicates, subject.total()) == (1, 1, 3)


def test_the_same_id_with_another_body_is_refused(subject: Subject) -> None:
    subject.write(event("1", 3))
    later = subject.write(event("1", 4), event("2", 1))
    beside = subject.write(event("3", 1), event("3", 2))

    for written in (later, beside):
        (message, refusal) = written.refused[0]
        assert refusal.rule == "id"
        assert "used before, for an event with other content" in str(refusal)
        assert written.applied == 1
        assert message.id in {"message-0", "message-1"}
    assert subject.total() == 5


def test_a_conflict_is_tried_again_after_a_random_wait(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.conflict, faulty_client.conflict])
    written = subject.write(event("1"))

    assert (written.applied, written.conflicts, subject.total()) == (1, 2, 1)
    assert subject.time.slept == [0.01, 0.02]


@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "ThrottlingException", "InternalServerError"]
)
def test_a_throttle_is_tried_again(subject: Subject, code: str) -> None:
    subject.client.steps = deque([faulty_client.error(code)])

    assert subject.write(event("1")).applied == 1
    assert subject.total() == 1


def test_what_stays_busy_fails_alone_and_in_time(subject: Subject) -> None:
    events = [event(str(n), 1, f"m{n:03}") for n in range(60)]
    subject.client.steps = deque([faulty_client.passes, *[faulty_client.conflict] * 500])
    written = subject.write(*events, patience=10.0)

    assert written.applied == 50
    assert len(written.failed) == 10
    assert all("TransactionConflict" in reason for reason in written.failed.values())
    assert sum(subject.time.slept) < 10
    assert len(subject.receipts()) == 50


def test_what_there_is_no_time_for_is_reported_and_the_rest_stays_done(subject: Subject) -> None:
    def slow(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.client.steps.append(slow)
        subject.time.sleep(3)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([slow])
    events = [event(str(n), 1, f"m{n:03}") for n in range(250)]
    written = subject.write(*events, patience=7)

    assert (written.applied, len(written.failed), written.refused) == (150, 100, [])
    again = subject.write(*events, patience=100)
    assert (again.applied, again.duplicates) == (100, 150)


def test_a_parser_that_breaks_costs_the_neighbours_nothing(subject: Subject) -> None:
    def breaks(body: str, *given: Any, **said: Any) -> Any:
        if "poison" in body:
            raise ZeroDivisionError("a bug")
        return parse_event(body, *given, **said)

    with mock.patch("standings.write.writer.parse_event", breaks):
        written = subject.write(event("1"), event("poison"), event("2"))

    assert written.applied == 2
    assert [(m.id, r.rule, str(r)) for m, r in written.refused] == [
        ("message-1", "internal", "body: cannot be read: ZeroDivisionError('a bug')")
    ]


def test_an_event_beside_a_duplicate_has_the_room_that_there_is(subject: Subject) -> None:
    near = 9_007_000_000_000_000
    subject.write(event("0", near), event("a", 90_000_000_000))
    written = subject.write(event("a", 90_000_000_000), event("b", 40_000_000_000))

    assert (written.applied, written.duplicates, written.refused) == (1, 1, [])
    assert subject.total() == near + 130_000_000_000


def test_an_action_that_is_invalid_takes_no_other_event_along(subject: Subject) -> None:
    def invalid(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.client.steps.append(invalid)
        codes = ["None"] * len(request["TransactItems"])
        for number, action in enumerate(request["TransactItems"]):
            if action.get("Put", {}).get("Item", {}).get("pk") == {"S": "2"}:
                codes[-1] = "ValidationError"  # of the item that all of them share
                assert number < len(codes)
        if "ValidationError" in codes:
            raise faulty_client.cancelled(codes)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([invalid])
    written = subject.write(*[event(str(n)) for n in range(5)])

    assert written.applied == 4
    assert [(message.id, refusal.rule) for message, refusal in written.refused] == [("message-2", "store")]
    assert subject.total() == 4


def test_a_lost_answer_counts_once(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.lost_answer])
    written = subject.write(event("1", 3), event("2", 4))

    assert (written.applied, written.duplicates, written.failed) == (0, 2, {})
    assert subject.total() == 7


def test_a_transaction_still_going_on_is_waited_for(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.error("TransactionInProgressException")])

    assert subject.write(event("1")).applied == 1
    assert subject.time.slept[0] >= 5


def test_several_updates_are_applied_together_or_not_at_all(subject: Subject) -> None:
    pairs = [
        {"board": "b", "member": "m", "metrics": {"points": 2}},
        {"board": "clans", "member": "clan#7", "metrics": {"points": 2}},
    ]
    near = 9_007_000_000_000_000
    assert subject.write(event("0", near, "clan#7", board="clans")).applied == 1
    good = subject.write({"id": "1", "at": AT, "updates": pairs})
    pairs[1]["metrics"] = {"points": MAX_UNITS // 10**12 * 10**12 - 9 * 10**15}
    beyond = subject.write({"id": "2", "at": AT, "updates": pairs}, event("3", 5))

    assert (good.applied, beyond.applied) == (1, 1)
    assert [refusal.rule for _, refusal in beyond.refused] == ["bounds"]
    assert (subject.total(), subject.total("clan#7", "clans")) == (7, near + 2)
    assert "2" not in subject.receipts()


def test_a_list_of_boards_counts_on_each(subject: Subject) -> None:
    subject.write(event("1", 3, board=["b", "c"]), event("1", 3, board=["b", "c"]))

    assert (subject.total(board="b"), subject.total(board="c")) == (3, 3)


def test_no_total_goes_beyond_its_bounds(subject: Subject) -> None:
    large = 900_000_000_000_000
    written = subject.write(*[event(str(n), large) for n in range(12)])

    assert written.applied == 10
    assert [refusal.rule for _, refusal in written.refused] == ["bounds", "bounds"]
    assert subject.total() == 10 * large
    assert subject.write(event("back", -large)).applied == 1
    assert subject.write(event("again", large)).applied == 1
    assert subject.total() == 10 * large


def test_a_duplicate_near_the_bounds_is_still_a_duplicate(subject: Subject) -> None:
    large = 900_000_000_000_000
    events = [event(str(n), large) for n in range(10)]
    subject.write(*events)
    again = subject.write(*events)

    assert (again.duplicates, again.refused, subject.total()) == (10, [], 10 * large)
    other = subject.write(event("3", large, at="2026-11-21T10:14:00Z"))
    assert [refusal.rule for _, refusal in other.refused] == ["id"]


def test_nothing_is_refused_by_an_image_from_before(subject: Subject, engine: Any) -> None:
    large = 900_000_000_000_000
    subject.write(*[event(str(n), large) for n in range(10)])
    pk, sk = member_key("b", "m")
    old = engine.batch_get_item(RequestItems={"Scores": {"Keys": [{"pk": {"S": pk}, "sk": {"S": sk}}]}})
    Subject(engine).write(event("down", -large))

    with mock.patch.object(engine, "batch_get_item", return_value=old):
        assert subject.write(event("up", large)).applied == 1
    assert subject.total() == 10 * large


def test_near_the_bounds_another_writer_is_noticed(subject: Subject, engine: Any) -> None:
    large = 900_000_000_000_000
    subject.write(*[event(str(n), large) for n in range(9)])

    def meanwhile(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        Subject(engine).write(event("other", large))
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([meanwhile])
    written = subject.write(event("mine", large))

    assert [refusal.rule for _, refusal in written.refused] == ["bounds"]
    assert subject.total() == 10 * large


def test_the_newest_stamp_on_an_item_decides_what_is_late(subject: Subject, engine: Any) -> None:
    ahead = Subject(engine)
    ahead.time.milliseconds = NOW + 8 * 86_400_000
    ahead.write(event("1", 1))
    behind = subject.write(event("2", 2))

    assert behind.applied == 1
    values = subject.values()
    assert values is not None
    family = BOARDS.family("b")
    assert family is not None
    points = family.metrics["points"]
    day = family.timetable.index("d", NOW)
    assert values[points.total()] == 3
    assert points.bucket("d", day) not in values


def test_a_stamp_that_moved_on_meanwhile_is_taken(subject: Subject, engine: Any) -> None:
    subject.write(event("0", 1))

    def meanwhile(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        other = Subject(engine)
        other.time.milliseconds = NOW + 8 * 86_400_000
        other.write(event("other", 1))
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([meanwhile])

    assert subject.write(event("mine", 2)).applied == 1
    pk, sk = member_key("b", "m")
    item = engine.get_item(TableName="Scores", Key={"pk": {"S": pk}, "sk": {"S": sk}})["Item"]
    assert int(item["t"]["N"]) == NOW + 8 * 86_400_000
    assert subject.total() == 4


def test_what_can_no_longer_be_read_is_removed(subject: Subject) -> None:
    subject.write(event("1"))
    before = subject.values()
    subject.time.milliseconds += 60 * 86_400_000
    subject.write(event("2", at="2027-01-20T10:15:00Z"))
    after = subject.values()

    assert before is not None
    assert after is not None
    assert len(before) == len(after) == 2
    assert len(before.keys() & after.keys()) == 1
    assert subject.total() == 2


def days_of_activity(kind: str) -> Iterator[int]:
    """The days of three years on which a member is active."""
    rng = random.Random(7)
    day = 0
    while day < 3 * 365:
        yield day
        if kind == "daily":
            day += 1
        elif kind == "weekly":
            day += 7
        else:  # five weeks of every day, then nothing for a quarter
            day += 1 if day % 125 < 35 else 90
            day += rng.randrange(2)


@pytest.mark.parametrize("kind", ["daily", "weekly", "bursts"])
@pytest.mark.parametrize(("board", "limit"), [("berlin-2026", 1024), ("demo-berlin-2026", 2048)])
def test_an_item_stays_small_over_three_years(subject: Subject, kind: str, board: str, limit: int) -> None:
    member = "images/2026/berlin/0001.jpg"
    pk, sk = member_key(board, member)
    largest = count = 0
    for day in days_of_activity(kind):
        subject.time.milliseconds = NOW + day * 86_400_000
        at = datetime.fromtimestamp(subject.time.milliseconds / 1000, UTC).isoformat()
        assert subject.write(event(str(day), 87_654, member, board=board, at=at)).applied == 1
        count += 1
        item = subject.client.get_item(TableName="Scores", Key={"pk": {"S": pk}, "sk": {"S": sk}})["Item"]
        largest = max(largest, item_size(item))

    assert subject.total(member, board) == count * 87_654
    assert 100 < largest < limit


def test_what_the_store_refuses_is_found_and_put_aside(subject: Subject, engine: Any) -> None:
    def refuses_poison(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.client.steps.append(refuses_poison)
        if any(action.get("Put", {}).get("Item", {}).get("pk") == {"S": "13"} for action in request["TransactItems"]):
            return faulty_client.error("ValidationException")(client, request)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([refuses_poison])
    written = subject.write(*[event(str(n), 1, f"m{n}") for n in range(30)])

    assert written.applied == 29
    assert [(message.id, refusal.rule) for message, refusal in written.refused] == [("message-13", "store")]
    assert engine.get_item(TableName="Receipts", Key={"pk": {"S": "13"}}).get("Item") is None


def test_malformed_messages_cost_their_neighbours_nothing(subject: Subject) -> None:
    written = subject.write("{", event("1"), event("2", True), event("3"))

    assert written.applied == 2
    assert [(m.id, r.rule) for m, r in written.refused] == [("message-0", "json"), ("message-2", "amount")]


def test_the_first_event_puts_a_board_on_the_list(subject: Subject, engine: Any) -> None:
    subject.write(event("1"), event("2"))
    subject.write(event("3", board="demo-x"))
    listed = {row["sk"]["S"] for row in rows(engine, "Scores") if row["pk"]["S"] == "#boards"}

    family = BOARDS.family("b")
    assert family is not None
    assert listed == {"b", "demo-x"}
    assert subject.writer.registry.records.records(["b"])["b"].coverage == coverage_of(family)


def test_receipts_live_for_thirty_days(subject: Subject, engine: Any) -> None:
    subject.write(event("1"))

    receipt = engine.get_item(TableName="Receipts", Key={"pk": {"S": "1"}})["Item"]
    assert int(receipt["e"]["N"]) == NOW // 1000 + 30 * 86_400


def test_a_thousand_messages(subject: Subject) -> None:
    events = [event(str(n % 900), 1, f"m{n % 900 % 170}") for n in range(1000)]
    written = subject.write(*events)

    assert (written.applied, written.duplicates, written.failed, written.refused) == (900, 100, {}, [])
    assert sum(subject.total(f"m{n}") or 0 for n in range(170)) == 900
    assert all(len(actions) <= 100 for actions in subject.client.transactions)
    assert sum(len(actions) for actions in subject.client.transactions) == 900 + 170
