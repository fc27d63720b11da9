"""The writer's requests have a bound, and so has the size of each, whatever a batch holds."""

import random
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Any

import orjson
import pytest

from standings.aws.dynamodb.scores import Rewrite, Scores, decode_image, encode_image
from standings.aws.dynamodb.tables import member_item_key
from standings.domain.boards import MAX_UNITS, Metric
from standings.domain.boards_toml import most_bytes
from standings.domain.members import Image, new_image, rewritten
from standings.domain.scoring import aggregate_of_event
from standings.domain.windows import instant
from standings.write import writer
from tests.support.aws.stack import ManualClock, Stack, deliver, project, running
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import clock_of
from tests.support.builders.points import family
from tests.support.dynamodb.items import item_size
from tests.support.dynamodb.requests import Requests
from tests.support.thoroughness import seeds

CLIENT = Requests
NEAR = MAX_UNITS // 10**6 * 10**6  # An amount may have 15 digits that count
DAY = 24 * 60 * 60 * 1000
SUMS = [f"sum_{number}" for number in range(17)]
MANY_METRICS = """
[boards."*"]
metrics.best = { aggregate = "max", notes = true, windows = ["all", "last-16-days"] }
metrics.fastest = { aggregate = "max", notes = true, windows = ["all", "last-8-days"] }
""" + "".join(
    f'metrics.{name} = {{ aggregate = "sum", windows = ["all", "hour", "day", "week", "month", "year"] }}\n'
    for name in SUMS
)


def write(stack: Stack, bodies: list[dict[str, Any]]) -> None:
    """Write events of now, in one batch."""
    deliver(stack, [{"at": instant(stack.clock()), **body} for body in bodies])
    project(stack)


def events(count: int, points: int) -> list[dict[str, Any]]:
    return [{"id": f"e{n}", "board": "b", "member": "m", "metrics": {"points": points}} for n in range(count)]


@pytest.mark.parametrize("count", [5, 99])
def test_events_beyond_the_bounds_take_as_many_requests_as_one(stack: Stack, count: int) -> None:
    write(stack, events(1, NEAR))
    stack.dynamodb.take()

    # The first one was counted before, so it is a duplicate. Each other one would pass the bound.
    write(stack, events(count, NEAR))

    assert len(stack.dead_letters.messages) == count - 1
    # The board's record, the item, eventually and strongly consistently, and the receipts. Of events nothing is left to
    # write; each refusal is remembered.
    reads = ("get_item", "Scores"), ("batch_get_item", "Receipts")
    refusals = {("put_item", "Receipts"): count - 1}
    assert stack.dynamodb.take() == {("batch_get_item", "Scores"): 2, **dict.fromkeys(reads, 1), **refusals}


class Sizes:
    """The most bytes of an expression, an item and a transaction. The engine refuses what is beyond DynamoDB's limits.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
    """

    def __init__(self, engine: Any) -> None:
        self.expression = self.item = self.transaction = self.actions = 0
        engine.before.append(self._before)

    def _before(self, _: str, request: dict[str, Any]) -> None:
        actions = [of for action in request.get("TransactItems", []) for of in action.values()]
        items = [item_size(action["Item"]) for action in actions if "Item" in action]
        self.actions = max(self.actions, len(actions))
        self.item, self.transaction = max([self.item, *items]), max(self.transaction, sum(items))
        self.expression = max([self.expression, *(len(action.get("UpdateExpression", "")) for action in actions)])


@pytest.mark.parametrize("seed", seeds(2, 10))
def test_a_member_who_comes_back_after_months_is_counted_and_old_accumulators_go(
    engine: Any, clock: ManualClock, seed: int
) -> None:
    rng = random.Random(seed)
    sizes = Sizes(engine)
    with running(engine, clock, MANY_METRICS) as stack:
        for day in range(rng.randint(30, 45)):
            about = {"board": "b", "member": "m", "note": {"video": "x" * 40}}
            write(stack, [{"id": f"d{day}", **about, "metrics": {"best": day, "fastest": day}}])
            clock.milliseconds += DAY
        clock.milliseconds += rng.randint(100, 400) * DAY
        before = len(_attributes(engine))

        for number in range(2):
            metrics = dict.fromkeys(rng.sample(SUMS[1:], rng.randint(13, 16)), 1)
            write(stack, [{"id": f"back{number}", "board": "b", "member": "m", "metrics": metrics | {"sum_0": 1}}])

        assert stack.dead_letters.reasons() == []
        assert stack.entries("/boards/b/sum_0/all") == [{"rank": 1, "member": "m", "score": 2}]
        assert len(_attributes(engine)) < before
    assert sizes.expression > 0.6 * 4096, "the writer reckons with longer names than most are"


@pytest.mark.parametrize("seed", seeds(1, 5))
def test_members_whose_items_are_as_large_as_can_be_are_counted_in_one_batch(
    engine: Any, clock: ManualClock, seed: int
) -> None:
    """Their items together pass what a transaction may have, 4 MB: only what changes is sent."""
    rng = random.Random(seed)
    sizes = Sizes(engine)
    metrics = [f"m{number}" for number in range(rng.choice([10, 15, 20]))]
    members = [f"m{number:02}" for number in range(rng.randint(12, 20))]
    days = 390_000 // 545 // len(metrics) - 6
    definitions = f'[boards."*"]\nlate = "1 day"\nkeep = "{days} days"\n' + "".join(
        f'metrics.{name} = {{ aggregate = "last", windows = ["all", "day"] }}\n' for name in metrics
    )

    def events_of(day: int, *members: str) -> list[dict[str, Any]]:
        about = {"board": "b", "at": instant(clock()), "metrics": dict.fromkeys(metrics, day)}
        return [{"id": f"{LONGEST}{day:03}{member}", "member": member, **about} for member in members]

    with running(engine, clock, definitions) as stack:
        for day in range(days + 4):
            deliver(stack, events_of(day, members[0]))
            clock.milliseconds += DAY
        (item,) = (one for one in rows(engine, "Scores") if one["sk"]["S"] == members[0])
        for member in members[1:]:
            engine.put_item(TableName="Scores", Item={**item, **member_item_key("b", member)})
        deliver(stack, events_of(days + 4, *members))

        assert stack.dead_letters.reasons() == []
        for member in members:
            card = stack.get("/boards/b/member", id=member)[1]
            assert {metric["score"] for metric in card["metrics"]} == {days + 4}
    assert 0.8 * 400 * 1024 < sizes.item <= 400_000
    assert len(members) * sizes.item > 4 * 1024 * 1024 > 8 * sizes.transaction


LARGEST = {
    "last": ('keep = "29 days"', 20, 'aggregate = "last", windows = ["all", "day"]'),
    "notes": ('keep = "2 days"', 2, 'aggregate = "last", notes = true, windows = ["all", "last-50-days"]'),
}
"""Families whose items may be almost as large as the build allows: rules, number of metrics, metric."""
NOTE = {"video": "x" * 240}
TEN = [f"b{number}" for number in range(10)]
PAIRS = 50  # Pairs of board and member that one event may have


def fullest(metrics: Iterable[Metric], now: int) -> Image:
    """The item of a member that was active in every bucket that it may still hold."""
    image, event_id = new_image("b", "", now), LONGEST + "000000"
    for metric in metrics:
        names = [metric.total()]
        for unit in metric.bucket_codes:
            index: int | None = metric.timetable.index(unit, now)
            while index is not None and metric.expires(unit, index) > now:
                names.append(metric.bucket(unit, index))
                index = None if unit == "s" else metric.timetable.offset(unit, index, -1)
        note = orjson.dumps(NOTE).decode() if metric.notes else ""
        cell = aggregate_of_event(metric, 1, now - DAY, event_id, note)
        image = reduce(lambda image, name: image.with_cells({name: cell}), names, image)
    return rewritten(image, now, [])


@pytest.mark.parametrize("kind", LARGEST)
def test_an_event_of_as_many_pairs_as_may_be_is_counted_however_large_their_items_are(
    engine: Any, clock: ManualClock, kind: str
) -> None:
    rules, count, metric = LARGEST[kind]
    definitions = f'[boards."*"]\nlate = "1 day"\n{rules}\n' + "".join(
        f"metrics.m{number} = {{ {metric} }}\n" for number in range(count)
    )
    metrics = family("b", definitions).metrics.values()
    sizes, image = Sizes(engine), fullest(metrics, clock() - 1)
    full = [replace(image, board=board, member=f"full {n}") for board in TEN for n in range(5)]
    engine.load("Scores", map(encode_image, full))
    assert PAIRS * item_size(encode_image(image)) > 4 * 1024 * 1024
    about = {"board": TEN, "metrics": {f"m{number}": 7 for number in range(count)}}
    about |= {"note": NOTE} if kind == "notes" else {}
    with running(engine, clock, definitions) as stack:
        # Members are new, then their items are full, then some buckets of these have expired.
        for member, days in (("new", 0), ("full", 0), ("full", 9)):
            clock.milliseconds += days * DAY
            updates = [{**about, "member": f"{member} {n}"} for n in range(5)]
            deliver(stack, [{"id": f"{LONGEST}{member}{days}", "at": instant(clock()), "updates": updates}])
            assert stack.dead_letters.reasons() == []
    items = [decode_image(item) for item in rows(engine, "Scores") if item["pk"]["S"] != "#boards"]
    assert len(items) == 2 * PAIRS
    assert {item.values[metric.total()] for item in items for metric in metrics} == {7}
    counted = [item for item in items if item.member.startswith("full")]
    assert {item.written_at_ms for item in counted} == {clock()}
    assert all(len(item.values) < len(image.values) for item in counted)
    assert sizes.transaction < 4_000_000


@pytest.mark.parametrize("seed", seeds(1, 10))
def test_a_patch_leaves_the_item_that_a_rewrite_leaves(engine: Any, clock: ManualClock, seed: int) -> None:
    """Also of a member that version 0.3 removed, whose item has a mark instead of a stamp."""
    rng, scores = random.Random(seed), Scores(engine, "Scores", "Receipts", clock_of(clock))

    def some_image(version: int) -> Image:
        values = {f"b1bd{day}": rng.randrange(2) for day in rng.sample(range(9), rng.randrange(9))}
        one, two, three = ({name: rng.choice("xy") for name in values if rng.random() < 0.5} for _ in range(3))
        removal: dict[str, Any] = rng.choice([{}, {"removed_at": 7}, {"removed_at": 7, "removed": True}])
        return Image("b", "m", version, 7, len(values), rng.random() < 0.5, values, one, two, three, **removal)

    for version in range(1, 100):
        item = encode_image(some_image(version)) if rng.random() < 0.9 else None
        if item is not None and "y" in item and rng.random() < 0.5:
            item["y"] = {"BOOL": True}
        before, after, left = None if item is None else decode_image(item), some_image(version + 1), []
        for change in (Rewrite(after, before, whole=False), Rewrite(after, before)):
            engine.delete_item(TableName="Scores", Key=member_item_key("b", "m"))
            engine.load("Scores", [] if item is None else [item])
            assert scores.apply([], [change], clock()) == []
            left.append(rows(engine, "Scores"))
        assert left[0] == left[1] == [encode_image(after)]


@pytest.mark.parametrize("most", [120, 250, 900])
def test_a_patch_has_no_more_changes_than_fit_and_old_accumulators_go_a_few_at_a_time(
    engine: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(writer, "MOST_WHOLE_BYTES", 0)
    monkeypatch.setattr(writer, "MAX_EXPRESSION", most)
    metric = 'aggregate = "last", notes = true, windows = ["all", "day", "last-9-days"]'
    definitions = (
        f'[boards."*"]\nlate = "2 days"\nkeep = "2 days"\nmetrics.a = {{ {metric} }}\nmetrics.b = {{ {metric} }}'
    )
    with running(engine, clock, definitions) as stack:
        sizes = Sizes(engine)
        for day in (*range(14), *range(114, 140)):
            for ago in range(9 if day < 100 else 1):
                about = {"board": "b", "member": "m", "at": instant(clock() - ago * DAY), "note": {"video": "x" * 9}}
                write(stack, [{"id": f"{day}-{ago}", **about, "metrics": {"a": day, "b": day}}])
            clock.milliseconds += DAY if day != 13 else 100 * DAY
        assert stack.entries("/boards/b/a/all") == [{"rank": 1, "member": "m", "score": 139}]
        assert len(_attributes(engine)) < 130
    assert sizes.expression <= most


def test_a_batch_whose_changes_alone_are_too_large_is_halved(
    engine: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MOST_WHOLE_BYTES", 0)
    monkeypatch.setattr(writer, "MAX_TRANSACTION_BYTES", 200_000)
    definitions = '[boards."*"]\nmetrics.points = { aggregate = "last", windows = ["all", "day"] }'
    about = {"board": "b", "at": instant(clock())}
    with running(engine, clock, definitions) as stack:
        sizes = Sizes(engine)
        deliver(stack, [{**about, "id": f"e{n}", "member": f"m{n}", "metrics": {"points": n}} for n in range(40)])
        assert 2 < sizes.actions < 40
        project(stack)

        assert stack.dead_letters.reasons() == []
        assert {line["score"] for line in stack.entries("/boards/b/points/all")} == {*range(40)}


def test_an_addition_that_cannot_fit_in_an_expression_rewrites_the_item(
    engine: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MAX_EXPRESSION", 200)
    with running(engine, clock, MANY_METRICS) as stack:
        for number in range(2):
            metrics = dict.fromkeys(SUMS, 1)
            write(stack, [{"id": f"e{number}", "board": "b", "member": "m", "metrics": metrics}])

        assert stack.dead_letters.reasons() == []
        assert stack.entries("/boards/b/sum_16/day") == [{"rank": 1, "member": "m", "score": 2}]


MEMBER = "ü" * 128
LONGEST = "😀" * 122
"""The beginning of an event's id of 128 characters, which has up to 512 bytes."""


@pytest.mark.parametrize(
    ("aggregate", "windows"),
    [
        ("sum", '"hour", "last-24-hours"'),
        ("last", '"day", "week", "last-7-days"'),
        pytest.param("last", '"hour", "last-24-hours"', marks=pytest.mark.thorough),
        pytest.param("sum", '"day", "week", "last-7-days"', marks=pytest.mark.thorough),
    ],
)
def test_an_item_grows_no_larger_than_the_build_expects(
    engine: Any, clock: ManualClock, aggregate: str, windows: str
) -> None:
    definitions = f"""
        [boards."*"]
        late = "1 day"
        keep = "2 days"
        metrics.points = {{ aggregate = "{aggregate}", windows = ["all", {windows}] }}
    """
    largest = 0
    with running(engine, clock, definitions) as stack:
        for number in range(200):
            about = {"board": "b", "member": MEMBER, "metrics": {"points": 1}}
            # Two of the events come when their hour or day has closed.
            ago = [clock.milliseconds - hours * DAY // 24 for hours in (0, 30, 3 * 24)]
            write(stack, [{"id": f"{LONGEST}{i}{number:05}", "at": instant(at), **about} for i, at in enumerate(ago)])
            (item,) = (one for one in engine.scan(TableName="Scores")["Items"] if one["sk"]["S"] == MEMBER)
            largest = max(largest, item_size(item))
            clock.milliseconds += DAY // 24
    assert largest <= most_bytes(family("b", definitions), late=True) < 2 * largest + 3_000


def test_late_events_of_one_day_count_to_the_last_and_stay_few_attributes(engine: Any, clock: ManualClock) -> None:
    definitions = '[boards."*"]\nlate = "1 hour"\nmetrics.points = { aggregate = "sum", windows = ["last-90-days"] }\n'
    with running(engine, clock, definitions) as stack:
        at = instant(clock.milliseconds)
        for days in range(90):
            clock.milliseconds += DAY if days else 0
            write(stack, [{"id": f"e{days}", "board": "b", "member": "m", "at": at, "metrics": {"points": 1}}])
            # Beside them: the key, the version, the stamp and the largest total.
            assert len(_attributes(engine) - {"pk", "sk", "v", "t", "g"}) <= 4
        assert stack.entries("/boards/b/points/last-90-days") == [{"rank": 1, "member": "m", "score": 90}]


def _attributes(engine: Any) -> set[str]:
    (item,) = [item for item in engine.scan(TableName="Scores")["Items"] if item["pk"]["S"] != "#boards"]
    return set(item)
