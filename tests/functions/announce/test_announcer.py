"""The announcer's handler, what the projector asks it to look at, what was last announced, and what it costs."""

import os
import random
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import orjson
import pytest

from benchmarks.harness.meter import Meter, Units
from standings.announce import ENOUGH, MAX_DETAIL, MAX_EQUALS, PATIENCE
from standings.aws.dynamodb.versioned_items import AnnouncedTop, AnnouncedTops, Standing
from standings.domain.boards import Ranking
from standings.domain.boards_toml import parse_boards
from standings.wiring import building_blocks
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import ManualClock, Stack, announce, apply, event, running, write
from tests.support.awslambda.pollers import Context
from tests.support.awslambda.settings import timeout
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import before, throttle, unprojected
from tests.support.dynamodb.tables import engine_with_tables

BOARDS = """
[boards."*"]
announce.all = { top = 3 }
announce.day = { top = 2 }
metrics.points = { aggregate = "sum", precision = 1, windows = ["all", "day", "last-7-days"] }
[boards."cup"]
announce.season = { top = 3 }
metrics.points = { aggregate = "sum", windows = ["season"] }
seasons = [{ name = "autumn-2026", starts = "2026-09-01", ends = "2026-12-01" }]
[boards."wide"]
announce.all = { top = 100 }
metrics.points = { aggregate = "sum", windows = ["all"] }
[boards."icpc"]
announce.day = { top = 2 }
metrics.solved = { aggregate = "sum", windows = ["day"], tie_breaks = ["penalty", "level"] }
metrics.penalty = { aggregate = "sum", order = "ascending" }
metrics.level = { aggregate = "max" }
[boards."quiet"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
"""


def events(stack: Stack, board: str = "b", **points: float) -> list[dict[str, Any]]:
    number = len(stack.dynamodb.scan(TableName="Receipts")["Items"])
    at = datetime.fromtimestamp(stack.clock() / 1000, UTC).isoformat()
    return [
        {"id": f"{number}-{member}", "board": board, "member": member, "at": at, "metrics": {"points": amount}}
        for member, amount in points.items()
    ]


def post(stack: Stack, board: str = "b", **points: float) -> None:
    apply(stack, events(stack, board, **points))


def of(events: list[dict[str, Any]], window: str) -> list[dict[str, Any]]:
    return [event for event in events if event["window"] == window]


def test_a_moving_top_is_announced(stack: Stack) -> None:
    post(stack, ann=3, ben=2.5, cem=1)
    (first,) = of(announce(stack), "all")
    assert first.pop("id")
    about = {"source": "standings", "type": "Top Changed", "stack": "standings", "board": "b", "metric": "points"}
    period = dict.fromkeys(("name", "starts", "ends", "start", "end"))
    scores = enumerate((("ann", 3), ("ben", 2.5), ("cem", 1)), 1)
    top = [{"rank": rank, "member": member, "score": score} for rank, (member, score) in scores]
    told = {"seq": 1, "as_of": "2026-11-21T10:15:00.000Z", "entered": top, "left": [], "moved": [], "top": top}
    assert first == {**about, "window": "all", "period": period, **told}

    stack.clock.milliseconds += 2_000
    post(stack, dan=2.6, cem=2)
    (second,) = of(announce(stack), "all")
    assert second["seq"] == 2
    assert second["entered"] == [{"rank": 3, "member": "dan", "score": 2.6}]
    assert second["left"] == [{"was": 2, "member": "ben"}]
    assert second["moved"] == [{"rank": 1, "was": 3, "member": "cem"}]

    # An event that is taken back moves the top as a negative amount would.
    stack.clock.milliseconds += 2_000
    apply(stack, [{"id": "back", "retract": "0-cem"}])
    (third,) = of(announce(stack), "all")
    assert third["entered"] == [{"rank": 3, "member": "ben", "score": 2.5}]
    assert third["left"] == [{"was": 1, "member": "cem"}]
    assert third["moved"] == [{"rank": 2, "was": 3, "member": "dan"}]

    # What leaves the top as it is is not announced, and a board that does not announce asks for no look.
    stack.clock.milliseconds += 2_000
    post(stack, eve=1)
    assert of(announce(stack), "all") == []
    post(stack, board="quiet", ann=3)
    assert stack.looks.messages == []


def test_a_tie_break_alone_moves_the_top_and_each_line_has_them(stack: Stack) -> None:
    def play(member: str, **metrics: int) -> list[dict[str, Any]]:
        numbers = {"id": f"{member}-{metrics}", "board": "icpc", "member": member, "metrics": metrics}
        stack.clock.milliseconds += 2_000
        apply(stack, [{**numbers, "at": "2026-11-21T10:15:00Z"}])
        return announce(stack)

    play("ann", solved=2, penalty=30)
    play("ben", solved=2, penalty=40)
    (overtaken,) = play("ann", penalty=20, level=3)
    (entered,) = play("cem", solved=2, penalty=40)

    ann, ben, cem = (
        {"member": member, "score": 2, "tie_breaks": {"penalty": penalty, "level": level}}
        for member, penalty, level in (("ann", 50, 3), ("ben", 40, None), ("cem", 40, None))
    )
    assert overtaken["top"] == [{"rank": 1, **ben}, {"rank": 2, **ann}]
    assert overtaken["moved"] == [{"rank": 1, "was": 2, "member": "ben"}, {"rank": 2, "was": 1, "member": "ann"}]
    assert (entered["entered"], entered["left"]) == ([{"rank": 1, **cem}], [{"was": 2, "member": "ann"}])


def test_a_new_period_is_announced_when_its_top_first_changes(stack: Stack) -> None:
    post(stack, ann=3)
    (first,) = of(announce(stack), "day")
    stack.clock.milliseconds += 24 * 3_600_000
    assert announce(stack) == []
    post(stack, ben=1)
    (second,) = of(announce(stack), "day")
    assert (first["seq"], second["seq"]) == (1, 1)
    assert first["period"]["end"] == second["period"]["start"]
    assert first["id"] != second["id"]


def test_a_season_is_announced_by_name_until_nobody_names_it_any_more(stack: Stack) -> None:
    post(stack, board="cup", ann=3)
    (event,) = announce(stack)
    assert (event["window"], event["period"]["name"]) == ("season", "autumn-2026")
    post(stack, board="cup", ben=4)
    (look,) = stack.looks.records()
    gone = orjson.loads(look["body"])
    gone["ranking"][3] += 1
    assert stack.announcer({"Records": [{**look, "body": orjson.dumps(gone)}]}, Context()) == {"batchItemFailures": []}
    assert len(stack.bus.events) == 1


@pytest.mark.parametrize("slow_ms", [0, 600])
def test_the_batch_comes_again_if_the_announcer_cannot_be_told_or_it_is_too_late_to(stack: Stack, slow_ms: int) -> None:
    """A call that hangs may use up the time that is left to answer. So none begins after the deadline."""
    stack.looks.refusal = lambda _: "" if slow_ms else "InternalError"
    write(stack, events(stack, ann=1))
    records = unprojected(stack)
    stack.dynamodb.before.append(lambda *_: setattr(stack.clock, "milliseconds", stack.clock.milliseconds + slow_ms))
    answer = stack.projector({"Records": records}, Context(seconds=building_blocks.REPORTING_RESERVE + 1))
    assert answer == {"batchItemFailures": [{"itemIdentifier": records[0]["dynamodb"]["SequenceNumber"]}]}
    assert stack.looks.messages == []
    stack.dynamodb.before.clear()
    assert slow_ms or stack.entries("/boards/b/points/all") != []

    stack.looks.refusal = lambda _: ""
    assert stack.projector({"Records": records}, Context()) == {"batchItemFailures": []}
    assert len(of(announce(stack), "all")) == 1


def test_a_look_comes_again_if_its_time_is_over_or_the_next_one_is_not_queued(stack: Stack) -> None:
    for number in range(6):
        post(stack, f"b{number}", ann=1)
    looks = stack.looks.records()
    # A call that is throttled may take seconds, and there is time for one.
    for seconds, calls in ((0, 0), (60, 1)):
        with mock.patch.object(stack.looks, "send_message_batch", side_effect=lambda **_: throttle()) as sent:
            failed = stack.announcer({"Records": looks}, Context(seconds=seconds))["batchItemFailures"]
        assert [one["itemIdentifier"] for one in failed] == [look["messageId"] for look in looks]
        assert (len(looks), sent.call_count) == (12, calls)

    assert stack.announcer({"Records": looks}, Context()) == {"batchItemFailures": []}
    assert len(stack.looks.messages) == len(looks)


def test_looks_end_in_time_where_every_call_is_throttled_for_seconds(engine: Any, clock: ManualClock) -> None:
    with running(engine, clock, BOARDS.replace('"*"]', '"*"]\nshards = 16', 1)) as stack:
        post(stack, ann=1)
        looks, began, seconds = stack.looks.records(), clock.monotonic(), timeout("AnnouncerFunction")
        last = began

        def hook(*_: Any) -> None:
            nonlocal last
            clock.sleep(0.5)
            if clock.monotonic() < last + 3:
                throttle()
            last = clock.monotonic()

        engine.before.append(hook)
        assert len(stack.announcer({"Records": looks}, Context(seconds=seconds))["batchItemFailures"]) == len(looks)
        assert clock.monotonic() < began + seconds - building_blocks.MAX_CALL_S
        engine.before.remove(hook)
        assert stack.announcer({"Records": looks}, Context()) == {"batchItemFailures": []}
        assert len(stack.bus.events) == len(looks)


def test_a_ranking_whose_members_stand_in_two_parts_of_a_batch_is_announced_after_each(
    stack: Stack, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A member of `b` fills a part. The last one cannot be placed for a while: what the others did is told."""
    monkeypatch.setattr("standings.project.projector.MAX_PLACEMENTS", 3)
    for board, member in (("b", "ann"), ("wide", "cem"), ("b", "ben")):
        write(stack, events(stack, board, **{member: 1}))
    records = unprojected(stack)
    told = []
    for refused in ("#ben", "nothing"):
        with before(engine, throttle, "TransactWriteItems", refused):
            (*failed,) = stack.projector({"Records": records}, Context(seconds=60))["batchItemFailures"]
        records = [one for one in records if failed and one["dynamodb"]["Keys"]["sk"]["S"] == "ben"]
        assert [one["itemIdentifier"] for one in failed] == [one["dynamodb"]["SequenceNumber"] for one in records]
        told.append([orjson.loads(look["MessageBody"])["ranking"][:3] for look in stack.looks.messages])
        announced = announce(stack)
        stack.clock.milliseconds += 2_000
        told.append([[event["board"], *(line["member"] for line in event["top"])] for event in announced])

    rankings = [["b", "points", window] for window in ("all", "day")]
    assert sorted(told[0]) == [*rankings, ["wide", "points", "all"]]
    assert sorted(told[1]) == [["b", "ann"], ["b", "ann"], ["wide", "cem"]]
    assert sorted(told[2]) == rankings
    assert told[3] == [["b", "ann", "ben"], ["b", "ann", "ben"]]


def test_a_message_that_is_no_look_is_dropped_and_told(stack: Stack, caplog: pytest.LogCaptureFixture) -> None:
    records = [{"messageId": "m", "body": body} for body in ("{", '{"ranking": ["b"], "tries": 0}', "[]")]
    assert stack.announcer({"Records": records}, Context()) == {"batchItemFailures": []}
    assert caplog.messages == ["message dropped"] * len(records)


def test_an_announcement_that_was_held_up_and_the_next_are_a_second_apart(stack: Stack) -> None:
    post(stack, ann=1)
    stack.bus.fails = lambda _: "ThrottlingException"
    held_up = stack.looks.records()
    answer = stack.announcer({"Records": held_up}, Context())
    assert {one["itemIdentifier"] for one in answer["batchItemFailures"]} == {one["messageId"] for one in held_up}
    stack.clock.milliseconds += 60_000
    post(stack, ann=1)
    stack.bus.fails = lambda _: None

    stack.announcer({"Records": [*held_up, *stack.looks.records()]}, Context())
    # Nor does a clock that is behind make them faster.
    for passed, numbers in ((0, [1]), (-500, [1]), (1_499, [1]), (1, [1, 2])):
        stack.clock.milliseconds += passed
        stack.announcer({"Records": held_up}, Context())
        assert [event["seq"] for event in of(stack.bus.events, "all")] == numbers


CROWD = [{**event(f"m{number:03}", 1), "board": "cup"} for number in range(MAX_EQUALS + 5)]


def assert_the_index_is_trusted_after_a_quarter_of_an_hour(stack: Stack) -> list[dict[str, Any]]:
    begun = stack.clock()
    announced = announce(stack)
    assert stack.clock() - begun >= 15 * 60_000
    return announced


@pytest.mark.parametrize("chance", [0.0, 0.999])
def test_a_crowd_of_equals_is_announced_after_a_quarter_of_an_hour(
    engine: Any, clock: ManualClock, chance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By chance, each wait is between half of its length and all of it, and never longer than SQS can delay."""
    monkeypatch.setattr("random.random", lambda: chance)
    with running(engine, clock, BOARDS) as stack:
        apply(stack, CROWD)
        assert len(assert_the_index_is_trusted_after_a_quarter_of_an_hour(stack)) == 1
    assert PATIENCE < ENOUGH


def test_a_new_look_at_a_crowd_is_not_given_up_with_an_old_one(stack: Stack) -> None:
    apply(stack, CROWD)
    (first, *_) = stack.looks.records()
    ranking = orjson.loads(first["body"])["ranking"]
    old, new = (orjson.dumps({"ranking": ranking, "tries": tries}) for tries in (ENOUGH, 0))
    looks = [{"messageId": "old", "body": old}, {"messageId": "new", "body": new}]
    stack.announcer({"Records": looks[:1]}, Context())
    announce(stack)
    stack.clock.milliseconds += 2_000
    stack.announcer({"Records": looks[:1]}, Context())
    assert stack.looks.messages == []
    stack.announcer({"Records": looks}, Context())
    assert len(stack.looks.messages) == 1
    assert_the_index_is_trusted_after_a_quarter_of_an_hour(stack)


def ranking_of(boards: str) -> Ranking:
    (family,) = parse_boards(boards).families
    metric = family.metrics["points"]
    seasons = family.timetable.seasons.indexes
    return Ranking("b", metric, metric.windows[0], seasons[0] if seasons else 20_778)


def test_what_was_announced_survives_and_goes_with_its_period(engine: Any) -> None:
    tops = AnnouncedTops(engine, "Rankings")
    ranking = ranking_of('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["day"] }')
    assert tops.read(ranking) is None
    first = AnnouncedTop(1, 1, 5, [Standing("ü", (-(2**53) + 1,))], {"id": "x"})
    assert tops.put(ranking, first)
    assert not tops.put(ranking, first)
    assert tops.read(ranking._replace(generation=4)) == first
    # Version 0.2 wrote the event down as a text.
    (item,) = engine.scan(TableName="Rankings")["Items"]
    content = orjson.loads(item["d"]["S"])
    text = orjson.dumps({**content, "unsent": orjson.dumps(content["unsent"]).decode()}).decode()
    engine.put_item(TableName="Rankings", Item={**item, "d": {"S": text}})
    assert tops.read(ranking) == first
    assert tops.put(ranking, first._replace(version=2, unsent=None))
    assert not tops.put(ranking, first._replace(version=2, unsent=None))
    (item,) = engine.scan(TableName="Rankings")["Items"]
    assert "e" in item


@pytest.mark.parametrize("character", ["\x01", "\\", "x", "😀"], ids=ascii)
def test_a_top_of_the_longest_ids_is_announced_within_the_limits(stack: Stack, character: str) -> None:
    """The simulated DynamoDB and EventBridge refuse what the real ones would: 400 KB and 256 KiB."""
    count = 253 // len(character.encode())
    ids = [f"{character * count}{number:03}" for number in range(200)]
    for first in (0, 100):
        apply(stack, [{**event(ids[n], n + 1), "id": str(n), "board": "wide"} for n in range(first, first + 100)])
        (announced,) = announce(stack)
        expected = {
            "top": [{"rank": 1 + n, "member": ids[first + 99 - n], "score": first + 100 - n} for n in range(100)],
            "left": [{"was": 1 + n, "member": ids[99 - n]} for n in range(100 if first else 0)],
            "moved": [],
        }
        expected["entered"] = expected["top"]
        assert announced["top"] == expected["top"]
        assert (len(orjson.dumps(announced)) > 0.9 * MAX_DETAIL) is (character == "\x01")
        assert {name: announced[name] for name in expected} == {
            name: lines[: len(announced[name])] for name, lines in expected.items()
        }
        assert announced.get("cut", []) == [
            name for name in ("entered", "left", "moved") if len(announced[name]) < len(expected[name])
        ]


def test_a_season_keeps_its_numbers_as_long_as_a_later_season_can_make_it_readable(engine: Any) -> None:
    season = '[[boards."*".seasons]]\nname = "{}"\nstarts = "{}"\nends = "{}"\n'
    autumn = season.format("autumn", "2026-09-01", "2026-12-01")
    summer = season.format("summer", "2027-06-01", "2027-09-01")
    family = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["season"] }\n'
    before, after = ranking_of(family + autumn), ranking_of(family + autumn + summer)
    assert before.key == after.key
    assert AnnouncedTops(engine, "Rankings").put(before, AnnouncedTop(1, 1, 5, [Standing("ann", (-1,))], None))
    (item,) = engine.scan(TableName="Rankings")["Items"]
    assert after.readable_until is not None
    assert int(item["e"]["N"]) * 1000 >= after.readable_until


QUIET = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"] }\n'
ANNOUNCING = f"{QUIET}announce.all = {{ top = 3 }}\nannounce.day = {{ top = 3 }}\n"
WITHOUT = {name: value for name, value in ENVIRONMENT.items() if name != "LOOKS_QUEUE_URL"}


def cost(boards: str, environment: Mapping[str, str]) -> tuple[dict[str, Units], int, list[str]]:
    """What events and reads cost, by request; how many looks were asked for; and what was written down."""
    engine = engine_with_tables()
    meter = Meter(engine)
    with (
        mock.patch.dict("tests.support.aws.stack.ENVIRONMENT", environment, clear=True),
        mock.patch.dict(os.environ),
        # By chance the projector looks for empty tiers.
        mock.patch.object(random, "random", return_value=0.99),
        running(meter, ManualClock(1_795_256_100_000), boards) as stack,
    ):
        apply(stack, [event(f"m{number}", number) for number in range(50)])
        for member in ("m1", "m49"):
            apply(stack, [event(member, 500)])
        stack.get("/boards/b/points/all", limit=10)
        tops = [row["pk"]["S"] for row in rows(engine, "Rankings") if row["pk"]["S"].endswith("/top")]
        return dict(meter.snapshot().operations), len(stack.looks.messages), tops


def test_announcements_cost_no_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boards that do not announce ask for nothing, and so does a stack without the parameter, whatever boards say."""
    monkeypatch.delenv("LOOKS_QUEUE_URL", raising=False)
    before = cost(QUIET, WITHOUT)
    assert before[1:] == (0, [])
    assert cost(QUIET, ENVIRONMENT) == before
    assert cost(ANNOUNCING, WITHOUT) == before
    assert cost(ANNOUNCING, ENVIRONMENT) == (before[0], 2 * 3, []), "one look for each announced ranking and batch"
