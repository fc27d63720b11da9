"""The page goes through periods by the names of the API: a browser that has the zones wrong shows them right."""

import re
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import expect

from tests.functions.live_page.test_list import set_clock
from tests.support.aws.stack import Stack
from tests.support.browser.live_page import PHONE, Opener
from tests.support.builders.querying import post

PAGE: Final = Path(__file__).parents[3] / "functions" / "query" / "page"
WRONG: Final = """
const {DateTimeFormat} = Intl;
Intl.DateTimeFormat = function(locale, {timeZone, ...options} = {}) {
    const taken = !timeZone || timeZone === "UTC" ? timeZone : "Pacific/Kiritimati";
    return new DateTimeFormat(locale, {...options, timeZone: taken});
};
Intl.DateTimeFormat.prototype = DateTimeFormat.prototype;
"""
"""Takes every zone but UTC for one that is 14 hours ahead."""
HOWE: Final = ["Oct 4, 3:00 – 4:00 AM", "Oct 4, 01:30 AM GMT+10:30 – Oct 4, 03:00 AM GMT+11", "Oct 4, 12:30 – 1:30 AM"]
AZORES: Final = [
    "Oct 25, 1:00 – 2:00 AM",
    "Oct 25, 12:00 AM GMT-1 – Oct 25, 01:00 AM GMT-1",
    "Oct 25, 12:00 AM UTC – Oct 25, 12:00 AM GMT-1",
]


def boards(zone: str) -> str:
    windows = '["all", "hour", "day", "week", "month", "last-2-hours", "last-7-days"]'
    return f'[boards."b"]\ntimezone = "{zone}"\nmetrics.points = {{ aggregate = "sum", windows = {windows} }}'


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stack", "now", "window", "labels", "ends"),
    [
        (boards(zone), now, window, labels, ends)
        for zone, now, window, labels, ends in (
            ("Australia/Lord_Howe", "2026-10-03T16:20Z", "hour", HOWE, "Sun, Oct 4, 04:00 AM GMT+11"),
            ("Atlantic/Azores", "2026-10-25T02:30Z", "hour", AZORES, "Sun, Oct 25, 02:00 AM GMT-1"),
            ("Atlantic/Azores", "2026-10-26T02:30Z", "day", ["Oct 26, 2026", "Oct 25, 2026", "Oct 24, 2026"], "GMT-1"),
            ("Africa/Cairo", "2026-04-25T12:00Z", "day", ["Apr 25, 2026", "Apr 24, 2026", "Apr 23, 2026"], "GMT+3"),
            (
                "America/Vancouver",
                "2026-11-27T20:00Z",
                "day",
                ["Nov 27, 2026", "Nov 26, 2026"],
                "Sat, Nov 28, 12:00 AM",
            ),
            (
                "America/Vancouver",
                "2026-11-27T20:00Z",
                "week",
                ["Nov 23 – 29, 2026", "Nov 16 – 22, 2026"],
                "Mon, Nov 30",
            ),
            ("America/Vancouver", "2026-11-27T20:00Z", "month", ["Nov 1 – 30, 2026", "Oct 1 – 31, 2026"], "Tue, Dec 1"),
            ("Asia/Kathmandu", "2026-11-27T20:00Z", "last-7-days", ["Nov 22 – 28, 2026", "Nov 21 – 27, 2026"], "+5:45"),
            ("UTC", "2026-11-27T20:00Z", "last-2-hours", ["Nov 27, 7:00 – 9:00 PM", "Nov 27, 6:00 – 8:00 PM"], "UTC"),
        )
    ],
    indirect=["stack"],
)
def test_periods_of_zones_that_the_browser_has_wrong(
    open_bare: Opener, stack: Stack, now: str, window: str, labels: list[str], ends: str
) -> None:
    set_clock(stack, now)
    post(stack, {"ann": 1})
    tab = open_bare(f"board=b&window={window}", WRONG, locale="en-US", timezone_id="America/New_York")
    shown = tab.page.locator("#when")
    expect(tab.page.locator("#ending .time")).to_contain_text(ends)
    for step, labelled in (("", labels), ("before", labels[1:]), ("after", labels[-2::-1])):
        for label in labelled if step else labels[:1]:
            if step:
                tab.page.click(f"#{step}")
                tab.settle()
            assert re.sub(r"\s", " ", shown.inner_text()).replace("\u2009", " ") == label
    expect(tab.page.locator("#after")).to_be_disabled()
    assert "period=" not in tab.page.url


@pytest.mark.thorough
@pytest.mark.parametrize("stack", [boards("Australia/Lord_Howe")], indirect=True)
@pytest.mark.parametrize("more", ["", "&kiosk"])
def test_an_hour_with_offsets_fits_on_a_phone(open_bare: Opener, stack: Stack, more: str) -> None:
    set_clock(stack, "2026-10-03T15:40Z")
    post(stack, {"ann": 1})
    tab = open_bare(f"board=b&window=hour{more}", WRONG, locale="en-US", viewport=PHONE)
    if not more:
        tab.page.click("#fold")
    assert (tab.pixels_beyond(), "GMT+10:30" in tab.page.content()) == (0, True)


@pytest.mark.thorough
@pytest.mark.parametrize("stack", [boards("Atlantic/Azores")], indirect=True)
def test_earlier_ends_where_nothing_can_be_read(open_bare: Opener, stack: Stack) -> None:
    set_clock(stack, "2026-10-26T02:30Z")
    post(stack, {"ann": 1})
    tab = open_bare("board=b&window=last-2-hours", WRONG)
    back = 0
    while tab.page.locator("#before").is_enabled():
        tab.page.click("#before")
        tab.settle()
        back += 1
    # An hour of a rolling window can be read for a day after its end.
    assert (back, tab.page.locator("#wrong").is_visible()) == (24, False)


def test_the_page_reads_no_time_zone() -> None:
    scripts = "".join(file.read_text(encoding="utf-8") for file in PAGE.glob("*.js"))
    assert re.findall(r"time_?zone\b[^,}]*", scripts, re.IGNORECASE) == ['timeZone: "UTC"']
