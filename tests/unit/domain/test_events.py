"""The rules of events: what an accepted body adds, which bodies are the same event, and why another is refused."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from standings.domain.boards_toml import parse_boards
from standings.domain.events import TO_LOWER, Event, RefusedEvent, Update, check_event, parse_event

BOARDS = parse_boards("""
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
metrics.distance = { aggregate = "sum", precision = 3 }
[boards."bests"]
metrics.best = { aggregate = "max", notes = true, most = 500 }
metrics.level = { aggregate = "last" }
[boards."lifts"]
metrics.best = { aggregate = "max", notes = true, windows = ["all"], tie_breaks = ["weight", "age"] }
metrics.weight = { with = "best", order = "ascending", precision = 1, most = 200 }
metrics.age = { with = "best" }
metrics.runs = { aggregate = "sum" }
[boards."run-*"]
metrics.distance = { aggregate = "sum", precision = 1 }
[boards."limited"]
metrics.points = { aggregate = "sum", precision = 2, least = -0.5, most = 100 }
metrics.runs = { aggregate = "sum", least = 0 }
""")
NOW = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000)
AT = "2026-11-21T10:15:00Z"
BASE = {"id": "e1", "board": "b", "member": "m", "at": AT, "metrics": {"points": 3}}


def but(**fields: Any) -> dict[str, Any]:
    """The event with other fields."""
    return {**BASE, **fields}


def amount(text: str, metric: str = "points", **fields: Any) -> str:
    """A body with an amount as it is written."""
    return orjson.dumps(but(metrics={metric: 0}, **fields)).decode().replace(":0}", f":{text}}}")


def share(**fields: Any) -> dict[str, Any]:
    return {"board": "b", "member": "m", "metrics": {"points": 1}, **fields}


def several(*shares: Any) -> dict[str, Any]:
    return {"id": "e1", "at": AT, "updates": list(shares)}


def text_of(body: Any) -> str:
    return body if isinstance(body, str) else orjson.dumps(body).decode()


def parse(body: Any) -> Event:
    check_event(text_of(body), NOW)
    return parse_event(text_of(body), BOARDS, NOW)


@pytest.mark.parametrize(
    "member", ["images/1.jpg", "clan#7", "用户", "a\u0000b", "<script>", "x" * 256, "ü" * 128, " "]
)
def test_members_are_any_text(member: str) -> None:
    assert parse(but(member=member)).updates[0].member == member


def test_an_event_counts_on_all_boards_of_its_list() -> None:
    event = parse(but(board=["b", "c"]))

    assert (event.id, event.at) == ("e1", NOW)
    assert event.updates == (Update("b", "m", {"points": 3}), Update("c", "m", {"points": 3}))


def test_updates_together_and_the_same_pair_adds_up() -> None:
    event = parse(
        several(
            share(metrics={"points": 3}),
            share(board=["b", "c"], member="clan"),
            share(metrics={"points": 4, "distance": 0.125}),
        )
    )

    assert event.updates == (
        Update("b", "m", {"points": 7, "distance": 125}),
        Update("b", "clan", {"points": 1}),
        Update("c", "clan", {"points": 1}),
    )


@pytest.mark.parametrize(
    ("number", "units"),
    [
        *(("11.2", 11200), ("-0.001", -1), ("1e2", 100_000), ("12e-3", 12), ("1.000000", 1000), ("0", 0)),
        *(("-0.0", 0), ("0.000000000000000000000000", 0), ("999999999999.999", 999_999_999_999_999)),
        *(("9000000000000", 9_000_000_000_000_000), ("0.100", 100), ("100000000000000000000e-20", 1000)),
    ],
)
def test_amounts_are_exact(number: str, units: int) -> None:
    assert parse(amount(number, "distance")).updates[0].amounts == {"distance": units}
    # A text of many digits has the body parsed in another way.
    assert parse(amount(number, "distance", id="12345678901234567890")).updates[0].amounts == {"distance": units}


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026-11-21T10:15:00Z", NOW),
        ("2026-11-21t10:15:00z", NOW),
        ("2026-11-21T11:15:00+01:00", NOW),
        ("2026-11-21T10:15:00.123456789Z", NOW + 123),
        ("2026-11-21T10:20:00Z", NOW + 300_000),
        ("2016-12-31T23:59:60Z", 1483228800000),
        ("0001-01-01T00:00:00+14:00", -62135596800000 - 14 * 3_600_000),
    ],
)
def test_instants(text: str, at: int) -> None:
    assert parse(but(at=text)).at == at


def test_the_digest_is_of_what_is_said_not_of_how() -> None:
    digest = parse(BASE).digest

    for same in (dict(reversed(BASE.items())), but(at="2026-11-21T11:15:00.000+01:00"), but(metrics={"points": 3.0})):
        assert parse(same).digest == digest
    assert parse(several(share(metrics={"points": 3}))).digest == parse(but(set=False)).digest == digest
    for other in (
        {"member": "n"},
        {"board": "c"},
        {"set": True},
        {"at": "2026-11-21T10:15:01Z"},
        {"metrics": {"points": 4}},
    ):
        assert parse(but(**other)).digest != digest
    noted = but(board="bests", metrics={"best": 1}, note={"a": 1, "b": 2})
    same, other = ({**noted, "note": note} for note in ({"b": 2, "a": 1}, {"a": 2}))
    assert parse(same).digest == parse(noted).digest != parse(other).digest


def test_an_at_that_was_filled_in_is_not_what_the_event_says() -> None:
    def digest(at: str, *, filled_in: bool) -> bytes:
        event = parse_event(orjson.dumps(but(at=at)).decode(), BOARDS, NOW, at_filled_in=filled_in)
        assert datetime.fromtimestamp(event.at / 1000, UTC) == datetime.fromisoformat(at)
        return event.digest

    noon, later = "2026-11-20T12:00:00+00:00", "2026-11-20T12:00:01+00:00"
    assert digest(noon, filled_in=True) == digest(later, filled_in=True) != digest(noon, filled_in=False)


def test_a_changed_precision_leaves_the_digest() -> None:
    def digest(precision: int) -> bytes:
        text = f'[boards."*"]\nmetrics.points = {{ aggregate = "sum", precision = {precision} }}'
        return parse_event(orjson.dumps(BASE).decode(), parse_boards(text), NOW).digest

    assert digest(0) == digest(1) == digest(6)


BODY = '{"id":"e1","board":"b","member":"m","at":"2026-11-21T10:15:00Z","metrics":{"points":3}}'
SNS = {
    "Type": "Notification",
    "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
    "TopicArn": "arn:aws:sns:us-west-2:123456789012:MyTopic",
    "Message": BODY,
    "Timestamp": "2026-11-21T10:15:00.123Z",
    "SignatureVersion": "1",
    "Signature": "c2ln",
    "SigningCertURL": "https://sns.us-west-2.amazonaws.com/x.pem",
    "UnsubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=Unsubscribe",
}
BUS = {
    "version": "0",
    "id": "17793124-05d4-b198-2fde-7ededc63b103",
    "detail-type": "Points",
    "source": "shop",
    "account": "123456789012",
    "time": "2026-11-21T10:15:00Z",
    "region": "us-west-2",
    "resources": [],
    "detail": BASE,
}
RECORD = {"messageId": "m1", "body": BODY, "attributes": {}, "eventSource": "aws:sqs", "awsRegion": "us-west-2"}
"""What SNS, EventBridge and Pipes send, if nobody tells them otherwise."""

UNREADABLE = "body: cannot be read: "
TEXT = "expected an RFC 3339 instant with offset such as 2026-11-21T10:15:00Z, got"
BOARD = "board: expected 1 to 128 of A-Z a-z 0-9 . _ : -, not . or .., got"
BOARDS_RULE = "board: expected one board or a list of 1 to 10, got a list of"
NUMBERS = "metrics: expected an object of 1 to 20 numbers, got"
UNITS = "expected at most ±(2^53 - 1) units of"
REFUSED: list[tuple[str, Any, str]] = [
    ("json", "not json", UNREADABLE),
    ("json", "", UNREADABLE),
    ("json", "[" * 5000 + "]" * 5000, UNREADABLE),
    ("json", "[" * 1000 + "]" * 1000, "body: "),
    ("json", '{"id": "\\ud800"}', UNREADABLE),
    ("json", amount("NaN"), UNREADABLE),
    ("json", amount("1e-9999999999999999999"), f"{UNREADABLE}InvalidOperation"),
    ("json", amount("0e9999999999999999999"), f"{UNREADABLE}InvalidOperation"),
    ("json", [1], "body: expected a JSON object, got a list of 1"),
    ("json", "null", "body: expected a JSON object, got null"),
    ("unknown", SNS, "body: expected an event, got a message of SNS around it: turn on raw message delivery of the"),
    (
        "unknown",
        BUS,
        "body: expected an event, got an event of EventBridge around it: give the rule's target the input",
    ),
    ("unknown", RECORD, "body: expected an event, got a record of a stream or queue around it: give the pipe's target"),
    ("unknown", but(colour=1), "colour: no such field; there are at, board, id, member, metrics, note"),
    ("unknown", but(updates=[]), "board: no such field; there are at, id, updates"),
    ("unknown", several(share(x=1)), "updates[0].x: no such field"),
    *(("missing", {name: BASE[name] for name in BASE if name != key}, f"{key}: is missing") for key in BASE),
    ("id", but(id=7), "id: expected text, got 7"),
    ("id", but(id=""), "id: expected 1 to 128 characters (it has 0), got ''"),
    ("id", but(id="x" * 129), f"id: expected 1 to 128 characters (it has 129), got '{'x' * 76}..."),
    *(("board", but(board=board), f"{BOARD} {board!r}") for board in ("a/b", "..", "b\n", 7)),
    ("board", but(board=["b", None]), f"{BOARD} null"),
    ("board", but(board=[]), f"{BOARDS_RULE} 0"),
    ("board", but(board=[f"b{n}" for n in range(11)]), f"{BOARDS_RULE} 11"),
    ("board", but(board=["b", "b"]), "board: expected each board once, got a list of 2"),
    ("member", but(member=""), "member: expected 1 to 256 bytes of UTF-8 (it has 0), got ''"),
    ("member", but(member="ü" * 129), "member: expected 1 to 256 bytes of UTF-8 (it has 258), got '"),
    ("member", but(member=None), "member: expected text, got null"),
    (
        "member",
        orjson.dumps(but(member="?")).decode().replace('"?"', "[" * 900 + "]" * 900),
        "member: expected text, got a list of 1",
    ),
    ("member", several(share(member=5)), "updates[0].member: expected text, got 5"),
    *(
        ("metrics", but(metrics={f"m{n}": 1 for n in range(count)}), f"{NUMBERS} an object of {count}")
        for count in (0, 21)
    ),
    ("metrics", but(metrics=[3]), f"{NUMBERS} a list of 1"),
    ("metrics", but(metrics={"Points": 1}), "metrics: board 'b' has no metric 'Points'; there are: distance, points"),
    (
        "metrics",
        but(board="run-1"),
        (
            "metrics: board 'run-1' has no metric 'points'; there are: distance. The family '*' has it, and the board"
            " is of 'run-*'"
        ),
    ),
    *(
        ("amount", but(metrics={"points": value}), f"metrics.points: expected a number, got {said}")
        for value, said in (("3", "'3'"), (True, "true"), (None, "null"))
    ),
    ("amount", but(metrics={"points": 1.5}), "metrics.points: expected a whole number, got 1.5"),
    ("amount", but(metrics={"distance": 0.0001}), "metrics.distance: expected at most 3 decimals, got 0.0001"),
    ("amount", amount("1e-400"), "metrics.points: expected a whole number, got 1E-400"),
    ("amount", amount("1e999"), f"metrics.points: {UNITS} 0 decimals, got 1E+999"),
    ("amount", but(metrics={"points": 1e16}), f"metrics.points: {UNITS} 0 decimals, got 1e+16"),
    ("amount", but(metrics={"points": -(10**16)}), f"metrics.points: {UNITS} 0 decimals, got -10000000000000000"),
    (
        "amount",
        but(metrics={"distance": 9_100_000_000_000}),
        f"metrics.distance: {UNITS} 3 decimals, got 9100000000000",
    ),
    (
        "amount",
        amount("1234567890123456"),
        "metrics.points: expected at most 15 significant digits, got 1234567890123456",
    ),
    ("amount", amount("0.1000000000000000055", "distance"), "metrics.distance: expected at most 15 significant digits"),
    *(
        ("limit", amount(text, board=board), "metrics.points: expected at least -0.5 and at most 100 on board")
        for text, board in (("-0.51", "limited"), ("100.01", "limited"), ("101", ["b", "limited"]))
    ),
    (
        "limit",
        amount("-1", "runs", board="limited"),
        f"metrics.runs: expected at least 0 on board 'limited'{TO_LOWER}, got -1",
    ),
    # Each amount is compared as it is written, whatever the others come to.
    (
        "limit",
        several(share(), share(board="limited", metrics={"points": 100.01})),
        "updates[1].metrics.points: expect",
    ),
    ("at", but(at=NOW), f"at: expected text, got {NOW}"),
    *(
        ("at", but(at=text), f"at: {TEXT} '{text}'")
        for text in (
            *("2026-11-21", "2026-11-21T10:15:00", "20261121T101500Z", "2026-02-30T10:15:00Z", "2026-11-21T10:15:61Z"),
            *("2026-11-21T10:15:00+25:00", "2026-11-21T10:15:00+01:75"),
        )
    ),
    ("ahead", but(at="2026-11-21T10:20:00.001Z"), "at: expected an instant at most 5 minutes ahead of the clock here"),
    ("updates", several(), "updates: expected a list of 1 to 20 objects, got a list of 0"),
    ("updates", several(*[share()] * 21), "updates: expected a list of 1 to 20 objects, got a list of 21"),
    ("updates", several(1), "updates[0]: expected an object, got 1"),
    (
        "updates",
        several(share(board="c"), *(share(board=[f"b{n}" for n in range(10)], member=f"m{k}") for k in range(5))),
        "updates: expected at most 50 different pairs of board and member, got 51",
    ),
    ("set", but(set=1), "set: expected true or false, got 1"),
    ("set", several(share(set="yes")), "updates[0].set: expected true or false, got 'yes'"),
    ("unknown", several(share()) | {"set": True}, "set: no such field; there are at, id, updates"),
    *(
        ("set", several(one, other), "updates[1].set: expected board 'b' and member 'm' once in an event")
        for one, other in (
            *((share(set=True), share()), (share(), share(set=True))),
            (share(set=True, board=["c", "b"]), share(set=True)),
        )
    ),
    *(
        ("note", but(board="bests", metrics={"best": 1}, note=note), f"note: expected an object{said}")
        for note, said in (
            *(("secret", ", got text"), (None, ", got null"), ([{}], ", got a list of 1")),
            ({"n": "secret" * 42}, " of at most 256 bytes of JSON"),
        )
    ),
    ("note", but(note={}), "note: expected a metric that keeps notes"),
    (
        "set",
        but(board="bests", set=True, metrics={"level": 3}),
        "metrics.level: expected a metric with aggregate sum, max or min to set, got one with last, which each event",
    ),
    ("limit", but(board="bests", set=True, metrics={"best": 501}), "metrics.best: expected at most 500 on board"),
]


OF_A_BOARD = (
    *("metrics: board 'run-1' has no", "metrics.points: expected at least", "metrics.runs: expected at least"),
    *("metrics.points: expected a whole number, got 1.5", "metrics.distance: expected at most 3 decimals"),
    *(
        f"metrics.distance: {UNITS} 3 decimals",
        "updates[1].metrics.points: expect",
        "note: expected a metric that keeps",
    ),
    *("metrics.level: expected a metric with aggregate", "metrics.best: expected at most"),
)
"""What other definitions allow."""


@pytest.mark.parametrize(("rule", "body", "message"), REFUSED, ids=[message for _, _, message in REFUSED])
def test_every_rule_has_its_own_refusal_and_most_need_no_definitions(rule: str, body: Any, message: str) -> None:
    with pytest.raises(RefusedEvent) as caught:
        parse_event(text_of(body), BOARDS, NOW)
    if message.startswith(OF_A_BOARD):
        check_event(text_of(body), NOW)
    else:
        with pytest.raises(RefusedEvent) as without:
            check_event(text_of(body), NOW)
        assert without.value.rule == rule

    assert caught.value.rule == rule
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 300
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        several(*(share(board=[f"b{n}" for n in range(10)], member=f"m{k}") for k in range(5))),
        amount("-0.5", board="limited"),
        amount("100.00", board="limited"),
        amount("101"),
        several(*[share(board="limited", metrics={"points": 60})] * 2),
        # What is bounded is the change of the total, which the writer knows.
        amount("101", board="limited", set=True),
        several(share(set=True), share(member="n"), share(board="c", set=False)),
    ],
)
def test_each_bound_is_allowed_itself(body: Any) -> None:
    assert parse(body).updates


def test_a_board_without_a_family() -> None:
    boards = parse_boards('[boards."run-*"]\nmetrics.points = { aggregate = "sum" }')

    with pytest.raises(RefusedEvent, match=r"board: no family in boards.toml matches 'b'"):
        parse_event(orjson.dumps(BASE).decode(), boards, NOW)


def lift(best: int, weight: float, age: int, **more: Any) -> dict[str, Any]:
    return share(board="lifts", metrics={"best": best, "weight": weight, "age": age}, **more)


@pytest.mark.parametrize(
    ("lifts", "amounts", "note"),
    [
        ([(100, 65.4, 20)], (100, 654, 20), 0),
        ([(100, 65.4, 20), (90, 60, 30)], (100, 654, 20), 0),
        ([(100, 65.4, 20), (100, 60, 30)], (100, 600, 30), 1),
        ([(100, 60, 20), (100, 60, 30), (100, 61, 99)], (100, 600, 30), 1),
    ],
)
def test_two_updates_of_a_pair_count_as_two_events(
    lifts: list[tuple[int, float, int]], amounts: tuple[int, int, int], note: int
) -> None:
    """The best and its companions are of one update, and so is the note."""
    (update,) = parse(several(*(lift(*one, note={"n": n}) for n, one in enumerate(lifts)))).updates

    assert update.amounts == dict(zip(("best", "weight", "age"), amounts, strict=True))
    assert update.notes == {"best": f'{{"n":{note}}}'}


@pytest.mark.parametrize(
    ("metrics", "said"),
    [
        (
            {"best": 100},
            "metrics: expected all of best, weight, age, which are of one event, or none of them, got best",
        ),
        ({"weight": 65.4, "age": 1}, "metrics: expected all of best, weight, age, which are of one event, or none"),
        ({"best": 1, "weight": 200.1, "age": 1}, "metrics.weight: expected at most 200 on board 'lifts', got 200.1"),
    ],
)
def test_an_update_names_a_metric_and_all_that_is_kept_with_it_or_none(metrics: dict[str, float], said: str) -> None:
    with pytest.raises(RefusedEvent) as refused:
        parse(but(board="lifts", metrics=metrics))

    assert str(refused.value).startswith(said)
    assert refused.value.rule in {"metrics", "limit"}
    assert parse(but(board="lifts", metrics={"runs": 1})).updates[0].amounts == {"runs": 1}
