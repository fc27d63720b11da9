"""Rows of CSV and JSON lines as events, and what a row's id and mark are made from."""

import io
import json
from random import Random
from typing import Any

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.events.event_rules import parse_event
from standings_cli.post.rows import Row, RowReader
from standings_cli.post.source import InputError

NOW = 1_795_256_100_000
AT_NOW = "2026-11-21T10:15:00.000Z"
HEADER = "id,board,member,at,points\n"
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", precision = 2, windows = ["all"] }')


def rows(text: str | bytes, form: str = "csv", source: str | None = "f", **options: Any) -> list[Row]:
    content = text if isinstance(text, bytes) else text.encode()
    return list(RowReader(form, source, **options).read(io.BytesIO(content), lambda: NOW))


def bodies(text: str, form: str = "csv", **options: Any) -> list[str]:
    parsed = rows(text, form, **options)
    assert all(row.message is not None for row in parsed), [row.problem for row in parsed]
    return [row.message.body for row in parsed if row.message is not None]


def ids(text: str, form: str = "csv", **options: Any) -> list[str]:
    return [json.loads(body)["id"] for body in bodies(text, form, **options)]


def test_a_row_of_csv_as_it_stands() -> None:
    (row,) = rows(HEADER + '1,b,"u ""1"", 用户",2026-11-21T10:00:00+01:00,11.20\n')
    assert row.message is not None
    assert row.message.attributes == {}
    assert row.message.body == (
        '{"id":"1","board":"b","member":"u \\"1\\", 用户","at":"2026-11-21T10:00:00+01:00","metrics":{"points":11.20}}'
    )
    assert parse_event(row.message.body, BOARDS, NOW).updates[0].amounts == {"points": 1120}


def test_columns_are_renamed_left_out_and_given() -> None:
    columns, ignored = {"user": "member", "Km": "points"}, frozenset({"name"})
    (body,) = bodies(
        "\ufeffuser,name,Km\r\nm,Ann,2\r\n", board="b", columns=columns, ignored=ignored, metrics={"runs": "1"}
    )
    assert body.endswith('"board":"b","member":"m","metrics":{"points":2,"runs":1}}')


def test_an_empty_cell_is_absent() -> None:
    first, second = rows("board,member,at,points,runs\nb,m,,3,\nb,m,,,4\n")
    assert first.message is not None
    assert second.message is not None
    events = [json.loads(row.message.body) for row in (first, second) if row.message]
    assert [event["metrics"] for event in events] == [{"points": 3}, {"runs": 4}]
    assert events[0]["at"] == AT_NOW
    assert first.message.attributes == {"at_filled_in": {"DataType": "String", "StringValue": "true"}}


@pytest.mark.parametrize(
    ("cell", "at"),
    [
        ("1795255200", "2026-11-21T10:00:00Z"),
        ("1795255200000", "2026-11-21T10:00:00Z"),
        ("1795255200123", "2026-11-21T10:00:00.123Z"),
        ("100000000000", "1973-03-03T09:46:40Z"),
        ("0", "1970-01-01T00:00:00Z"),
        ("2026-11-21t10:00:00z", "2026-11-21t10:00:00z"),
    ],
)
def test_times_of_csv(cell: str, at: str) -> None:
    (body,) = bodies(f"{HEADER}1,b,m,{cell},3\n")
    assert json.loads(body)["at"] == at


def test_amounts_are_never_rounded() -> None:
    amounts = ["0", "-0.0", "-12", "123456789012345.678901234567890", "1" * 40]
    parsed = bodies(HEADER + "".join(f"{n},b,m,,{amount}\n" for n, amount in enumerate(amounts)))
    assert [body.rpartition(":")[2] for body in parsed] == [f"{amount}}}}}" for amount in amounts]
    (body,) = bodies('{"id":"1","board":"b","member":"m","metrics":{"points": 1.10000000000000000001}}', "jsonl")
    assert body.endswith('{"points": 1.10000000000000000001}}')


NO_AMOUNTS = ("1e3", " 3 ", "+3", "3.", ".5", "007", "NaN", "0x1", "-", "1_000", "３")
AMOUNT = "metrics.points: expected a plain number such as 3, -2 or 11.25"


@pytest.mark.parametrize(
    ("row", "why"),
    [
        *((f"1,b,m,,{amount}", AMOUNT) for amount in NO_AMOUNTS),
        ("1,b,m,,3,5", "expected 5 columns as in the header, got 6"),
        ("1,b,m,,", "metrics: expected at least one amount, got none"),
        ("1,b,,,3", "member: is missing"),
        ("1,,m,,3", "board: is missing"),
        ("1,a b,m,,3", "board: expected 1 to 128 of A-Z a-z 0-9 . _ : -, not . or .., got 'a b'"),
        (f"1,b,{'m' * 257},,3", "member: expected 1 to 256 bytes of UTF-8, got 257: 'mmm"),
        (f"{'1' * 129},b,m,,3", "id: expected text of 1 to 128 characters, got "),
        ("1,b,m,yesterday,3", "at: expected an RFC 3339 instant"),
        ("1,b,m,2026-11-21 10:00:00,3", "at: expected an RFC 3339 instant"),
        ("1,b,m,1795259999,3", "at: expected an instant at most 5 minutes ahead"),
        (
            "1,b,m,99999999999,3",
            "at: expected an instant at most 5 minutes ahead of the writer's clock, got '5138-11-16",
        ),
        ('1,b,"m"x,,3', "',' expected after '\"'"),
        ('1,b,"m,,3', "unexpected end of data"),
    ],
)
def test_a_row_of_csv_that_is_no_event(row: str, why: str) -> None:
    (parsed,) = rows(f"{HEADER}{row}\n")
    assert (parsed.message, parsed.line, parsed.mark.wrong) == (None, 2, 1)
    assert parsed.problem.startswith(why)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nothing", "expected JSON: "),
        ('{"id":"1"', "expected JSON: "),
        ("[]", "expected a JSON object"),
        ("{}", "expected a JSON object"),
        ('{"id":"1","board":"b","member":"m"}', "metrics: is missing"),
        (
            '{"id":"1","board":"b","member":"m","metrics":{},"score":1}',
            "expected the fields at, board, id, member, metrics, got 'score'",
        ),
        ('{"id":"1","updates":[],"member":"m"}', "expected the fields at, id, updates, got 'member'"),
        ('{"id":1,"board":"b","member":"m","metrics":{}}', "id: expected text of 1 to 128 characters, got "),
        ('{"id":"1","board":"b","member":"m","metrics":{},"at":null}', "at: expected text, got null"),
        ('{"id":"1","board":"..","member":"m","metrics":{}}', "board: expected 1 to 128"),
        ('{"id":"1","board":"b","member":"' + "m" * 1_048_576 + '","metrics":{}}', "member: expected 1 to 256"),
        ('{"id":"1","updates":["' + "m" * 1_048_576 + '"]}', "body: expected at most 1048554 bytes"),
    ],
    ids=lambda text: text[:60],
)
def test_a_json_line_that_is_no_event(line: str, why: str) -> None:
    (row,) = rows(line, "jsonl")
    assert row.message is None
    assert row.problem.startswith(why)


def test_json_lines_are_sent_as_they_stand() -> None:
    event = '{"metrics" : {"points":1.0}, "member":"m","board":["b","c"], "id":"1", "at":"2026-11-21T10:00:00Z"}'
    together = '{"updates":[{"board":"b","member":"m","metrics":{"points":1}}],"id":"2"}'
    bare = '{"member":"m","metrics":{"points":1}}'
    first, second, third = bodies(f"  {event}\r\n\n{together}\n{bare}", "jsonl", board="other")
    assert first == event
    assert second == f'{{"at":"{AT_NOW}",{together[1:]}'
    assert json.loads(third)["board"] == "other"


def test_a_bad_row_does_not_keep_its_neighbours() -> None:
    parsed = rows(HEADER.encode() + b'1,b,m,,1\n2,b,"m\nn",,2\n3,b,\xff,,3\n\n4,b,m,,x\n5,b,m,,5\n')
    assert [(row.line, bool(row.message)) for row in parsed] == [(2, 1), (3, 1), (5, 0), (7, 0), (8, 1)]
    assert parsed[-1].mark[:3] == (8, 5, 2)
    assert "can't decode byte 0xff" in parsed[2].problem


def test_what_a_boards_toml_does_not_allow_is_told_beforehand() -> None:
    good, bad = rows(f"{HEADER}1,b,m,,1.25\n2,b,m,,1.255\n", boards=BOARDS)
    assert good.message is not None
    assert bad.problem == "metrics.points: expected at most 2 decimals, got 1.255"


@pytest.mark.parametrize(
    ("header", "options", "why"),
    [
        ("", {}, "expected a column 'member', the first line is empty"),
        (
            "points,board\n",
            {},
            "expected a column 'member', got 'points', 'board': name it with --column member=COLUMN",
        ),
        ("member,points\n", {}, "expected a column 'board'.*or --board for all rows"),
        ("member,board\n", {}, "expected a metric's column, got none"),
        ("member,board,Points\n", {}, "column 'Points': expected a metric's name.*skip it with --ignore Points"),
        ("member,board,points,points\n", {}, "expected 'points' once"),
        ("member,board,points\n", {"board": "b"}, "expected 'board' once"),
        ("member,board,points\n", {"metrics": {"points": "1"}}, "expected 'points' once"),
        ("member,board,points\n", {"columns": {"x": "at"}}, "expected a column 'x'"),
        ("member,board,points\n", {"ignored": frozenset("x")}, "expected a column 'x'"),
        ("member,board,poi\xffnts\n", {}, "the header cannot be read"),
    ],
)
def test_a_header_that_cannot_be(header: str, options: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        rows(header.encode("latin-1") + b"m,b,1\n" if header else b"", **options)


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
    assert made("points,member\r\n1,m\r\n") == made('member,points\n"m","1"') == one
    others = {
        made("member,points\nm,1\n", source="g"),
        made("member,points\nm,1\n", board="c"),
        made("member,points\nm,1.0\n"),
        made("member,at,points\nm,0,1\n"),
    }
    assert len({one, *others}) == 5


def test_standard_input_without_a_name_needs_ids() -> None:
    assert ids(f"{HEADER}1,b,m,,1\n", source=None) == ["1"]
    with pytest.raises(InputError, match="use --source NAME"):
        rows(f"{HEADER},b,m,,1\n", source=None)


def test_marks_know_what_was_read_and_how() -> None:
    def marks(text: str, **options: Any) -> list[str]:
        return [row.mark.digest for row in rows(HEADER + text, **options)]

    first, second = marks("1,b,m,,1\n2,b,m,,2")
    assert marks("1,b,m,,1\r\n2,b,m,,2\n3,b,m,,3")[:2] == [first, second]
    changed = marks("1,b,m,,1\n2,b,m,,22\n")
    assert (changed[0] == first, changed[1] == second) == (True, False)
    for options in ({"metrics": {"runs": "1"}}, {"source": "g"}, {"ignored": frozenset({"at"})}, {"at": AT_NOW}):
        assert marks("1,b,m,,1\n", **options) != [first]
