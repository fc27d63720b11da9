"""JSON lines as events, and what any row's id and mark are made from."""

import json
from random import Random
from typing import Any

import pytest

from standings_cli.post.source import InputError
from tests.support.cli.rows import AT_NOW, BOARDS, HEADER, bodies, ids, rows


def test_json_lines_are_sent_as_they_stand() -> None:
    event = '{"metrics" : {"points":1.0}, "member":"m","board":["b","c"], "id":"1", "at":"2026-11-21T10:00:00Z"}'
    together = '{"updates":[{"board":"b","member":"m","metrics":{"points":1}}],"id":"2"}'
    first, second = bodies(rows(f"  {event}\r\n\n{together}", "jsonl", board="other"))
    assert first == event
    assert second == f'{{"at":"{AT_NOW}",{together[1:]}'
    bare = '{"member":"m","metrics":{"points":1}}'
    assert json.loads(bodies(rows(bare, "jsonl", board="b"))[0])["board"] == "b"


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
)
def test_a_json_line_that_is_no_event(line: str, why: str) -> None:
    (row,) = rows(line, "jsonl")
    assert row.message is None
    assert row.problem.startswith(why)


def test_what_a_boards_toml_does_not_allow_is_told_beforehand() -> None:
    good, bad = rows(HEADER + "1,b,m,,1.25\n2,b,m,,1.255\n", boards=BOARDS)
    assert good.message is not None
    assert bad.problem == "metrics.points: expected at most 2 decimals, got 1.255"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_rows_that_are_added_anywhere_change_no_other_id(form: str) -> None:
    rng = Random(7)
    alike = (
        ["m,1", "m,2", "n,1"]
        if form == "csv"
        else ['{"member":"m","metrics":{"points":1}}', '{"member":"n","metrics":{"points":1}}']
    )
    lines = [rng.choice(alike) for _ in range(30)]

    def ids_of(lines: list[str]) -> list[str]:
        header = ["member,points"] if form == "csv" else []
        return ids(rows("\n".join([*header, *lines]), form, board="b"))

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
    def made(text: str, source: str = "f", board: str = "b") -> list[str]:
        return ids(rows(text, source=source, board=board))

    (one,) = made("member,points\nm,1\n")
    assert made("points,member\r\n1,m\r\n") == [one]
    assert made('member,points\n"m","1"') == [one]
    others = [
        made("member,points\nm,1\n", "g"),
        made("member,points\nm,1\n", board="c"),
        made("member,points\nm,1.0\n"),
    ]
    others.append(made("member,at,points\nm,0,1\n"))
    assert len({one, *(other for (other,) in others)}) == 5


def test_standard_input_without_a_name_needs_ids() -> None:
    assert ids(rows(HEADER + "1,b,m,,1\n", source=None)) == ["1"]
    with pytest.raises(InputError, match="use --source NAME"):
        rows(HEADER + ",b,m,,1\n", source=None)


def test_marks_know_what_was_read_and_how() -> None:
    def marks(text: str, **options: Any) -> list[str]:
        return [row.mark.digest for row in rows(text, **options)]

    first, second = marks(HEADER + "1,b,m,,1\n2,b,m,,2")
    assert marks(HEADER + "1,b,m,,1\r\n2,b,m,,2\n3,b,m,,3")[:2] == [first, second]
    assert marks(HEADER + "1,b,m,,1\n2,b,m,,22\n")[0] == first
    assert marks(HEADER + "1,b,m,,1\n2,b,m,,22\n")[1] != second
    for options in ({"metrics": {"runs": "1"}}, {"source": "g"}, {"ignored": frozenset({"at"})}):
        assert marks(HEADER + "1,b,m,,1\n", **options) != [first]
