"""Reads by the command line, over the real handlers behind HTTP; what they show is in `sessions/reads.txt`."""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from standings_cli.commands import boards
from standings_cli.terminal import OK, period
from tests.support.aws.stack import apply
from tests.support.builders.querying import deployed
from tests.support.cli.command_line import Run, Step, connected, replay, sessions

BOARDS = """
[boards."*"]
metrics.kept = { aggregate = "sum" }
metrics.points = { aggregate = "sum", precision = 2, windows = ["day", "all", "last-24-hours"] }
metrics.best = { aggregate = "max", least = -5, windows = ["all"] }
[boards."nothing"]
expires = "9 days"
metrics.kept = { aggregate = "sum" }
[boards."cups"]
metrics.points = { aggregate = "sum", windows = ["week"] }
settle = ["week"]
prizes.week = [{ ranks = "1-2", name = "cup" }, { percent = 10, name = "best" }]
[boards."league"]
expires = "90 days"
metrics.points = { aggregate = "sum", windows = ["season"] }
seasons = [
  { name = "autumn-2026", starts = "2026-09-01", ends = "2026-11-01" },
  { name = "winter-2026", starts = "2026-11-01", ends = "2027-03-01" },
]
"""
HOSTILE = ("\x1b[31mred\x07", "[bold]x[/bold]", ":smile:", "a\nb", "\u202egnp.exe", "\x9b2J", "\u2028", "用户 مرحبا")
ODD = ("clan#7", "images/1.jpg", "用户", "a b+c%20", "x&y=z?", "%2F", "..", 'a"b,c')


def event(member: str, points: float, board: str = "b", at: str = "21T09", **metrics: float) -> dict[str, Any]:
    about = {"id": f"{board}-{member}-{points}", "board": board, "member": member}
    return {**about, "at": f"2026-11-{at}:05:00Z", "metrics": {"points": points, **metrics}}


@pytest.fixture(scope="module")
def connection() -> Iterator[Any]:
    with deployed(BOARDS) as stack:
        apply(stack, [event(f"m{number}", number * 400.25, kept=number) for number in range(6)])
        apply(stack, [event("m3", 0.5, at="21T10"), event("m2", 401, at="21T10"), event("m1", -1.5, at="19T10")])
        apply(stack, [event(member, 5, "odd:1", best=number) for number, member in enumerate((*HOSTILE, *ODD))])
        apply(stack, [event("m1", 5, "league")])
        with connected(stack) as there:
            yield there


@pytest.mark.parametrize(
    ("window", "name", "start", "end", "said"),
    [
        ("hour", "2026-10-25T00-01:00", "2026-10-25T00:00-01:00", "2026-10-25T01:00-01:00", "{} to {}"),
        ("hour", "2026-10-04T02", "2026-10-04T01:30+10:30", "2026-10-04T03:00+11:00", "{} to {}"),
        ("hour", "2026-07-01T03", "2026-07-01T02:30+10:30", "2026-07-01T03:30+10:30", "2026-07-01 02:30 to 03:30"),
        ("day", "2011-12-29", "2011-12-29T00:00-10:00", "2011-12-31T00:00+14:00", "2011-12-29"),
        ("last-2-days", "2011-12-29", "2011-12-28T00:00-10:00", "2011-12-31T00:00+14:00", "2011-12-28 to 2011-12-29"),
        ("day", None, "2026-04-24T01:00+03:00", "2026-04-25T00:00+03:00", "2026-04-24"),  # as a stack of 0.3 says it
        ("week", "2026-04-17", "2026-04-17T00:00+02:00", "2026-04-24T01:00+03:00", "2026-04-17 to 2026-04-23"),
    ],
)
def test_a_period_is_told_by_the_boards_clocks(window: str, name: str | None, start: str, end: str, said: str) -> None:
    about = {"start": start, "end": end, **({"name": name} if name else {})}
    shown = period({"window": window, "period": about})
    assert shown == said.format(start.replace("T", " "), end.replace("T", " "))


@pytest.mark.parametrize("session", sessions("reads.txt"))
def test_what_a_read_shows(run: Run, session: list[Step]) -> None:
    replay(run, session)


@pytest.mark.parametrize(
    ("command", "path", "arguments"),
    [
        ("top b --limit 3 --from 4", "b points day", {"limit": 3, "rank": 4}),
        ("top odd:1 --metric best --window all --method dense", "odd:1 best all", {"method": "dense", "limit": 10}),
        ("top b --method ordinal --period 2026-11-19", "b points day", {"method": "ordinal", "period": "2026-11-19"}),
        ("around b m3 --window all --radius 2", "b points all", {"around": "m3", "radius": 2}),
        ("rank b m3 --previous", "b points day rank", {"member": "m3", "previous": "true"}),
        ("rank b --score 100.5 --window all", "b points all rank", {"score": "100.5"}),
        ("history odd:1 用户 --metric best --window all", "odd:1 best all history", {"member": "用户"}),
        ("boards show b", "b", {}),
        ("member show b m5", "b member", {"id": "m5", "ranks": "true"}),
    ],
)
def test_json_is_the_apis_answer(run: Run, connection: Any, command: str, path: str, arguments: dict[str, Any]) -> None:
    assert json.loads(run(command, "--json").out) == connection.api.read("boards", *path.split(), **arguments)


def test_a_long_list_is_read_page_by_page(run: Run, connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standings_cli.commands.rankings._PAGE_SIZE", 2)
    pages = [json.loads(line)["entries"] for line in run("--json top b --limit 5 --from 2").out.splitlines()]

    whole = connection.api.read("boards", "b", "points", "day", rank=2)["entries"]
    assert pages == [whole[:2], whole[2:4], whole[4:]]
    monkeypatch.setattr("standings_cli.commands.boards._PAGE_SIZE", 1)
    assert run("boards list").out.split() == ["b", "league", "odd:1"]


@pytest.mark.parametrize("member", [*HOSTILE, *ODD], ids=ascii)
def test_any_member_can_be_read_and_is_shown_as_plain_text(run: Run, member: str) -> None:
    for command in ("rank odd:1", "around odd:1", "member show odd:1", "history odd:1", "--json rank odd:1"):
        ran = run(command, member, *([] if command.startswith("member") else ["--metric", "best"]))
        assert ran.status == OK
        assert not set(ran.out) & set("\x1b\x07\x9b\u202e\u2028\x7f")
        assert member in ran.out or "\\" in ran.out
    assert json.loads(ran.out)["member"] == member


def test_names_are_escaped_for_a_terminal_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    unknown = run("around b x\x1b[2J").err
    assert unknown.startswith("standings: board 'b' has no member 'x\\x1b[2J': ")
    table = run("top odd:1 --limit 50").out
    assert len(table.splitlines()) == 2 + len(HOSTILE) + len(ODD)
    assert "\x1b" not in table
    assert "[bold]x[/bold]" in table
    rows = list(csv.reader(io.StringIO(run("top odd:1 --limit 50 --csv").out, newline="")))
    assert sorted(member for _, member, _ in rows[1:]) == sorted((*HOSTILE, *ODD))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert "\x1b" not in run("top odd:1 --limit 50 --csv").out


def test_a_person_sees_what_the_first_boards_rank_and_a_pipe_names_alone(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "b\nleague\nodd:1\n"
    assert run("boards list").out == names
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr(boards, "_DESCRIBED", 2)
    _, *shown = run("boards list").out.splitlines()
    assert [" ".join(line.split()) for line in shown] == [
        "b points: day, all, last-24-hours; best: all",
        "league points: season · ends 2027-02-19 10:15:00 UTC",
        "odd:1",
    ]
    assert run("boards list --csv").out == f"board\n{names}"
    assert run("boards list --prefix none").out == ""
