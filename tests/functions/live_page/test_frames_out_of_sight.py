"""A frame that begins out of sight, and one that is scrolled in and out at once."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from benchmarks.measure.live_page.tab import ORIGIN, Tab

pytestmark = [pytest.mark.thorough]

Open = Callable[..., Tab]
OBSERVED = """
    window.IntersectionObserver = class {
        constructor(tell) { this.tell = tell; window.observers = [...(window.observers || []), this]; }
        observe() {}
        disconnect() {}
    };"""


def test_one_whose_first_read_failed_out_of_sight_reads_when_it_is_seen(opened: Open) -> None:
    tab = opened("board=b", missing="503")
    tab.page.route(
        "https://elsewhere.invalid/",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<!doctype html><div style="height: 9000px"></div><iframe src="{ORIGIN}/?board=b&embed"></iframe>',
        ),
    )
    refused: list[str] = []

    def refuse(route: Route) -> None:
        refused.append(route.request.url)
        route.fulfill(status=503, json={})

    tab.page.route("**/boards/b", refuse)
    tab.page.goto("https://elsewhere.invalid/")
    frame = tab.page.frame_locator("iframe")
    expect(frame.locator("#state")).to_have_attribute("data-is", "offline")
    tab.settle()
    assert refused
    tab.page.unroute("**/boards/b")
    tab.pass_seconds(5)
    tab.page.evaluate("scrollTo(0, 9000)")
    tab.page.wait_for_timeout(300)
    tab.pass_seconds(10)
    expect(frame.locator("#rows td.who")).to_have_count(10)


def test_what_was_seen_last_counts(opened: Open, score: Callable[..., None]) -> None:
    tab = opened("board=b&embed", OBSERVED)
    tell = "seen => observers.at(-1).tell(seen.map(isIntersecting => ({isIntersecting})))"
    for seen, asks in (([True, False], False), ([False, True], True)):
        tab.page.evaluate(tell, seen)
        tab.settle()
        tab.lists.clear()
        tab.pass_seconds(20, lambda _: score({"m000": 1}))
        assert bool(tab.lists) == asks
