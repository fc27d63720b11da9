"""What the live page says of the end of a period, and of the gap to the next member."""

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from benchmarks.measure.live_page.tab import Tab
from tests.support.aws.stack import Stack
from tests.support.browser.axe import violations

pytestmark = [pytest.mark.thorough]

Open = Callable[..., Tab]
Score = Callable[..., None]


def at(stack: Stack, moment: str) -> None:
    stack.clock.milliseconds = int(datetime.fromisoformat(moment).timestamp() * 1000)


@pytest.mark.parametrize(
    ("window", "said"),
    [
        # The board's midnight is at 23:00 in UTC.
        ("day", "Ends in 12 h 44 min Sun, Nov 22, 12:00 AM GMT+1"),
        ("week", "Ends in 1 d 12 h Mon, Nov 23, 12:00 AM GMT+1"),
        ("last-7-days", "Rolls over in 12 h 44 min Sun, Nov 22, 12:00 AM GMT+1"),
        ("all", ""),
    ],
)
def test_it_counts_down_in_the_boards_time_zone(opened: Open, window: str, said: str) -> None:
    tab = opened(f"board=b&window={window}", locale="en-US", timezone_id="America/New_York")
    tab.pass_seconds(1)
    if said:
        expect(tab.page.locator("#ending")).to_have_text(said)
    else:
        expect(tab.page.locator("#ending")).to_be_hidden()


def test_the_last_hour_has_seconds_and_at_the_end_the_next_period_comes(
    opened: Open, stack: Stack, score: Score
) -> None:
    at(stack, "2026-11-21T22:59Z")
    tab = opened("board=b&window=day", locale="en-US")
    tab.pass_seconds(5)
    text = tab.page.locator("#ending .said").inner_text()
    left = re.fullmatch("Ends in 0 min ([0-9]{2}) s", text)
    assert left, text
    tab.pass_seconds(10)
    expect(tab.page.locator("#ending .said")).to_have_text(f"Ends in 0 min {int(left[1]) - 10} s")
    tab.pass_seconds(int(left[1]) - 12)
    tab.lists.clear()
    tab.pass_seconds(5)
    expect(tab.page.locator("#ending .said")).to_have_text(re.compile("^Ends (now|in 23 h 59 min|in 1 d 0 h)$"))
    tab.pass_seconds(9)
    expect(tab.page.locator("#ending .said")).to_have_text("Ends in 23 h 59 min")
    expect(tab.page.locator("#empty")).to_have_text("Nobody is ranked in this period yet.")
    score({"m005": 3})
    tab.pass_seconds(15)
    expect(tab.page.locator("#rows td.who")).to_have_text(["m005"])


def test_an_ended_period_says_until_when_late_events_count_and_since_when_it_is_final(
    opened: Open, stack: Stack
) -> None:
    tab = opened("board=b&window=day&period=2026-11-20", locale="en-US")
    tab.pass_seconds(1)
    expect(tab.page.locator("#ending")).to_have_text(
        "Ended Sat, Nov 21, 12:00 AM GMT+1 late events still count until Sun, Nov 22, 12:05 AM GMT+1"
    )
    at(stack, "2026-11-21T23:06Z")
    tab = opened("board=b&window=day&period=2026-11-20", locale="en-US")
    tab.pass_seconds(1)
    expect(tab.page.locator("#ending")).to_have_text("Final since Sun, Nov 22, 12:05 AM GMT+1")
    tab.lists.clear()
    tab.pass_seconds(60)
    # Nothing can change it but a hidden or removed member.
    assert len(tab.lists) <= 4


def test_a_period_becomes_final_while_somebody_looks(opened: Open, stack: Stack) -> None:
    at(stack, "2026-11-21T23:04:30Z")
    tab = opened("board=b&window=day&period=2026-11-20", locale="en-US")
    tab.pass_seconds(1)
    expect(tab.page.locator("#ending .said")).to_contain_text("Ended")
    tab.pass_seconds(40)
    expect(tab.page.locator("#ending .said")).to_have_text("Final")


def test_the_card_tells_the_gap_to_the_next(opened: Open, stack: Stack, score: Score) -> None:
    stack.put("/members", {"name": "Ada Nagy", "country": "HU"}, id="m010")
    score({"m050": 10})
    tab = opened("board=b&window=day&member=m011")
    gap = tab.page.locator("#found-gap")
    expect(gap).to_have_text("10 behind Ada Nagy (11th)")
    score({"m011": 4})
    tab.pass_seconds(4)
    expect(gap).to_have_text("6 behind Ada Nagy (11th)")
    score({"m011": 6})
    tab.pass_seconds(4)
    expect(gap).to_have_text("level with Ada Nagy")
    tab = opened("board=b&window=day&member=m000")
    expect(tab.page.locator("#found-gap")).to_have_text("leads")
    tab = opened("board=b&window=day&member=m010")
    expect(tab.page.locator("#found-name")).to_have_text("Ada NagyHU")
    expect(tab.page.locator("#found-name .face")).to_have_attribute("data-initials", "AN")
    tab.page.fill("#member", "m010")
    tab.page.keyboard.press("Enter")
    tab.settle()
    expect(tab.page.locator("#found-name")).to_have_text("Ada NagyHU")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 390])
def test_it_is_fit_for_everyone(opened: Open, scheme: Any, width: int) -> None:
    for more in ("", "&period=2026-11-20"):
        tab = opened(
            f"board=b&window=day&member=m003{more}", color_scheme=scheme, viewport={"width": width, "height": 900}
        )
        tab.pass_seconds(1)
        tab.page.clock.resume()
        assert violations(tab.page) == []
        assert tab.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_an_error_of_a_chart_leaves_the_list_and_the_card(opened: Open) -> None:
    def refuse(route: Route) -> None:
        route.fulfill(status=400, json={"type": "urn:standings:too-far", "detail": "too far to count"})

    tab = opened("board=b&window=day", missing="400")
    tab.page.route("**/history?*", refuse)
    tab.page.route("**/distribution?*", refuse)
    tab.page.fill("#member", "m003")
    tab.page.keyboard.press("Enter")
    tab.settle()
    expect(tab.page.locator("#picture")).to_have_text("too far to count")
    expect(tab.page.locator("#found-rank")).to_contain_text("4th of 120")
    expect(tab.page.locator("#rows tr.me")).to_have_count(1)
