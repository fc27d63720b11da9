"""What axe finds on the states of the page that no other test checks: nothing, whatever the severity."""

from typing import Literal

import pytest
from playwright.sync_api import expect

from tests.functions.page_views.conftest import Opener, Site
from tests.support.browser.axe import violations

pytestmark = pytest.mark.thorough

# A query, and what the page shows once it is in that state.
STATES = {
    "list": ("?board=run-berlin", "#rows tr[data-rank]"),
    "member": ("?board=run-berlin&member=runner-3", "#found-gap"),
    "home": ("", "#boards-there li"),
    "no board": ("?board=rum-berlin", "#wrong-links a"),
    "no metric": ("?board=run-berlin&metric=pionts", "#wrong-links a"),
    "no window": ("?board=run-berlin&window=month", "#wrong-links a"),
    "no event": ("?board=run-lima", "#wrong-links a"),
    "no season": ("?board=league-a&window=season", "#wrong-said"),
    "nobody": ("?board=run-rome&window=day", "#empty"),
    "embed": ("?board=run-berlin&embed", "#rows tr[data-rank]"),
    "embed nobody": ("?board=run-rome&window=day&embed", "#empty"),
    "embed no board": ("?board=rum-berlin&embed", "#wrong-said"),
    "kiosk few": ("?board=run-paris&kiosk", "#podium li"),
    "kiosk nobody": ("?board=run-rome&window=day&kiosk", "#empty"),
    "kiosk no board": ("?board=rum-berlin&kiosk", "#wrong-said"),
}
SIZES = {"phone": (390, 844), "desktop": (1440, 900), "wall": (1920, 1080)}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing(
    site: Site, open_page: Opener, state: str, size: str, scheme: Literal["light", "dark"]
) -> None:
    query, there = STATES[state]
    page = open_page(site, query, *SIZES[size]).page
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    expect(page.locator(there).first).to_be_visible()
    assert violations(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_while_the_api_is_away(
    site: Site, open_page: Opener, size: str, scheme: Literal["light", "dark"]
) -> None:
    shown = open_page(site, "?board=run-berlin", *SIZES[size])
    expect(shown.page.locator("#rows tr[data-rank]").first).to_be_visible()
    shown.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    shown.page.route("**/boards/**", lambda route: route.abort())
    expect(shown.page.locator("#note")).to_be_visible(timeout=20_000)
    assert violations(shown.page) == []
    shown.complaints.clear()
