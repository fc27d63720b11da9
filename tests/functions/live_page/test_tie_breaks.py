"""Tie-breaks on the page: columns on a desk, lines below the score on a phone; in a frame, on a wall, and on a card.

Also units: seconds are shown as times, and another unit once, in a head or behind a number.
"""

from typing import Final

import pytest
from playwright.sync_api import expect

from tests.support.aws.stack import Stack
from tests.support.browser.live_page import AXE, DESK, PHONE, WALL, Opener, View
from tests.support.builders.querying import post_amounts
from tests.support.dynamodb.local import NO_NPM

BOARDS: Final = """
[boards."icpc-*"]
metrics.solved = { aggregate = "sum", windows = ["all", "day"], tie_breaks = ["penalty", "longest_run"] }
metrics.penalty = { aggregate = "sum", order = "ascending", precision = 1, unit = "time" }
metrics.longest_run = { aggregate = "max", unit = "km" }
metrics.tries = { aggregate = "sum", windows = ["all"], unit = "h" }
"""
AMOUNTS: Final[dict[str, dict[str, float]]] = {
    "ann": {"solved": 8, "penalty": 312.5, "longest_run": 4},
    "bob": {"solved": 8, "penalty": 1356.5, "longest_run": 5},
    "cem": {"solved": 8, "penalty": 1356.5, "longest_run": 1, "tries": 9},
    "dan": {"solved": 8, "penalty": 1356.5},
    "eve": {"solved": 2},
    "fay": {"solved": 2},
}
HEAD: Final = ["Rank", "Since the period before", "Member", "Score", "penalty", "longest run (km)"]
ROWS: Final = [
    ["1", "ann", "8", "5:12.5", "4"],
    ["2", "bob", "8", "22:36.5", "5"],
    ["3", "cem", "8", "22:36.5", "1"],
    ["4", "dan", "8", "22:36.5", "–"],
    ["5", "eve", "2", "0:00.0", "–"],
    ["5", "fay", "2", "0:00.0", "–"],
]

pytestmark = [pytest.mark.thorough, pytest.mark.parametrize("stack", [BOARDS], indirect=True)]


@pytest.fixture
def contest(stack: Stack, open_bare: Opener) -> Opener:
    """Opens pages of a contest on a phone, a desk or a wall."""
    post_amounts(stack, "icpc-1", AMOUNTS)
    return open_bare


def rows(tab: View) -> list[list[str]]:
    found: list[list[str]] = tab.page.locator("#rows tr").evaluate_all(
        "all => all.map(row => [...row.querySelectorAll('td:not(.moved)')].map(cell => cell.textContent))"
    )
    return found


def named(row: list[str]) -> list[str]:
    """The tie-breaks of a row as the wall names them, where no column has a head."""
    penalty, run = row[3:]
    return [f"{penalty} penalty", "no longest run" if run == "–" else f"{run} km longest run"]


def test_each_has_a_column_and_follows_the_ranking(contest: Opener, stack: Stack) -> None:
    tab = contest("board=icpc-1", locale="en-US", viewport=DESK)
    expect(tab.page.locator("#list thead th")).to_have_text(HEAD)
    assert tab.page.locator("#list thead :is(button, a, [aria-sort])").count() == 0
    assert rows(tab) == ROWS

    post_amounts(stack, "icpc-1", {"dan": {"solved": 0, "penalty": -1100}})
    tab.pass_seconds(5)
    assert rows(tab)[:2] == [["1", "dan", "8", "4:16.5", "–"], ["2", *ROWS[0][1:]]]
    # A ranking without tie-breaks has the columns that it always had.
    tab.open("board=icpc-1&metric=tries")
    expect(tab.page.locator("#list thead th")).to_have_text([*HEAD[:3], "Score (h)"])
    assert rows(tab) == [["1", "cem", "9"]]
    assert tab.page.locator("#rows .score").evaluate("cell => getComputedStyle(cell, '::after').content") == "none"


def test_the_card_and_my_row_have_them_and_name_the_number_that_decides(contest: Opener, stack: Stack) -> None:
    tab = contest("board=icpc-1&member=bob", locale="en-US")
    said, gap = tab.page.locator("#found-rank"), tab.page.locator("#found-gap")
    for member, numbers, behind in (
        ("ann", "8 solved · 5:12.5 penalty · 4 km longest run", "leads"),
        ("bob", "8 solved · 22:36.5 penalty · 5 km longest run", "17:24.0 penalty behind ann (1st)"),
        ("cem", "8 solved · 22:36.5 penalty · 1 km longest run", "4 km longest run behind bob (2nd)"),
        ("dan", "8 solved · 22:36.5 penalty · no longest run", "behind cem (3rd)"),
        ("eve", "2 solved · 0:00.0 penalty · no longest run", "6 behind dan (4th)"),
        ("fay", "2 solved · 0:00.0 penalty · no longest run", "level with eve"),
    ):
        tab.find(member)
        expect(said).to_contain_text(f" of 6 · {numbers} · ")
        expect(gap).to_have_text(behind)
    tab.find("bob")
    tab.page.get_by_role("button", name="This is me").click()
    mine = tab.page.locator("#mine")
    expect(mine).to_contain_text("8 · 22:36.5 penalty · 5 km longest run17:24.0 penalty behind ann (1st)")
    post_amounts(stack, "icpc-1", {"bob": {"solved": 3, "penalty": 41}}, days_ago=1)
    tab.open("board=icpc-1&window=day&member=bob")
    past = [text.partition(": ")[2] for text in tab.page.locator("#past li").all_text_contents()[-2:]]
    assert past == ["1st of 1, 3, 0:41.0 penalty, no longest run", "2nd of 6, 8, 22:36.5 penalty, 5 km longest run"]


@pytest.mark.parametrize("more", ["", "&embed"])
def test_a_narrow_screen_has_them_below_the_score(contest: Opener, more: str) -> None:
    tab = contest(f"board=icpc-1{more}", locale="en-US", viewport=PHONE)
    expect(tab.page.locator("#rows tr")).to_have_count(6)
    expect(tab.page.locator("#rows td.tie").first).to_be_hidden()
    below = tab.page.locator("#rows td.score").evaluate_all("all => all.map(one => one.dataset.ties)")
    assert below[2:4] == ["22:36.5 penalty\n1 km longest run", "22:36.5 penalty\nno longest run"]
    heights = tab.page.locator("#rows td.score").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert 70 < min(heights) <= max(heights) < 90, "each takes one line"
    assert tab.pixels_beyond() <= 0


def test_a_frame_names_its_columns(contest: Opener) -> None:
    tab = contest("board=icpc-1&embed", locale="en-US", viewport=DESK)
    assert rows(tab) == ROWS
    expect(tab.page.locator("#list thead th.tie").first).to_be_in_viewport()
    assert tab.page.locator("#list thead").evaluate("head => head.getBoundingClientRect().height") > 1


@pytest.mark.parametrize("viewport", [WALL, {"width": 1600, "height": 900}, {"width": 1080, "height": 1920}, PHONE])
def test_a_kiosk_says_in_which_order_they_count(contest: Opener, viewport: dict[str, int]) -> None:
    tab = contest("kiosk&board=icpc-1", locale="en-US", viewport=viewport)
    expect(tab.page.locator("#facts span").first).to_have_text("solved, then penalty, then longest run")
    expect(tab.page.locator("#podium .also")).to_have_text([each for row in ROWS[:3] for each in named(row)])
    assert rows(tab) == ROWS[3:]
    if viewport["width"] > viewport["height"]:
        expect(tab.page.locator("#list thead th.tie").last).to_be_in_viewport(ratio=1)
    last = tab.page.locator("#rows tr td.tie:last-child").first
    expect(last).to_be_in_viewport(ratio=1)
    # Two more lines above the podium make the steps lower.
    tab.page.locator("#facts").evaluate("facts => { facts.innerText += '\\nand\\nmore'; }")
    bounds = "one => one.getBoundingClientRect().toJSON()"
    state, leader = (tab.page.locator(one).first.evaluate(bounds) for one in ("#state", "#podium .face"))
    assert state["bottom"] < leader["top"]
    assert tab.pixels_beyond() <= 0


@pytest.mark.skipif(not AXE.exists(), reason=NO_NPM)
def test_axe_finds_nothing(contest: Opener) -> None:
    tab = contest("board=icpc-1&member=bob", locale="en-US", viewport=DESK)
    for query in ("board=icpc-1&member=bob", "board=icpc-1&embed", "kiosk&board=icpc-1"):
        tab.open(query)
        tab.pass_seconds(1)
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            assert (tab.violations(), max(0, tab.pixels_beyond())) == ([], 0), f"{query}, {scheme}"
