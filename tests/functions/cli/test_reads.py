"""Reads by the command line: `top`, `rank`, `around` and `boards`, over the real handlers behind HTTP."""

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from standings_cli.__main__ import main
from standings_cli.stack.api import Api
from standings_cli.stack.transport import Transport
from standings_cli.terminal.exit_status import DIFFERS, OK, UNREACHABLE, WRONG
from tests.support.aws.gateway import serving
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.builders.stages.streaming import apply
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

NOW = 1_795_256_100_000
BOARDS = """
[boards."*"]
metrics.kept = { aggregate = "sum" }
metrics.points = { aggregate = "sum", precision = 2, windows = ["day", "all", "last-24-hours"] }
metrics.best = { aggregate = "max", windows = ["all"] }
[boards."nothing"]
metrics.kept = { aggregate = "sum" }
"""
HOSTILE = ("\x1b[31mred\x07", "[bold]x[/bold]", ":smile:", "a\nb", "\u202egnp.exe", "\x9b2J", "\u2028", "用户 مرحبا")
ODD = ("clan#7", "images/1.jpg", "用户", "a b+c%20", "x&y=z?", "%2F", "..", "~*'()!")


def event(member: str, points: float, board: str = "b", hour: int = 9, **metrics: float) -> dict[str, Any]:
    return {
        "id": f"{board}-{member}-{points}",
        "board": board,
        "member": member,
        "at": f"2026-11-21T{hour:02}:05:00Z",
        "metrics": {"points": points, **metrics},
    }


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    engine: Any = Engine()
    create_tables(engine)
    with running(engine, ManualClock(NOW), BOARDS) as stack, serving(stack) as gateway:
        apply(stack, [event(f"m{number}", number * 10.25) for number in range(25)])
        apply(stack, [event("m3", 0.5, hour=10), event("m2", 11, hour=10), event("late", 1, hour=10)])
        apply(stack, [event(member, 5, "odd:1", best=number) for number, member in enumerate((*HOSTILE, *ODD))])
        yield Api(gateway.address, Transport(local=True))
        assert gateway.raised == []


def run(api: Api, *arguments: str) -> int:
    return main(list(arguments), lambda _: SimpleNamespace(api=api))


def printed(api: Api, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert run(api, *arguments) == OK
    return capsys.readouterr().out.splitlines()


def test_the_top_of_a_board_by_its_name_alone(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    heading, names, *rows = printed(api, capsys, "top", "b")

    assert heading == "b · points · day · 2026-11-21 · 26 members · last change 2026-11-21 10:15:00 UTC"
    assert names.split() == ["rank", "member", "score"]
    assert [row.split() for row in rows] == [[str(n + 1), f"m{24 - n}", f"{(24 - n) * 10.25:g}"] for n in range(10)]


def test_json_is_what_the_api_answers(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    path = ("boards", "b", "points", "last-24-hours")
    (line,) = printed(api, capsys, "--json", "top", "b", "--window", "last-24-hours", "--limit", "3", "--from", "4")
    assert json.loads(line) == api.read(*path, limit=3, rank=4)
    (line,) = printed(api, capsys, "around", "b", "m7", "--window", "last-24-hours", "--radius", "2", "--json")
    assert json.loads(line) == api.read(*path, around="m7", radius=2)
    (line,) = printed(api, capsys, "rank", "b", "m7", "--window", "last-24-hours", "--previous", "--json")
    assert json.loads(line) == api.read(*path, "rank", member="m7", previous="true")
    (line,) = printed(api, capsys, "rank", "b", "--window", "all", "--score", "100.5", "--json")
    assert json.loads(line) == api.read("boards", "b", "points", "all", "rank", score="100.5")


def test_a_long_list_is_read_page_by_page(
    api: Api, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("standings_cli.commands.rankings._PAGE_SIZE", 10)
    pages = [json.loads(line) for line in printed(api, capsys, "--json", "top", "b", "--limit", "22", "--from", "2")]

    assert [len(page["entries"]) for page in pages] == [10, 10, 2]
    whole = api.read("boards", "b", "points", "day", limit=22, rank=2)["entries"]
    assert [entry for page in pages for entry in page["entries"]] == whole
    assert len(printed(api, capsys, "top", "b", "--limit", "1000")) == 2 + 26


def test_ranks(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    _, rank = printed(api, capsys, "rank", "b", "m20", "--previous", "--window", "last-24-hours")
    assert rank == "m20: rank 5 of 26, score 205, percentile 84.62, as in the period before"
    _, rank = printed(api, capsys, "rank", "b", "m2", "--previous", "--window", "last-24-hours")
    assert rank == "m2: rank 22 of 26, score 31.5, percentile 19.23, 1 up from 23 in the period before"
    _, rank = printed(api, capsys, "rank", "b", "m3", "--previous", "--window", "last-24-hours")
    assert rank == "m3: rank 23 of 26, score 31.25, percentile 15.38, 1 down from 22 in the period before"
    _, rank = printed(api, capsys, "rank", "b", "m20", "--previous", "--window", "day")
    assert rank == "m20: rank 5 of 26, score 205, percentile 84.62, not ranked in the period before"
    _, rank = printed(api, capsys, "rank", "b", "--score", "235.75")
    assert rank == "235.75 would be rank 2: 1 ahead, 1 equal, 24 behind"


def test_around_marks_the_member(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [row.split() for row in printed(api, capsys, "around", "b", "m3", "--radius", "1")[2:]]
    assert rows == [["22", "m2", "31.5"], [">", "23", "m3", "31.25"], ["24", "m1", "10.25"]]


@pytest.mark.parametrize("member", [*HOSTILE, *ODD])
def test_any_member_can_be_read_and_is_shown_as_plain_text(
    api: Api, capsys: pytest.CaptureFixture[str], member: str
) -> None:
    for command in (["rank", "odd:1", member], ["around", "odd:1", member], ["--json", "rank", "odd:1", member]):
        assert run(api, *command, "--metric", "best") == OK
        out = capsys.readouterr().out
        assert not set(out) & set("\x1b\x07\x9b\u202e\u2028\x7f")
        assert member in out or "\\" in out
    assert json.loads(out)["member"] == member


def test_names_are_escaped_and_no_markup(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    text = "\n".join(printed(api, capsys, "top", "odd:1", "--metric", "best", "--limit", "50"))

    for name in ("\\u001b[31mred\\u0007", "[bold]x[/bold]", ":smile:", "a\\u000ab", "\\u202egnp.exe", "\\u009b2J"):
        assert name in text
    assert len(text.splitlines()) == 2 + len(HOSTILE) + len(ODD)


def test_boards(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(api, capsys, "boards", "list") == ["b", "odd:1"]
    assert printed(api, capsys, "boards", "list", "--prefix", "odd:") == ["odd:1"]
    heading, *rows = printed(api, capsys, "boards", "show", "b")
    assert heading.startswith("b · family * · UTC · weeks from monday · members open")
    assert [" ".join(row.split()) for row in rows[1:]] == [
        "kept sum 0 descending member not ranked",
        "points sum 2 descending member day 2026-11-21",
        "all",
        "last-24-hours 2026-11-20 11:00 to 2026-11-21 11:00",
        "best max 0 descending member all",
    ]
    (line,) = printed(api, capsys, "boards", "show", "b", "--json")
    assert json.loads(line) == api.read("boards", "b")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["rank", "b", "nobody"], DIFFERS, "board 'b' has no member 'nobody'"),
        (["rank", "odd:1", "m1"], DIFFERS, "has no member 'm1': `standings top odd:1` shows who is ranked"),
        (["rank", "odd:2", "m1"], DIFFERS, "board 'odd:2' has had no event: did you mean 'odd:1'?"),
        (["around", "run", "m1"], DIFFERS, "board 'run' has had no event: `standings boards list` shows the boards"),
        (["around", "b", "nobody\x1b[2J"], DIFFERS, "has no member"),
        (["top", "b", "--metric", "pts"], WRONG, "has no metric 'pts'; there are: "),
        (["top", "b", "--metric", "kept"], WRONG, "'kept' of board 'b' is not ranked in 'all'"),
        (["top", "b", "--window", "fortnight"], WRONG, "is not ranked in 'fortnight'"),
        (["top", "nothing"], WRONG, "board 'nothing' has no ranked metric"),
        (["top", "a b"], WRONG, "expected a board name of 1 to 128 of A-Z a-z 0-9 . _ : -, not . or .., got 'a b'"),
        (["top", ".."], WRONG, "expected a name, got '..'"),
        (["top", "b", "--metric", "a/b"], WRONG, "there is nothing at"),
        (["top", "b", "--period", "2020-01-01"], WRONG, "could be read until"),
        (["rank", "b", "--score", "many"], WRONG, "score: expected a number"),
        (["rank", "b", "\udcff"], WRONG, "expected UTF-8, got "),
        (["around", "b", "m1", "--radius", "500"], WRONG, "radius: "),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(
    api: Api, capsys: pytest.CaptureFixture[str], arguments: list[str], status: int, words: str
) -> None:
    assert run(api, *arguments) == status
    seen = capsys.readouterr()
    assert (seen.out, seen.err.count("\n")) == ("", 1)
    assert words in seen.err
    assert "\x1b" not in seen.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["rank", "b"],
        ["rank", "b", "m1", "--score", "1"],
        ["rank", "b", "--score", "1", "--previous"],
        ["top", "b", "--limit", "0"],
        ["top", "b", "--method", "best"],
        ["boards"],
        ["--api-url", "localhost:80", "boards", "list"],
        ["--api-url", "http://[bad", "boards", "list"],
        ["boards", "list", "--endpoint-url", "ftp://example.org"],
    ],
)
def test_a_wrong_command_line_prints_its_usage(
    api: Api, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(api, *arguments)
    assert ended.value.code == WRONG
    assert "usage: standings" in capsys.readouterr().err


def test_an_api_that_is_not_there(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        naps: list[float] = []
        away = replace(api, url=address, sleep=naps.append, chance=lambda: 1.0)
        assert run(away, "top", "b") == UNREACHABLE
    assert naps == [0.5, 1.0, 2.0, 4.0]
    assert f'Could not connect to the endpoint URL: "{address}/boards/b"' in capsys.readouterr().err


def test_a_board_with_nobody(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(api, capsys, "top", "b", "--metric", "best", "--window", "all") == [
        "b · best · all · 0 members · no change yet",
        "no member is ranked yet",
    ]
    assert printed(api, capsys, "top", "b", "--from", "999")[1] == "no member has so low a rank"


@pytest.mark.parametrize(
    "command", [["top", "odd:12"], ["top", "odd:12", "--json"], ["rank", "odd:12", "--score", "5"]]
)
def test_a_mistyped_board_is_told_from_an_empty_ranking(
    api: Api, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    assert run(api, *command) == DIFFERS
    seen = capsys.readouterr()
    assert seen.out
    assert seen.err == "standings: board 'odd:12' has had no event: did you mean 'odd:1'?\n"


def test_ties_are_numbered_by_the_method(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    for method, last in (("competition", "1"), ("ordinal", "16"), ("dense", "1")):
        rows = printed(api, capsys, "top", "odd:1", "--method", method, "--limit", "16")
        assert rows[-1].split()[0] == last
