"""Rows of CSV and JSON lines as events, what a row's id, mark and time are made from, which lines are a record of CSV,
and totals that are set.

What other rows become is in `tests/functions/cli/sessions/rows.txt`. And messages on their way to a queue that does not
accept everything at once: how often and in which order. What is tried again at all is in
`tests/functions/client/test_posts.py`.
"""

import io
import json
import threading
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final
from unittest import mock

import pytest
from botocore.exceptions import EndpointConnectionError

from standings.aws.sqs import MAX_ENTRIES, OutgoingMessage, at_filled_in
from standings.client.sending import MOST_HELD, SENDERS
from standings.domain.boards_toml import parse_boards
from standings.domain.events import Event, parse_event, read_at
from standings_cli.files import HalfLineError, Lines
from standings_cli.post.outbox import NotTakenError, Outbox, Outgoing
from standings_cli.post.post_file import Row, RowReader
from standings_cli.post.times import Times
from standings_cli.stack.errors import InputError
from tests.support.aws.fakes import Queue

NOW = 1_795_256_100_000
AT_NOW = "2026-11-21T10:15:00.000Z"
HEADER = "id,board,member,at,points\n"
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", precision = 2, windows = ["all"] }')


def rows(text: str | bytes, form: str = "csv", source: str | None = "f", **options: Any) -> list[Row]:
    content = text if isinstance(text, bytes) else text.encode()
    reader = RowReader(form, source, **options)
    return list(reader.read(io.BytesIO(content), reader.times(lambda: NOW)))


def ids(text: str, form: str = "csv", **options: Any) -> list[str]:
    messages = [row.message for row in rows(text, form, **options)]
    return [json.loads(message.body)["id"] for message in messages if message is not None]


def test_a_bad_row_does_not_keep_its_neighbours() -> None:
    parsed = rows(HEADER.encode() + b'1,b,m,,1\n2,b,"m\nn",,2\n3,b,\xff,,3\n\n4,b,m,,x\n5,b,m,,5\n')
    assert [(row.line, bool(row.message)) for row in parsed] == [(2, 1), (3, 1), (5, 0), (7, 0), (8, 1)]
    assert parsed[-1].mark[:3] == (8, 5, 2)
    assert "can't decode byte 0xff" in parsed[2].problem
    (large,) = rows('{"id":"1","updates":["' + "m" * 1_048_576 + '"]}', "jsonl")
    assert large.message is None
    assert large.problem.startswith("body: expected at most 1048554 bytes")
    # What a boards.toml does not allow is told beforehand.
    good, bad = rows(f"{HEADER}1,b,m,,1.25\n2,b,m,,1.255\n", boards=BOARDS)
    assert good.message is not None
    assert bad.problem.startswith("metrics.points: expected at most 2 decimals, got 1.255; --round ")
    with pytest.raises(InputError, match="the header cannot be read"):
        rows("member,board,poi\xffnts\nm,b,1\n".encode("latin-1"))


@pytest.mark.parametrize(
    ("form", "header", "alike"),
    [
        ("csv", ["member,points"], ["m,1", "m,2", "n,1"]),
        ("jsonl", [], ['{"member":"m","metrics":{"points":1}}', '{"member":"n","metrics":{"points":1}}']),
    ],
)
def test_rows_that_are_added_anywhere_change_no_other_id(form: str, header: list[str], alike: list[str]) -> None:
    rng = Random(7)
    lines = [rng.choice(alike) for _ in range(30)]

    def ids_of(lines: list[str]) -> list[str]:
        return ids("\n".join([*header, *lines]), form, board="b")

    before = ids_of(lines)
    assert len(set(before)) == len(lines)
    assert ids_of([*lines, "", rng.choice(alike)])[: len(lines)] == before
    for _ in range(20):
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(alike))
        after = ids_of(lines)
        assert set(before) < set(after)
        assert len(set(after)) == len(lines)
        before = after


def test_what_an_id_is_made_from() -> None:
    def made(text: str, source: str = "f", board: str = "b") -> str:
        (made_id,) = ids(text, source=source, board=board)
        return made_id

    one = made("member,points\nm,1\n")
    assert made("\ufeffpoints,member\r\n1,m\r\n") == made('member,points\n"m","1"') == one
    others = {
        made("member,points\nm,1\n", source="g"),
        made("member,points\nm,1\n", board="c"),
        made("member,points\nm,1.0\n"),
        made("member,at,points\nm,0,1\n"),
    }
    assert len({one, *others}) == 5


MORE: Final[dict[str, Any]] = {"only": frozenset({"member", "board", "points"})}


def test_marks_know_what_was_read_and_how() -> None:
    def marks(text: str, **options: Any) -> list[str]:
        return [row.mark.digest for row in rows(HEADER + text, **options)]

    first, second = marks("1,b,m,,1\n2,b,m,,2")
    assert marks("1,b,m,,1\r\n2,b,m,,2\n3,b,m,,3")[:2] == [first, second]
    changed = marks("1,b,m,,1\n2,b,m,,22\n")
    assert (changed[0] == first, changed[1] == second) == (True, False)
    for options in ({"metrics": {"runs": "1"}}, {"source": "g"}, {"ignored": frozenset({"at"})}, {"at": AT_NOW}, MORE):
        assert marks("1,b,m,,1\n", **options) != [first]


def records(text: str, *, may_grow: bool = True) -> list[Any]:
    lines = Lines(iter(text.encode().splitlines(keepends=True)), "", may_grow=may_grow)
    return [
        (number, cells if isinstance(cells, list) else "half" if isinstance(cells, HalfLineError) else "wrong")
        for number, cells in lines.records()
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a,b\n1,"2\n3"\n4,5\n', [(1, ["a", "b"]), (2, ["1", "2\n3"]), (4, ["4", "5"])]),
        # A quote that is never closed, or closed by a later one, costs its own line alone.
        ('a,b\n1,"2\n3,4\n5,6\n', [(1, ["a", "b"]), (2, "wrong"), (3, ["3", "4"]), (4, ["5", "6"])]),
        ('a,b\n1,"2\n3,4\n5,"6"\n', [(1, ["a", "b"]), (2, "wrong"), (3, ["3", "4"]), (4, ["5", "6"])]),
        ('a,b\n1,"2\n3,4\n5', [(1, ["a", "b"]), (2, "wrong"), (3, ["3", "4"]), (4, "half")]),
        ('a,b\n1,"2\n3"', [(1, ["a", "b"]), (2, "half")]),
        ('a,b\n1,"2', [(1, ["a", "b"]), (2, "half")]),
        ("a,b\n1\n2,3,4\n5,6\n", [(1, ["a", "b"]), (2, ["1"]), (3, ["2", "3", "4"]), (4, ["5", "6"])]),
        ("a,b", [(1, "half")]),
    ],
)
def test_a_wrong_quote_swallows_no_other_row(text: str, expected: list[Any]) -> None:
    assert records(text) == expected


def test_what_cannot_grow_ends_without_a_line_end() -> None:
    assert records("a,b\n1,2", may_grow=False) == [(1, ["a", "b"]), (2, ["1", "2"])]


AT = "2026-11-20T10:00:00Z"
OLD = "2000-01-01T00:00:00Z"
ROWS = "m,1\nm,2\nm,1\n"


def events(text: str, **options: Any) -> list[Event]:
    """The events of rows, as the writer reads them."""
    messages = [row.message for row in rows(f"member,points\n{text}", board="b", **options)]
    records = [
        {"messageAttributes": {name: {"stringValue": value["StringValue"]} for name, value in one.attributes.items()}}
        for one in messages
        if one is not None
    ]
    bodies = [one.body for one in messages if one is not None]
    return [
        parse_event(body, BOARDS, NOW, at_filled_in=at_filled_in(record))
        for body, record in zip(bodies, records, strict=True)
    ]


@pytest.mark.parametrize("at", [None, AT, OLD])
def test_rows_without_a_time_count_in_the_order_of_the_file(at: str | None) -> None:
    begun = NOW if at is None else read_at(at, NOW)
    assert [event.at for event in events(ROWS, at=at)] == [begun, begun + 1, begun + 2]


def test_a_row_is_the_same_event_wherever_it_stands() -> None:
    """Also for version 0.3, which gave all rows the `at` that --at names."""
    before, after = events(ROWS, at=AT), events(f"n,5\n{ROWS}o,1\n", at=AT)
    assert [(event.id, event.digest) for event in after[1:4]] == [(event.id, event.digest) for event in before]
    body = f'{{"id":"x","at":"{AT}","board":"b","member":"m","metrics":{{"points":1}}}}'
    assert parse_event(body, BOARDS, NOW).digest == before[0].digest
    assert before[0].digest != events(ROWS)[0].digest, "another time is other content"


def test_many_rows_stay_in_the_quarter_of_an_hour_of_their_time() -> None:
    """Hours and days begin with one, in every time zone. What is older than any period has more room."""
    end = read_at("2026-11-20T10:15:00Z", NOW)
    times = Times(lambda: NOW, end - 3)
    found = [(times.of_row(number), times.is_full) for number in (0, 2, 3, 900_000)]
    assert found == [(end - 3, False), (end - 1, False), (end - 1, True), (end - 1, True)]
    assert Times(lambda: NOW, end).of_row(900_000) == end + 899_999
    old = read_at(OLD, NOW)
    assert Times(lambda: NOW, old).of_row(2_000_000) == old + 2_000_000


@pytest.mark.parametrize("ahead", [None, -1, 60_000])
def test_no_row_is_sent_far_ahead_of_its_time(ahead: int | None) -> None:
    clock = [NOW + 1000]
    times = Times(lambda: clock[0], None if ahead is None else clock[0] + ahead)

    def sleep(seconds: float) -> None:
        clock[0] += round(seconds * 1000)

    with mock.patch("standings_cli.post.times.sleep", sleep):
        for number in range(500):
            at = times.of_row(number)
            times.wait()
            assert at <= clock[0] + max(0, ahead or 0) + 100
    assert clock[0] >= NOW + 1399, "a thousand a second"


def total_ids(text: str, form: str = "csv", since: int | None = NOW, **options: Any) -> list[str]:
    """The ids of rows of a run that began then."""
    reader = RowReader(form, "f", board="b", sets=form == "csv", **options)
    times = reader.times(lambda: NOW)
    times.begin(since)
    messages = [row.message for row in reader.read(io.BytesIO(text.encode()), times)]
    assert all('"set":true' in message.body for message in messages if message is not None)
    return [json.loads(message.body)["id"] for message in messages if message is not None]


SET: Final = '"member":"m","metrics":{"points":1},"set":true}'


@pytest.mark.parametrize(
    ("form", "text", "timed"),
    [
        ("csv", "member,points\nm,1\nm,1\n", "member,at,points\nm,0,1\n"),
        ("jsonl", f'{{{SET}\n{{"updates":[{{"board":"b",{SET}]}}\n', f'{{"at":"2026-11-20T10:00:00Z",{SET}'),
    ],
)
def test_a_total_is_another_event_in_each_run_unless_its_time_is_given(form: str, text: str, timed: str) -> None:
    first = total_ids(text, form)
    assert len(set(first)) == 2
    assert total_ids(text, form) == first
    assert not {*first} & {*total_ids(text, form, since=NOW + 1)}
    given = total_ids(text, form, at=AT)
    assert total_ids(text, form, since=NOW + 1, at=AT) == given
    assert not {*given} & {*total_ids(text, form, at=OLD), *first}
    assert total_ids(timed, form) == total_ids(timed, form, since=NOW + 1)


def test_set_does_not_reach_into_updates() -> None:
    (row,) = rows('{"updates":[{"board":"b","member":"m","metrics":{"points":1}}]}', "jsonl", sets=True)
    assert row.problem == 'updates: expected "set": true in each of them, which --set does not add'
    (row,) = rows('{"board":"b","member":"m","metrics":{"points":1},"set":false}', "jsonl", sets=True)
    assert row.message is not None


def outbox(refusal: Callable[[str], str], **options: Any) -> Outbox:
    """An outbox of a queue that refuses messages."""
    queue: Any = Queue("activity", refusal=refusal)
    return Outbox(queue, "https://queue.invalid/activity", **options)


def of_its_own(body: str) -> Outgoing:
    """A message whose member has no other."""
    return Outgoing(OutgoingMessage(body, {}), frozenset({body}))


def test_attempts_end() -> None:
    naps, refusal = list[float](), mock.Mock(return_value="InternalError")
    with pytest.raises(NotTakenError, match="InternalError"):
        list(outbox(refusal, chance=lambda: 1.0, sleep=naps.append).delivered(["a"], of_its_own))
    assert refusal.mock_calls == [mock.call("a")] * 8
    assert naps == [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 10.0]


def test_things_come_back_in_their_order_however_they_are_taken() -> None:
    """The first is held until no more are taken up. No later one comes back before it."""
    full = threading.Event()
    taken_up: list[str] = []

    def things() -> Iterator[str]:
        for number in range(3 * MOST_HELD):
            taken_up.append(str(number))
            if number == MOST_HELD:
                full.set()
            yield str(number)

    returned = []
    sending = outbox(lambda body: "" if body != "0" or full.wait(60) else "InternalError")
    for found in sending.delivered(things(), of_its_own):
        returned += [thing for thing, _ in found]
        assert len(taken_up) - len(returned) <= MOST_HELD + 1
    assert returned == taken_up


def test_nothing_is_tried_again_once_nobody_waits() -> None:
    """Of its eight senders one waits until the others have failed once, and wait to try again."""
    tried, all_failed = list[str](), threading.Event()

    def refusal(body: str) -> str:
        if body[0] == "a":
            return "" if all_failed.wait(60) else "InternalError"
        tried.append(body)
        if len(tried) == SENDERS - 1:
            all_failed.set()
        raise EndpointConnectionError(endpoint_url="http://nowhere")

    others = threading.enumerate()
    trying: Outbox = outbox(refusal, sleep=lambda _: trying._closed.wait(60))
    names = [f"a{number}" for number in range(MAX_ENTRIES)] + [f"b{number}" for number in range(MOST_HELD)]
    sending = trying.delivered(names, of_its_own)
    assert next(sending) == [(name, None) for name in names[:MAX_ENTRIES]]
    sending.close()
    for sender in threading.enumerate():
        if sender not in others:
            sender.join(60)
    assert SENDERS - 1 <= len(tried) <= SENDERS
