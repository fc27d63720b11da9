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


def test_scores_behind_it_have_no_entry_and_count_in_no_total(stack: Stack) -> None:
    assert listed(stack) == {**dict.fromkeys(RANKINGS, "ann eve bob"), RANKINGS[3]: "eve ann bob"}
    for path in RANKINGS:
        answer = stack.get(f"{path}/rank", member="bob")[1]
        assert (answer["rank"], answer["total"], answer["percentile"]) == (3, 3, 33.33)
        assert sum(bucket["members"] for bucket in stack.get(f"{path}/distribution")[1]["buckets"]) == 3
    ride(stack, dan=(2.6, 80), bob=(-0.1, 99))
    assert listed(stack) == {**dict.fromkeys(RANKINGS, "ann eve dan"), RANKINGS[3]: "eve ann bob"}
    # What `ranked_from` leaves out is counted all the same.
    card = stack.get("/boards/b/member", id="bob", ranks="true")[1]["metrics"][0]
    shown = [(row["score"], row["rank"], row["total"]) for row in card["windows"]]
    assert (card["score"], shown) == (0.4, [(0.4, None, None)] * 3)
    assert finish(stack, "audit", board="b")["drift"] == 0


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
