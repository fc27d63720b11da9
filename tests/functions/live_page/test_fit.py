"""The page is fit for everyone: for what axe looks for, on a phone, and with a keyboard alone."""

from collections.abc import Callable
from typing import Final, Literal

import pytest
from playwright.sync_api import expect

from tests.support.aws.stack import Stack
from tests.support.browser.live_page import AXE, DESK, PHONE, WALL, Opener, View
from tests.support.builders.querying import post_amounts
from tests.support.dynamodb.local import NO_NPM

ME: Final = "localStorage.setItem('standings-me', 'runner-4');"
DAY: Final = "board=run-berlin&window=day"


def find_names(tab: View) -> None:
    if tab.page.locator("#fold").is_visible():
        tab.page.click("#fold")
    tab.page.fill("#member", "AD")
    tab.pass_seconds(1)
    expect(tab.page.locator("#offers li")).to_have_count(2)


def embed(tab: View) -> None:
    tab.page.get_by_role("button", name="Embed").click()


def lose_the_api(tab: View) -> None:
    tab.instead["/boards"] = None
    tab.pass_seconds(20)


# A query, what the page shows in that state, and what brings it there.
STATES: Final[dict[str, tuple[str, str, Callable[[View], None] | None]]] = {
    "list": ("board=run-berlin", "#rows tr[data-rank]", None),
    "member": (f"{DAY}&member=runner-3", "#past svg", None),
    "ended": (f"{DAY}&member=runner-3&period=2026-11-20", "#ending .time", None),
    "names": (f"{DAY}&member=runner-3", "#offers", find_names),
    "snippet": (DAY, "#copy", embed),
    "away": ("board=run-berlin", "#note", lose_the_api),
    "home": ("", "#boards-there li", None),
    "no such prefix": ("prefix=Run", "#no-boards", None),
    "no board": ("board=rum-berlin", "#wrong-links a", None),
    "no metric": ("board=run-berlin&metric=pionts", "#wrong-links a", None),
    "no window": ("board=run-berlin&window=month", "#wrong-links a", None),
    "no event": ("board=run-lima", "#wrong-links a", None),
    "no season": ("board=league-a&window=season", "#wrong-said", None),
    "gone": ("board=run-berlin&window=day&period=2001-01-01", "#wrong-links a", None),
    "nobody": ("board=run-rome&window=day", "#empty", None),
    "embed": (f"{DAY}&embed", "#rows tr[data-rank]", None),
    "embed nobody": ("board=run-rome&window=day&embed", "#empty", None),
    "embed no board": ("board=rum-berlin&embed", "#wrong-said", None),
    "kiosk": (f"{DAY}&kiosk", "#rows tr[data-rank]", None),
    "kiosk few": ("board=run-paris&kiosk", "#podium li", None),
    "kiosk nobody": ("board=run-rome&window=day&kiosk", "#empty", None),
    "kiosk no board": ("board=rum-berlin&kiosk", "#wrong-said", None),
}
SIZES: Final = {"phone": PHONE, "desk": DESK, "wall": WALL, "upright wall": {"width": 1080, "height": 1920}}
# Axe looks for everything, and in the dark for colours: the style sheet changes nothing else there.
SCHEMES: Final[dict[Literal["light", "dark"], tuple[str, ...]]] = {"light": (), "dark": ("cat.color",)}


@pytest.mark.thorough
@pytest.mark.skipif(not AXE.exists(), reason=NO_NPM)
@pytest.mark.parametrize("size", SIZES)
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(open_page: Opener, size: str) -> None:
    tab = open_page("", ME, "status of 40|ERR_FAILED", viewport=SIZES[size])
    for state, (query, there, action) in STATES.items():
        tab.open(query)
        tab.pass_seconds(1)
        if action is not None:
            action(tab)
        expect(tab.page.locator(there).first).to_be_visible()
        for scheme, rules in SCHEMES.items():
            tab.page.emulate_media(color_scheme=scheme)
            assert (tab.violations(rules), max(0, tab.pixels_beyond())) == ([], 0), f"{state}, {scheme}"
        tab.instead.clear()


LOW_DESK: Final = {"width": 1280, "height": 800}


@pytest.mark.parametrize(("viewport", "highest", "least"), [(PHONE, 200, 11), (LOW_DESK, 500, 13)])
def test_the_list_is_first(open_page: Opener, viewport: dict[str, int], highest: int, least: int) -> None:
    view = open_page("", viewport=viewport)
    for window in ("all", "day"):
        view.open(f"board=run-berlin&window={window}")
        tops, page = view.measured("rowsOnScreen"), view.page
        assert tops[0] < highest, window
        assert len(tops) >= least, window
        # Movement takes no room where nothing moves.
        moved = page.locator("#rows tr[data-rank] .moved")
        expect(moved).to_have_count(50)
        expect(moved.first).to_be_visible(visible=window == "day")
        # On a desk the controls are open.
        for control in ("#controls", "#member"):
            expect(page.locator(control)).to_be_visible(visible=viewport != PHONE)
        expect(page.locator("#fold")).to_be_visible(visible=viewport == PHONE)


def test_on_a_desk_the_search_stands_beside_six_windows(open_bare: Opener, stack: Stack) -> None:
    view = open_bare("", viewport=DESK)
    for window in ("all", "week", "last-7-days", "season"):
        board = "cup-1" if window == "season" else "prize-1"
        post_amounts(stack, board, {"ada": {"points": 1}})
        view.open(f"board={board}&window={window}")

        controls = view.page.locator("#controls > *:visible")
        tops = controls.evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
        assert max(tops) - min(tops) < 8, window


def test_a_phone_has_no_column_of_movement_where_nobody_moved_and_a_score_has_all_decimals(
    open_bare: Opener, stack: Stack
) -> None:
    post_amounts(stack, "run-lima", {"ada": {"points": 1, "best_km": 5}})
    tab = open_bare("board=run-lima&window=day", viewport=PHONE, locale="en-US")
    expect(tab.page.locator("#rows .moved")).to_be_hidden()
    tab.open("board=run-lima&metric=best_km&member=ada")
    expect(tab.page.locator("#rows .score")).to_have_text("5.0")
    expect(tab.page.locator("#found-rank")).to_contain_text(" · 5.0 best km · ")


def test_the_controls_fold_away_and_the_choice_stays_readable(open_page: Opener) -> None:
    page = open_page(DAY, viewport=PHONE).page
    fold, controls = page.locator("#fold"), page.locator("#controls")
    expect(fold).to_contain_text("day")
    expect(fold).to_contain_text("20")
    expect(page.locator("#title")).to_have_text("run-berlin · points")
    expect(controls).to_be_hidden()
    expect(fold).to_have_attribute("aria-expanded", "false")
    fold.focus()
    page.keyboard.press("Enter")
    expect(fold).to_have_attribute("aria-expanded", "true")
    for name in ("#metric", "#windows", "#periods", "#find"):
        expect(page.locator(name)).to_be_visible()
    page.get_by_role("button", name="last 7 days", exact=True).click()
    expect(fold).to_contain_text("last 7 days")
    fold.focus()
    page.keyboard.press("Space")
    expect(controls).to_be_hidden()
    # The key that searches unfolds them.
    page.keyboard.press("/")
    expect(page.locator("#member")).to_be_focused()


def test_the_focus_stays_at_a_chosen_window_and_goes_to_the_card_of_a_member_and_back(open_page: Opener) -> None:
    page = open_page(f"{DAY}&metric=points", viewport=DESK).page
    chosen = page.get_by_role("button", name="last 7 days")
    chosen.focus()
    page.keyboard.press("Enter")
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect(chosen).to_be_focused()
    row = page.locator("#rows td.who button").nth(4)
    member = row.text_content() or ""
    row.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#rows tr.me")).to_have_count(1)
    expect(page.locator("#found-name")).to_have_text(member)
    expect(page.locator("#found-name")).to_be_focused()
    page.get_by_role("button", name="Close").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_be_hidden()
    expect(page.locator("#title")).to_be_focused()
    # Who is not me any more goes on at the title.
    row.click()
    page.get_by_role("button", name="This is me").click()
    page.get_by_role("button", name="Not me").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#mine")).to_be_hidden()
    expect(page.locator("#title")).to_be_focused()


def test_a_button_that_has_nothing_left_to_do_hands_the_focus_on(open_page: Opener) -> None:
    page = open_page(f"{DAY}&metric=points", viewport=DESK).page
    for button, other in (("Later period", "Earlier period"), ("First", "Next")):
        page.get_by_role("button", name=other, exact=True).click()
        control = page.get_by_role("button", name=button, exact=True)
        expect(control).to_be_enabled()
        control.focus()
        page.keyboard.press("Enter")
        expect(control).to_be_disabled()
        expect(page.locator("#rows tr[data-rank]").first).to_be_visible()
        assert page.evaluate("document.activeElement !== document.body"), button
