"""Rows of CSV as events."""

import json
from typing import Any

import pytest

from standings.domain.events.event_rules import parse_event
from standings_cli.post.source import InputError
from tests.support.cli.rows import AT_NOW, BOARDS, HEADER, NOW, bodies, rows, wrong


def test_a_row_of_csv_as_it_stands() -> None:
    (row,) = rows(HEADER + '1,b,"u ""1"", 用户",2026-11-21T10:00:00+01:00,11.20\n')

    assert bodies([row]) == [
        '{"id":"1","board":"b","member":"u \\"1\\", 用户","at":"2026-11-21T10:00:00+01:00","metrics":{"points":11.20}}'
    ]
    assert row.message is not None
    assert row.message.attributes == {}
    assert parse_event(row.message.body, BOARDS, NOW).updates[0].amounts == {"points": 1120}


def test_columns_are_renamed_left_out_and_given() -> None:
    reading: dict[str, Any] = {
        "board": "b",
        "columns": {"user": "member", "Km": "points"},
        "ignored": frozenset({"name"}),
        "metrics": {"runs": "1"},
    }
    (body,) = bodies(rows("\ufeffuser,name,Km\r\nm,Ann,2\r\n", **reading))
    assert body.endswith('"board":"b","member":"m","metrics":{"points":2,"runs":1}}')


def test_an_empty_cell_is_absent() -> None:
    first, second = rows("board,member,at,points,runs\nb,m,,3,\nb,m,,,4\n")
    assert [json.loads(body)["metrics"] for body in bodies([first, second])] == [{"points": 3}, {"runs": 4}]
    assert first.message is not None
    assert json.loads(first.message.body)["at"] == AT_NOW
    assert first.message.attributes == {"at_filled_in": {"DataType": "String", "StringValue": "true"}}


@pytest.mark.parametrize(
    ("cell", "at"),
    [
        ("1795255200", "2026-11-21T10:00:00Z"),
        ("1795255200000", "2026-11-21T10:00:00Z"),
        ("1795255200123", "2026-11-21T10:00:00.123Z"),
        ("0", "1970-01-01T00:00:00Z"),
        ("2026-11-21t10:00:00z", "2026-11-21t10:00:00z"),
    ],
)
def test_times_of_csv(cell: str, at: str) -> None:
    (body,) = bodies(rows(f"{HEADER}1,b,m,{cell},3\n"))
    assert json.loads(body)["at"] == at


@pytest.mark.parametrize("amount", ["1e3", " 3 ", "+3", "3.", ".5", "007", "NaN", "0x1", "-", "1_000", "３"])
def test_an_amount_that_is_no_plain_number(amount: str) -> None:
    assert wrong("1", "b", "m", "", amount).startswith("metrics.points: expected a plain number such as 3, -2 or 11.25")


def test_amounts_are_never_rounded() -> None:
    amounts = ["0", "-0.0", "-12", "123456789012345.678901234567890", "1" * 40]
    parsed = bodies(rows(HEADER + "".join(f"{n},b,m,,{amount}\n" for n, amount in enumerate(amounts))))
    assert [body.rpartition(":")[2] for body in parsed] == [f"{amount}}}}}" for amount in amounts]
    (body,) = bodies(rows('{"id":"1","board":"b","member":"m","metrics":{"points": 1.10000000000000000001}}', "jsonl"))
    assert body.endswith('{"points": 1.10000000000000000001}}')


@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (("1", "b", "m", "", "3,5"), "expected 5 columns as in the header, got 6"),
        (("1", "b", "m", "", ""), "metrics: expected at least one amount, got none"),
        (("1", "b", "", "", "3"), "member: is missing"),
        (("1", "", "m", "", "3"), "board: is missing"),
        (("1", "a b", "m", "", "3"), "board: expected 1 to 128 of A-Z a-z 0-9 . _ : -, not . or .., got 'a b'"),
        (("1", "b", "m" * 257, "", "3"), "member: expected 1 to 256 bytes of UTF-8, got 257: 'mmm"),
        (("1" * 129, "b", "m", "", "3"), "id: expected text of 1 to 128 characters, got "),
        (("1", "b", "m", "yesterday", "3"), "at: expected an RFC 3339 instant"),
        (("1", "b", "m", "2026-11-21 10:00:00", "3"), "at: expected an RFC 3339 instant"),
        (("1", "b", "m", "1795259999", "3"), "at: expected an instant at most 5 minutes ahead"),
        (("1", "b", '"m"x', "", "3"), "',' expected after '\"'"),
        (("1", "b", '"m', "", "3"), "unexpected end of data"),
    ],
)
def test_a_row_of_csv_that_is_no_event(cells: tuple[str, ...], why: str) -> None:
    assert wrong(*cells).startswith(why)


def test_a_bad_row_does_not_keep_its_neighbours() -> None:
    text = HEADER.encode() + b'1,b,m,,1\n2,b,"m\nn",,2\n3,b,\xff,,3\n\n4,b,m,,x\n5,b,m,,5\n'
    parsed = rows(text)

    assert [(row.line, row.message is not None) for row in parsed] == [
        (2, True),
        (3, True),
        (5, False),
        (7, False),
        (8, True),
    ]
    assert parsed[-1].mark[:3] == (8, 5, 2)
    assert "can't decode byte 0xff" in parsed[2].problem


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
