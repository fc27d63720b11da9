"""The kiosk: a live page on a wall, at the sizes that screens have, and boards that take turns."""

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Route, expect

from demo import feed
from demo.embedded.stack import Deployment
from tests.support.browser.axe import violations
from tests.support.browser.kiosk import CAPITALS, FIVE_METRES, LAID_OUT, LEAST_CAPITALS, laid_out
from tests.support.browser.live_page import Shown, event

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

BOARD: Final = "demo-wall"
NAMES: Final = [
    "Ádám Nagy",
    "Konstantinopolitanskaya Aleksandrovna",
    "用户 一",
    "Bo",
    "ليلى منصور",
    "W" * 64,
    "Ada " * 15,
]
SIZES: Final = [(1920, 1080), (1080, 1920), (1280, 720), (3840, 2160)]
BOARDS: Final = {
    "demo-wall-one": [7],
    "demo-wall-two": [7, 5],
    "demo-wall-level": [9, 9, 5],
    "demo-wall-crowd": [9, 9, 9, 9, 1],
}
PICTURE: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8" fill="teal"/></svg>'
)
DENIED: Final = """
    window.held = [];
    Object.defineProperty(navigator, "wakeLock", {value: {request: async kind => {
        window.held.push(kind);
        throw new DOMException("no", "NotAllowedError");
    }}});"""


@pytest.fixture(scope="module", autouse=True)
def _walls(_activity: None, deployment: Deployment) -> None:
    """A board of forty members, most of them with names of every length, and boards of few members and of equals."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for number in range(0, 40, 2):
        profile = {
            "name": NAMES[number // 2 % len(NAMES)],
            "country": "DE",
            "picture": "https://pictures.example/x.png",
        }
        address = f"{deployment.api_url}/members?id={quote(f'wall-{number}')}"
        request = urllib.request.Request(address, json.dumps(profile).encode(), method="PUT")  # noqa: S310 - loopback
        with opener.open(request, timeout=30):
            pass
    now = datetime.now(UTC)
    messages = [event(f"wall-{number}", 90_000 - 1_000 * number, now, BOARD) for number in range(40)]
    for board, scores in BOARDS.items():
        messages += [event(f"m{place}", score, now, board) for place, score in enumerate(scores)]
    feed.post(deployment, messages, lambda *_: None)
    feed.drain(deployment, lambda *_: None)
    feed.settle(deployment)


@pytest.fixture
def on_a_wall(browser: Browser, deployment: Deployment) -> Callable[..., Any]:
    """Open a page of a size; see at the end that nothing was complained about."""

    @contextmanager
    def opened(size: tuple[int, int] = SIZES[0], motion: Any = "reduce", **given: Any) -> Iterator[Shown]:
        viewport: Any = dict(zip(("width", "height"), size, strict=True))
        context = browser.new_context(viewport=viewport, reduced_motion=motion, **given)
        shown = Shown(context.new_page(), deployment.api_url)
        shown.page.route(
            "https://pictures.example/*", lambda route: route.fulfill(body=PICTURE, content_type="image/svg+xml")
        )
        yield shown
        shown.page.unroute_all(behavior="ignoreErrors")
        context.close()
        assert shown.complaints == []

    return opened


def with_notes(route: Route) -> None:
    answer = route.fetch()
    said = answer.json()
    for entry in said["entries"]:
        entry["note"] = {"course": "the long way round the lake", "lap": entry["rank"]}
    route.fulfill(response=answer, json=said)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_every_row_that_is_shown_is_wholly_on_the_screen_in_type_for_five_metres(
    on_a_wall: Callable[..., Any], size: tuple[int, int]
) -> None:
    with on_a_wall(size) as shown:
        shown.page.route("**/points/week?*", with_notes)
        shown.open(board=BOARD, window="week", kiosk="")

        rows, wide = laid_out(shown)["rows"], size[0] > size[1]
        assert len(rows) >= (12 if wide else 8)
        capitals = shown.page.evaluate(CAPITALS)
        assert {what: part for what, part in capitals.items() if part < LEAST_CAPITALS} == {}
        in_rows = {capitals[f"rows {what}"] for what in ("", "rank", "score", "remark")}
        assert min(in_rows) >= (FIVE_METRES if wide else LEAST_CAPITALS)
        assert capitals["podium step"] > capitals["rows score"]
        shown.picture(f"kiosk-{size[0]}")

        upright: Any = {"width": size[1], "height": size[0]}
        shown.page.set_viewport_size(upright)
        shown.until(lambda: len(shown.page.evaluate(LAID_OUT)["rows"]) != len(rows), "another number of rows")
        laid_out(shown)


def test_the_first_three_stand_on_a_podium_and_the_list_goes_on_below(on_a_wall: Callable[..., Any]) -> None:
    with on_a_wall() as shown:
        shown.open(board=BOARD, window="day", kiosk="")

        steps = shown.page.locator("#podium li")
        expect(steps).to_have_count(3)
        assert steps.locator(".step").all_text_contents() == ["1", "2", "3"]
        assert steps.locator("strong").all_text_contents() == [NAMES[0], "wall-1", NAMES[1]]
        assert steps.locator(".points").all_text_contents() == ["90,000", "89,000", "88,000"]
        initials = steps.locator(".face").evaluate_all("all => all.map(one => one.dataset.initials)")
        assert initials == ["ÁN", "W", "KA"]
        second, first, third = (steps.nth(place).bounding_box() or {} for place in (1, 0, 2))
        assert second["x"] < first["x"] < third["x"]
        assert first["y"] < second["y"]
        assert shown.page.locator("#rows tr").first.get_attribute("data-rank") == "4"
        expect(shown.page.locator("#title")).to_have_text(BOARD)
        expect(shown.page.locator("#facts")).to_contain_text("points · day · ")
        expect(shown.page.locator("#facts")).to_contain_text("40 members")
        expect(shown.page.locator("#state")).to_contain_text("live")


def test_who_overtakes_moves_up_on_the_podium(on_a_wall: Callable[..., Any], deployment: Deployment) -> None:
    with on_a_wall(motion="no-preference") as shown:
        shown.open(board="demo-wall-two", kiosk="")
        expect(shown.page.locator("#podium strong").first).to_have_text("m0")

        feed.post(deployment, [event("m1", 4, board="demo-wall-two")], lambda *_: None)
        expect(shown.page.locator("#podium strong").first).to_have_text("m1")


@pytest.mark.parametrize(
    ("board", "steps", "listed"),
    [
        ("demo-wall-one", ["1"], []),
        ("demo-wall-level", ["=1", "=1", "3"], []),
        ("demo-wall-crowd", ["=1", "=1", "=1"], ["1", "5"]),
    ],
)
def test_few_members_and_equals_stand_as_they_rank(
    on_a_wall: Callable[..., Any], board: str, steps: list[str], listed: list[str]
) -> None:
    with on_a_wall() as shown:
        shown.open(board=board, kiosk="")

        expect(shown.page.locator("#podium .step")).to_have_text(steps)
        expect(shown.page.locator("#rows td.rank")).to_have_text(listed)
        expect(shown.page.locator("#podium")).to_be_visible()
        tops = shown.page.locator("#podium .step").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().top)"
        )
        assert len({top for top, step in zip(tops, steps, strict=True) if step == "=1"}) <= 1
        assert sorted(set(tops)) == [top for number, top in enumerate(tops) if top not in tops[:number]]
        shown.picture(board)


def test_a_board_without_an_event_says_so_and_has_no_podium(on_a_wall: Callable[..., Any]) -> None:
    with on_a_wall() as shown:
        shown.go(board="demo-wall-none", kiosk="")

        expect(shown.page.locator("#wrong-said")).to_have_text("No event has come for the board “demo-wall-none” yet.")
        expect(shown.page.locator("#podium")).to_be_hidden()
        expect(shown.page.locator("#rows tr")).to_have_count(0)


def test_boards_take_turns_and_those_that_cannot_be_shown_are_left_out(on_a_wall: Callable[..., Any]) -> None:
    with on_a_wall() as shown:
        asked: list[str] = []
        shown.page.on("request", lambda request: asked.append(request.url))
        # The first has a name that no board can have, the third no members.
        boards = f"no board,{BOARD}:points:day,demo-wall-none,demo-wall-two"
        shown.missing.add(f"{shown.address}/boards/no%20board")
        shown.open(boards=boards, every="1", kiosk="")
        title = shown.page.locator("#title")
        expect(title).to_have_text(BOARD)
        expect(shown.page.locator("#facts")).to_contain_text("points · day")
        asked.clear()
        # A turn takes five seconds at least.
        shown.page.wait_for_timeout(3_000)
        expect(title).to_have_text(BOARD)
        assert asked
        assert all(f"/boards/{BOARD}/points/day" in address for address in asked)

        expect(title).to_have_text("demo-wall-two")
        asked.clear()
        shown.page.wait_for_timeout(2_500)
        assert all("/boards/demo-wall-two/" in address for address in asked)
        expect(title).to_have_text(BOARD)
        assert f"boards={quote(boards, safe=',:')}" in shown.page.url
        shown.page.context.set_offline(True)
        expect(shown.page.locator("#state")).to_have_attribute("data-is", "offline")
        shown.page.wait_for_timeout(6_000)
        expect(title).to_have_text(BOARD)
        expect(shown.page.locator("#podium li")).to_have_count(3)
        shown.page.context.set_offline(False)
        expect(title).to_have_text("demo-wall-two")
        shown.complaints = [one for one in shown.complaints if "ERR_INTERNET_DISCONNECTED" not in one]


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_nothing_moves_for_whoever_wants_less_motion(on_a_wall: Callable[..., Any], motion: str, moves: bool) -> None:
    with on_a_wall(motion=motion) as shown:
        shown.page.add_init_script(
            "window.moves = 0; const move = Element.prototype.animate;"
            "Element.prototype.animate = function (...given) { window.moves++; return move.apply(this, given); }"
        )
        shown.open(boards=f"{BOARD},demo-wall-two", every="5", kiosk="")
        expect(shown.page.locator("#title")).to_have_text("demo-wall-two")
        assert (shown.page.evaluate("window.moves") > 0) == moves


def test_the_screen_stays_awake_and_has_no_cursor(on_a_wall: Callable[..., Any]) -> None:
    with on_a_wall() as shown:
        shown.page.add_init_script(DENIED)
        shown.open(board=BOARD, kiosk="")
        assert shown.page.evaluate("window.held") == ["screen"]
        shown.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        assert shown.page.evaluate("window.held") == ["screen", "screen"]
        assert shown.page.evaluate("getComputedStyle(document.querySelector('#rows button')).cursor") == "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES[:2], ids=["wide", "upright"])
def test_the_kiosk_is_fit_for_everyone(on_a_wall: Callable[..., Any], size: tuple[int, int], scheme: str) -> None:
    with on_a_wall(size, color_scheme=scheme) as shown:
        shown.open(boards=f"{BOARD}:points:week", kiosk="")
        laid_out(shown)
        assert violations(shown.page) == []
