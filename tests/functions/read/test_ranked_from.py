"""`ranked_from`: scores behind it are counted and not ranked, whatever is asked; a changed one begins new rankings.

The state machine compares every read of boards that have it with a sort.
"""

from typing import Any

import pytest

from standings.domain.boards_toml import parse_boards
from standings.domain.windows import DAY
from standings_cli.redefinitions import redefinitions
from tests.support.aws.stack import Stack, apply, project, running
from tests.support.builders.maintenance import finish

BOARDS = """
[boards."*"]
members = "registered"
late = "1 day"
settle = ["day"]
metrics.km = { aggregate = "sum", precision = 1, windows = ["all", "day", "last-3-days"], ranked_from = 0.5 }
metrics.strokes = { aggregate = "min", order = "ascending", windows = ["all"], ranked_from = 72 }
prizes.day = [{ percent = 50, name = "upper-half" }]
"""
RANKINGS = ("/boards/b/km/all", "/boards/b/km/day", "/boards/b/km/last-3-days", "/boards/b/strokes/all")
AT = "2026-11-21T10:00:00Z"


def ride(stack: Stack, **given: tuple[float, int]) -> None:
    for member, (km, strokes) in given.items():
        stack.put("/boards/b/member", id=member)
        event = {"id": f"{member} {km}", "board": "b", "member": member, "at": AT}
        apply(stack, [{**event, "metrics": {"km": km, "strokes": strokes}}])


@pytest.fixture(autouse=True)
def _ridden(stack: Stack) -> None:
    ride(stack, ann=(3, 70), bob=(0.5, 72), cat=(0.4, 73), dan=(-2, 90), eve=(2.5, 60))


def listed(stack: Stack, *rankings: str) -> dict[str, str]:
    return {path: " ".join(entry["member"] for entry in stack.entries(path)) for path in rankings or RANKINGS}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("km/all/rank?member=cat", "'cat' has a score that is not ranked: 'km' ranks from 0.5 up"),
        ("km/last-3-days?around=cat", "'cat' has a score that is not ranked: 'km' ranks from 0.5 up"),
        ("strokes/all/rank?member=cat", "'cat' has a score that is not ranked: 'strokes' ranks from 72 down"),
        ("km/all/rank?score=0.4", "score: expected a score that is ranked: 'km' ranks from 0.5 up"),
        ("strokes/all/rank?score=73", "score: expected a score that is ranked: 'strokes' ranks from 72 down"),
        ("km/day/rank?member=new", "'new' has no event in this period of 'day'"),
        ("km/all/rank?member=new", "'new' has a score that is not ranked: 'km' ranks from 0.5 up"),
    ],
)
def test_a_rank_that_there_is_not_says_from_which_score_on_there_are_some(stack: Stack, asked: str, said: str) -> None:
    stack.put("/boards/b/member", id="new")
    path, _, query = asked.partition("?")
    status, answer = stack.get(f"/boards/b/{path}", **dict([query.split("=")]))
    assert (status, answer["type"], answer["detail"]) == (404, "urn:standings:not-ranked", said)


def test_prizes_go_by_those_who_are_ranked(stack: Stack) -> None:
    stack.clock.milliseconds += 2 * DAY
    (told,) = finish(stack, "settle", board="b", window="day", period="2026-11-21")["rankings"]
    assert (told["summary"]["members"], told["summary"]["prizes"][0]["winners"]) == (3, 2)


def test_a_changed_one_begins_new_rankings_which_a_rebuild_fills(stack: Stack, engine: Any) -> None:
    text = BOARDS.replace("0.5", "2.5")
    with running(engine, stack.clock, text) as other:
        other.projected.update(stack.projected)
        assert {path: other.get(path)[0] for path in RANKINGS} == {**dict.fromkeys(RANKINGS, 404), RANKINGS[3]: 200}
        finish(other, "rebuild", board="b")
        project(other)
        assert listed(other, *RANKINGS[:2]) == dict.fromkeys(RANKINGS[:2], "ann eve")
    changes = redefinitions(parse_boards(BOARDS), parse_boards(text), stack.clock())
    assert [tuple(one)[1:] for one in changes] == [
        ("km", ("all", "day", "last-3-days"), "ranked_from is 2.5, was 0.5", {})
    ]
    defined = stack.get("/boards/b")[1]["metrics"]
    assert [metric["ranked_from"] for metric in defined] == [0.5, 72]
