"""Reads by the command line, over the real handlers behind HTTP: `top`, `rank`, `around`, `history`, `boards`, `member
show`."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from standings_cli.terminal.exit_status import DIFFERS, OK, WRONG
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.builders.stages.streaming import apply
from tests.support.cli.command_line import Run, connected
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

NOW = 1_795_256_100_000
BOARDS = """
[boards."*"]
metrics.kept = { aggregate = "sum" }
metrics.points = { aggregate = "sum", precision = 2, windows = ["day", "all", "last-24-hours"] }
metrics.best = { aggregate = "max", least = -5, windows = ["all"] }
[boards."nothing"]
metrics.kept = { aggregate = "sum" }
[boards."league"]
metrics.points = { aggregate = "sum", windows = ["season"] }
[[boards."league".seasons]]
name = "autumn-2026"
starts = "2026-09-01"
ends = "2026-11-01"
[[boards."league".seasons]]
name = "winter-2026"
starts = "2026-11-01"
ends = "2027-03-01"
"""
HOSTILE = ("\x1b[31mred\x07", "[bold]x[/bold]", ":smile:", "a\nb", "\u202egnp.exe", "\x9b2J", "\u2028", "用户 مرحبا")
ODD = ("clan#7", "images/1.jpg", "用户", "a b+c%20", "x&y=z?", "%2F", "..", 'a"b,c')


def event(member: str, points: float, board: str = "b", at: str = "21T09", **metrics: float) -> dict[str, Any]:
    return {
        "id": f"{board}-{member}-{points}",
        "board": board,
        "member": member,
        "at": f"2026-11-{at}:05:00Z",
        "metrics": {"points": points, **metrics},
    }


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    engine: Any = Engine()
    create_tables(engine)
    with running(engine, ManualClock(NOW), BOARDS) as stack:
        apply(stack, [event(f"m{number}", number * 400.25, kept=number) for number in range(6)])
        apply(stack, [event("m3", 0.5, at="21T10"), event("m2", 401, at="21T10"), event("m1", -1.5, at="19T10")])
        apply(stack, [event(member, 5, "odd:1", best=number) for number, member in enumerate((*HOSTILE, *ODD))])
        apply(stack, [event("m1", 5, "league")])
        with connected(stack) as there:
            yield there


@pytest.mark.parametrize(
    ("command", "shown"),
    {
        "top b": """
b · points · day · 2026-11-21 · 6 members · last change 2026-11-21 10:15:00 UTC
rank  member     score
   1  m5      2,001.25
   2  m4         1,601
   3  m2       1,201.5
   4  m3      1,201.25
   5  m1        400.25
   6  m0             0
""",
        "top b --window last-24-hours --limit 2 --from 3": """
b · points · last-24-hours · 2026-11-20 11:00 to 2026-11-21 11:00 · 6 members · last change 2026-11-21 10:15:00 UTC
rank  member     score
   3  m2       1,201.5
   4  m3      1,201.25
""",
        "top b --csv --limit 2": """
rank,member,score
1,m5,2001.25
2,m4,1601
""",
        "top b --window all --from 999": """
b · points · all · 6 members · last change 2026-11-21 10:15:00 UTC
no member has so low a rank
""",
        "top b --metric best --window all": """
b · best · all · 0 members · no change yet
no member is ranked yet
""",
        "top league": """
league · points · season · winter-2026, 2026-11-01 to 2027-02-28 · 1 member · last change 2026-11-21 10:15:00 UTC
rank  member  score
   1  m1          5
""",
        "top league --period autumn-2026": """
league · points · season · autumn-2026, 2026-09-01 to 2026-10-31 · 0 members · no change yet · final
no member is ranked yet
""",
        "rank b m5 --window all": """
b · points · all · 6 members · last change 2026-11-21 10:15:00 UTC
m5: rank 1 of 6, score 2,001.25, percentile 100
""",
        "rank b --score 1601": """
b · points · day · 2026-11-21 · 6 members · last change 2026-11-21 10:15:00 UTC
1,601 would be rank 2: 1 ahead, 1 equal, 4 behind
""",
        "around b m3 --radius 1": """
b · points · day · 2026-11-21 · 6 members · last change 2026-11-21 10:15:00 UTC
   rank  member     score
      3  m2       1,201.5
>     4  m3      1,201.25
      5  m1        400.25
""",
        "around b m3 --radius 0 --csv": """
rank,member,score
4,m3,1201.25
""",
        "history b m1 --periods 3": """
b · points · day · m1
period            rank  of   score
2026-11-21           5   6  400.25
2026-11-20  not ranked   0
2026-11-19           1   1    -1.5
""",
        "history b m1 --periods 2 --csv": """
period,rank,total,score
2026-11-21T00:00:00Z,5,6,400.25
2026-11-20T00:00:00Z,,0,
""",
        "history b m1 --window all": """
b · points · all · m1
period  rank  of   score
all        5   6  398.75
""",
        "history b m2 --period 2026-11-20 --periods 2": """
b · points · day · m2
period            rank  of  score
2026-11-20  not ranked   0
2026-11-19  not ranked   1
[1]
""",
        "boards list": """
b
league
odd:1
""",
        "boards list --prefix odd: --csv": """
board
odd:1
""",
        "boards show b": """
b · family * · UTC · weeks from monday · members open · late 7 days · keep 35 days · shards 1
metric  aggregate  decimals  order       ties by  amounts         window         current period
kept    sum               0  descending  member                   not ranked
points  sum               2  descending  member                   day            2026-11-21
                                                                  all
                                                                  last-24-hours  2026-11-20 11:00 to 2026-11-21 11:00
best    max               0  descending  member   from -5 to any  all
""",
        "member show b m5": """
b · m5 · not hidden
metric  window         period                                   score  rank  of
kept    not ranked                                                  5
points  day            2026-11-21                            2,001.25     1   6
points  all                                                  2,001.25     1   6
points  last-24-hours  2026-11-20 11:00 to 2026-11-21 11:00  2,001.25     1   6
best    all
""",
        "top odd:12": """
odd:12 · points · day · 2026-11-21 · 0 members · no change yet
no member is ranked yet
standings: board 'odd:12' has had no event: did you mean 'odd:1'?
[1]
""",
        "rank odd:12 --score 5": """
odd:12 · points · day · 2026-11-21 · 0 members · no change yet
5 would be rank 1: 0 ahead, 0 equal, 0 behind
standings: board 'odd:12' has had no event: did you mean 'odd:1'?
[1]
""",
    }.items(),
)
def test_what_a_read_shows(run: Run, command: str, shown: str) -> None:
    assert run(command).text == shown.removeprefix("\n")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("m5 --window last-24-hours", "as in the period before"),
        ("m2 --window last-24-hours", "1 up from 4 in the period before"),
        ("m3 --window last-24-hours", "1 down from 3 in the period before"),
        ("m5 --window day", "not ranked in the period before"),
    ],
)
def test_a_rank_and_the_one_before(run: Run, options: str, said: str) -> None:
    assert run(f"rank b {options} --previous").out.endswith(f", {said}\n")


@pytest.mark.parametrize(
    ("command", "path", "arguments"),
    [
        ("top b --limit 3 --from 4", "b points day", {"limit": 3, "rank": 4}),
        ("top b --method dense --period 2026-11-19", "b points day", {"method": "dense", "period": "2026-11-19"}),
        ("around b m3 --window all --radius 2", "b points all", {"around": "m3", "radius": 2}),
        ("rank b m3 --previous", "b points day rank", {"member": "m3", "previous": "true"}),
        ("rank b --score 100.5 --window all", "b points all rank", {"score": "100.5"}),
        ("history odd:1 用户 --metric best --window all", "odd:1 best all history", {"member": "用户"}),
        ("boards show b", "b", {}),
        ("member show b m5", "b member", {"id": "m5", "ranks": "true"}),
    ],
)
def test_json_is_what_the_api_answers(
    run: Run, connection: Any, command: str, path: str, arguments: dict[str, Any]
) -> None:
    assert json.loads(run(command, "--json").out) == connection.api.read("boards", *path.split(), **arguments)


def test_a_long_list_is_read_page_by_page(run: Run, connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standings_cli.commands.rankings._PAGE_SIZE", 2)
    pages = [json.loads(line)["entries"] for line in run("--json top b --limit 5 --from 2").out.splitlines()]

    whole = connection.api.read("boards", "b", "points", "day", rank=2)["entries"]
    assert pages == [whole[:2], whole[2:4], whole[4:]]
    monkeypatch.setattr("standings_cli.commands.boards._PAGE_SIZE", 1)
    assert run("boards list").out.split() == ["b", "league", "odd:1"]


def test_ties_are_numbered_by_the_method(run: Run) -> None:
    for method, last in (("competition", "1"), ("ordinal", "16"), ("dense", "1")):
        assert run(f"top odd:1 --method {method} --limit 16").out.splitlines()[-1].split()[0] == last


@pytest.mark.parametrize("member", [*HOSTILE, *ODD], ids=ascii)
def test_any_member_can_be_read_and_is_shown_as_plain_text(run: Run, member: str) -> None:
    for command in ("rank odd:1", "around odd:1", "member show odd:1", "history odd:1", "--json rank odd:1"):
        ran = run(command, member, *([] if command.startswith("member") else ["--metric", "best"]))
        assert ran.status == OK
        assert not set(ran.out) & set("\x1b\x07\x9b\u202e\u2028\x7f")
        assert member in ran.out or "\\" in ran.out
    assert json.loads(ran.out)["member"] == member


def test_names_are_escaped_and_no_markup(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = run("top odd:1 --limit 50").out
    for name in ("\\u001b[31mred\\u0007", "[bold]x[/bold]", ":smile:", "a\\u000ab", "\\u202egnp.exe", "\\u009b2J"):
        assert name in text
    assert len(text.splitlines()) == 2 + len(HOSTILE) + len(ODD)

    rows = list(csv.reader(io.StringIO(run("top odd:1 --limit 50 --csv").out, newline="")))
    assert sorted(member for _, member, _ in rows[1:]) == sorted((*HOSTILE, *ODD))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    on_a_terminal = run("top odd:1 --limit 50 --csv").out
    assert "\x1b" not in on_a_terminal
    assert len(on_a_terminal.splitlines()) == 1 + len(HOSTILE) + len(ODD)


NAME_OF_A_BOARD = "expected a board name of 1 to 128 of A-Z a-z 0-9 . _ : -, not . or .., got"
WHO_IS_RANKED = "`standings top b` shows who is ranked"


@pytest.mark.parametrize(
    ("command", "status", "message"),
    [
        ("rank b nobody", DIFFERS, f"board 'b' has no member 'nobody': {WHO_IS_RANKED}"),
        ("around b 'x\x1b[2J'", DIFFERS, f"board 'b' has no member 'x\\x1b[2J': {WHO_IS_RANKED}"),
        ("history b nobody", DIFFERS, f"board 'b' has no member 'nobody': {WHO_IS_RANKED}"),
        ("member show b nobody", DIFFERS, f"board 'b' has no member 'nobody': {WHO_IS_RANKED}"),
        ("member remove b nobody", DIFFERS, f"board 'b' has no member 'nobody': {WHO_IS_RANKED}"),
        ("rank odd:2 m1", DIFFERS, "board 'odd:2' has had no event: did you mean 'odd:1'?"),
        ("top b --metric pts", WRONG, "board 'b' has no metric 'pts'; there are: best, kept, points"),
        ("top b --metric kept", WRONG, "metric 'kept' of board 'b' is not ranked in 'all'; windows: none"),
        ("top nothing", WRONG, "board 'nothing' has no ranked metric"),
        ("top 'a b'", WRONG, f"{NAME_OF_A_BOARD} 'a b'"),
        ("top ..", WRONG, "expected a name, got '..'"),
        ("top b --metric a/b", WRONG, "there is nothing at /boards/b/a/b/all"),
        ("top b --period 2020-01-01", WRONG, "this period of 'day' could be read until 2020-02-06T00:00:00.000Z"),
        ("rank b --score many", WRONG, "score: expected a number such as 12 or -0.5, got 'many'"),
        ("rank b \udcff", WRONG, "expected UTF-8, got '\\udcff'"),
        ("around b m1 --radius 500", WRONG, "radius: expected from 0 to 100, got 500"),
        ("member show b ''", WRONG, "id: expected 1 to 256 bytes of UTF-8, got 0"),
        ("member register 'a b' u1", WRONG, f"{NAME_OF_A_BOARD} 'a b'"),
        ("member hide b ''", WRONG, "id: expected 1 to 256 bytes of UTF-8, got 0"),
        ("member remove b ''", WRONG, "id: expected 1 to 256 bytes of UTF-8, got 0"),
        ("member erase '' --yes", WRONG, "member: expected 1 to 256 bytes of UTF-8, got 0"),
        ("settle a/b --window day", WRONG, f"{NAME_OF_A_BOARD} 'a/b'"),
        ("rebuild no*", DIFFERS, "no board matches 'no*': `standings boards list` shows the boards"),
    ],
)
def test_a_mistake_is_one_line_on_standard_error(run: Run, command: str, status: int, message: str) -> None:
    assert run(command) == (status, "", f"standings: {message}\n")


@pytest.mark.parametrize(
    ("command", "status"),
    {
        "top nobody": DIFFERS,
        "top nobody --json": DIFFERS,
        "rank nobody m": DIFFERS,
        "rank nobody --score 5": DIFFERS,
        "around nobody m": DIFFERS,
        "history nobody m": DIFFERS,
        "export nobody": DIFFERS,
        "boards show nobody": DIFFERS,
        "boards show nobody --json": DIFFERS,
        "member show nobody m": DIFFERS,
        "member remove nobody m": DIFFERS,
        "audit nobody": DIFFERS,
        "rebuild nobody": WRONG,
        "delete nobody --yes": WRONG,
        "settle nobody --window day": WRONG,
        "results nobody": WRONG,
        "results nobody --json": WRONG,
    }.items(),
)
def test_a_board_that_has_had_no_event(run: Run, command: str, status: int) -> None:
    expected = "standings: board 'nobody' has had no event: `standings boards list` shows the boards\n"
    ran = run(command)
    assert (ran.status, ran.err) == (status, expected)
