"""What one member writes into a profile must not take the list from all others."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from benchmarks.measure.live_page.tab import Tab
from tests.support.aws.stack import Stack

pytestmark = [pytest.mark.thorough]


@pytest.mark.parametrize(
    "picture", ["https://a.example:99999/x.png", "https://1.2.3.999/x.png", "https://a.example/%zz"]
)
def test_a_picture_with_an_address_that_no_browser_can_read_is_left_out(
    opened: Callable[..., Tab], stack: Stack, picture: str
) -> None:
    assert stack.put("/members", {"name": "Ada Nagy", "picture": picture}, id="m001")[0] == 200
    tab = opened("board=b&window=day&member=m001")
    expect(tab.page.locator("#note")).to_be_hidden()
    expect(tab.page.locator("#found-name")).to_have_text("Ada Nagy")
    expect(tab.page.locator("#rows tr.me .face")).to_have_attribute("data-initials", "AN")
    expect(tab.page.locator("#rows td.who")).to_have_count(50)
