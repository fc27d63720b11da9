"""Answers that come after somebody has gone on to another view."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from benchmarks.measure.live_page.tab import Tab
from tests.support.aws.stack import Stack
from tests.support.builders.stages.streaming import apply

pytestmark = [pytest.mark.thorough]

Open = Callable[..., Tab]


def hold(tab: Tab, address: str) -> list[Route]:
    """Hold back answers from addresses like this one, until the test gives what is in the list."""
    held: list[Route] = []

    def keep(route: Route) -> None:
        held.append(route)

    tab.page.route(address, keep)
    return held


@pytest.fixture
def other_board(stack: Stack) -> str:
    at = "2026-11-21T10:00:00Z"
    apply(stack, [{"id": "other", "board": "other", "member": "eve", "at": at, "metrics": {"points": 3}}])
    return "other"


def test_a_late_definition_does_not_replace_that_of_the_board_that_is_shown(opened: Open, other_board: str) -> None:
    tab = opened("board=b&window=day")
    held = hold(tab, f"**/boards/{other_board}")
    tab.page.evaluate(f"void show({{board: '{other_board}'}})")
    tab.page.wait_for_timeout(100)
    assert held
    tab.page.evaluate("void show({board: 'b'})")
    tab.page.wait_for_timeout(300)
    held[0].fulfill(**tab.answer(held[0]))
    tab.settle()
    assert tab.page.evaluate("[view.board, board.board]") == ["b", "b"]
    expect(tab.page.locator("#rows td.who")).to_have_count(50)


def test_a_definition_that_is_read_again_at_the_end_of_a_period_does_not_either(
    opened: Open, stack: Stack, other_board: str
) -> None:
    tab = opened("board=b&window=day")
    held = hold(tab, "**/boards/b")
    wait_s = 13 * 3600
    stack.clock.sleep(wait_s)
    tab.page.clock.fast_forward(wait_s * 1000)
    tab.page.wait_for_timeout(300)
    assert held
    tab.page.evaluate(f"void show({{board: '{other_board}'}})")
    tab.page.wait_for_timeout(300)
    held[0].fulfill(**tab.answer(held[0]))
    tab.settle()
    assert tab.page.evaluate("[view.board, board.board]") == [other_board, other_board]


def test_after_days_in_a_tab_the_later_period_is_the_next_one(opened: Open, stack: Stack) -> None:
    tab = opened("board=b&window=all", timezone_id="Europe/Berlin", locale="en-US")
    wait_s = 2 * 86400
    stack.clock.sleep(wait_s)
    tab.page.clock.fast_forward(wait_s * 1000)
    tab.settle()
    tab.page.get_by_role("button", name="day", exact=True).click()
    tab.settle()
    shown = tab.page.locator("#when")
    expect(shown).to_have_text("Nov 23, 2026")
    for button, day in (("before", "22"), ("before", "21"), ("after", "22"), ("after", "23")):
        tab.page.click(f"#{button}")
        tab.settle()
        expect(shown).to_have_text(f"Nov {day}, 2026")
    expect(tab.page.locator("#after")).to_be_disabled()


def test_at_midnight_the_day_after_a_past_one_is_still_the_next_one(opened: Open, stack: Stack) -> None:
    tab = opened("board=b&window=day&period=2026-11-20", timezone_id="Europe/Berlin", locale="en-US")
    wait_s = 13 * 3600
    stack.clock.sleep(wait_s)
    tab.page.clock.fast_forward(wait_s * 1000)
    tab.settle()
    tab.page.click("#after")
    tab.settle()
    expect(tab.page.locator("#when")).to_have_text("Nov 21, 2026")
