"""The live page in a real browser, served by the real template in the embedded AWS, while events flow."""

import re
import time

import pytest
from playwright.sync_api import expect

from demo import feed
from demo.embedded.stack import Deployment
from demo.reads import Reader
from tests.support.browser.live_page import HOSTILE, SHOWN, Shown, event, listed

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]


def test_the_order_is_that_of_the_api_and_hostile_names_are_text(shown: Shown, reader: Reader) -> None:
    shown.open()
    expect(shown.page.locator("#rows td.who button")).to_have_count(SHOWN)

    shown.until(lambda: shown.members() == listed(reader)[:SHOWN], "the API's order")
    for member in HOSTILE:
        shown.page.fill("#member", member)
        shown.page.keyboard.press("Enter")
        expect(shown.page.locator("#found-name")).to_have_text(member)
        expect(shown.page.locator("#rows tr.me td.who")).to_have_text(member)
    assert shown.page.locator("#rows img, #rows script, #found img, #found script").count() == 0
    shown.picture("hostile")


def test_an_overtaking_is_seen_soon_after_its_event(shown: Shown, reader: Reader, deployment: Deployment) -> None:
    shown.open()
    second = shown.members()[1]
    posted = time.monotonic()
    feed.post(deployment, [event(second, 50_000)], lambda *_: None)
    shown.until(lambda: listed(reader)[0] == second, "the API's new order", 60)
    counted = time.monotonic()
    asked: list[str] = []
    shown.page.on("request", lambda request: asked.append(request.url))
    shown.until(lambda: shown.members()[0] == second, "the new order on the page")

    # The page reads every two seconds. Its first read may have begun just before the event was counted.
    assert len([url for url in asked if "/points/all?" in url]) <= 2
    print(f"seen {time.monotonic() - posted:.2f} s after the event, counted {counted - posted:.2f} s after it")
    expect(shown.page.locator("#said")).to_have_text(f"{second} leads now")


def test_a_member_is_found_with_neighbours_and_place(shown: Shown, reader: Reader) -> None:
    shown.open(window="day")
    member = listed(reader, "day")[70]
    shown.page.keyboard.press("/")
    shown.page.keyboard.type(member)
    shown.page.keyboard.press("Enter")
    expect(shown.page.locator("#rows tr.me")).to_have_count(1)

    shown.until(lambda: 0 < shown.members().index(member) <= 6, "neighbours on both sides")
    standing = reader.rank("day", member)
    assert standing is not None
    expect(shown.page.locator("#found-rank strong")).to_contain_text(str(standing["rank"]))
    expect(shown.page.locator("#found-rank")).to_have_text(
        re.compile(
            r"^\d+(st|nd|rd|th) of \d+ · [\d,]+ points · ahead of or level with [\d.]+ % · (new|as before|[▲▼] \d+)$"
        )
    )
    expect(shown.page.locator("#picture rect.here")).to_have_count(1)
    shown.picture("found")
    shown.page.reload()
    expect(shown.page.locator("#found-name")).to_have_text(member)
    shown.page.click("#forget")
    expect(shown.page.locator("#found")).to_be_hidden()


def test_any_rank_can_be_paged_to(shown: Shown, reader: Reader) -> None:
    shown.open()
    shown.page.click("#next")
    shown.until(lambda: shown.members() == listed(reader)[SHOWN : 2 * SHOWN], "the second page")
    shown.page.fill("#jump", "120")
    shown.page.keyboard.press("Enter")
    shown.until(lambda: shown.members() == listed(reader)[119 : 119 + SHOWN], "from rank 120")
    shown.page.go_back()
    shown.until(lambda: shown.members() == listed(reader)[SHOWN : 2 * SHOWN], "the second page again")
    shown.page.fill("#jump", "100000")
    shown.page.keyboard.press("Enter")
    expect(shown.page.locator("#empty")).to_have_text("Nobody stands this far down.")


@pytest.mark.parametrize("window", ["day", "week", "month", "last 7 days"])
def test_periods_go_back_and_forth(shown: Shown, window: str) -> None:
    shown.open()
    shown.page.get_by_role("button", name=window, exact=True).click()
    expect(shown.page.locator("#periods")).to_be_visible()
    expect(shown.page.locator("#after")).to_be_disabled()
    now = shown.page.locator("#when").inner_text()
    shown.page.click("#before")
    expect(shown.page.locator("#when")).not_to_have_text(now)
    assert "period=" in shown.page.url
    shown.page.click("#after")
    expect(shown.page.locator("#when")).to_have_text(now)
    assert "period=" not in shown.page.url


def test_movement_is_against_the_period_before(shown: Shown, reader: Reader) -> None:
    shown.open(window="day")
    member = HOSTILE[4]
    shown.page.fill("#member", member)
    shown.page.keyboard.press("Enter")

    here, before = reader.rank("day", member), reader.rank("last-7-days", member)
    assert here is not None
    assert before is not None
    expect(shown.page.locator("#rows tr.me .moved span")).to_have_count(1)
    expect(shown.page.locator("#rows tr.me .moved span")).not_to_have_text("new")
