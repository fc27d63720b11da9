"""The page elsewhere: in a frame of another page, with a link and a snippet to copy; as a kiosk on a wall; and the page
of examples/web-page, before an API that does not answer as it should."""

import json
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import FrameLocator, expect

from tests.functions.live_page.conftest import Score
from tests.support.aws.stack import Stack
from tests.support.browser.live_page import AXE, DESK, HIDE, HOSTILE, SHOW, WALL, Opener, View
from tests.support.browser.tab import ORIGIN
from tests.support.builders.querying import post_amounts

pytestmark = [pytest.mark.thorough]

LOCKED = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError'); }});"
ME = "localStorage.setItem('standings-me', 'm030');"
ELSEWHERE = "https://elsewhere.invalid/"
FRAME = f'<iframe src="{ORIGIN}/?board=b&embed" height="500"></iframe>'
OBSERVED = """
    window.IntersectionObserver = class {
        constructor(tell) { this.tell = tell; window.observers = [...(window.observers || []), this]; }
        observe() {}
        disconnect() {}
    };"""


def test_a_frame_shows_the_list_alone(opened: Opener) -> None:
    tab = opened("board=b&window=day&member=m003&embed", ME)
    tab.pass_seconds(1)
    expect(tab.page.locator("#rows td.who")).to_have_count(10)
    for control in ("#controls", "#list .pager", "#found", "#mine", "#share"):
        expect(tab.page.locator(control)).to_be_hidden()
    assert tab.page.locator("button:visible, input:visible, select:visible").count() == 0
    expect(tab.page.locator("#rows tr.me")).to_have_text(re.compile("m003"))
    # Nobody's place is read, and nobody's row is shown.
    assert not any("me=" in query for _, query in tab.lists)
    assert tab.asked["distribution"] == tab.asked["history"] == 0
    assert tab.page.url.endswith("embed")
    # Its links open the whole page beside.
    title = tab.page.locator("#title a")
    expect(title).to_have_text("b · points · day")
    member = tab.page.locator("#rows td.who a").nth(2)
    expect(member).to_have_text("m002")
    for link, arguments in ((title, ""), (member, "&member=m002")):
        expect(link).to_have_attribute("href", f"{ORIGIN}/?board=b&metric=points&window=day{arguments}")
        expect(link).to_have_attribute("target", "_blank")
        expect(link).to_have_attribute("rel", "noopener")
    # The address says how many rows.
    for given, rows in (("25", 25), ("900", 50), ("-5", 10), ("0", 10), ("many", 10)):
        tab.open(f"board=b&embed={given}")
        expect(tab.page.locator("#rows td.who")).to_have_count(rows)


def test_it_works_where_a_browser_stores_nothing(opened: Opener, score: Score) -> None:
    tab = opened("board=b&window=day&embed", LOCKED)
    score({"m007": 500})
    tab.pass_seconds(5)
    expect(tab.page.locator("#rows td.who").first).to_have_text("m007")


def elsewhere(tab: View, body: str) -> FrameLocator:
    """Another page with the frame in it."""
    tab.instead[f"^{ELSEWHERE}$"] = {"content_type": "text/html", "body": f"<!doctype html>{body}"}
    tab.page.goto(ELSEWHERE)
    tab.settle()
    return tab.page.frame_locator("iframe")


def scroll(tab: View, to: int, seen: bool) -> None:
    tab.page.evaluate("to => scrollTo(0, to)", to)
    expect(tab.page.frame_locator("iframe").locator("body")).to_be_in_viewport() if seen else None
    while tab.page.frames[1].evaluate("unseen") == seen:
        tab.drawn()


def test_a_frame_that_is_scrolled_out_of_sight_asks_nothing(opened: Opener, score: Score) -> None:
    tab = opened("board=b&embed")
    expect(elsewhere(tab, f"{FRAME}<p>{'text<br>' * 400}").locator("#rows td.who")).to_have_count(10)
    scroll(tab, 5000, seen=False)
    assert tab.in_next(30, lambda _: score({"m000": 1})).lists == []
    scroll(tab, 0, seen=True)
    tab.pass_seconds(3)
    assert tab.lists


def test_one_whose_first_read_failed_out_of_sight_reads_when_it_is_seen(opened: Opener) -> None:
    tab = opened("board=b", missing="503")
    tab.instead["/boards/b$"] = {"status": 503, "json": {}}
    frame = elsewhere(tab, f'<div style="height: 9000px"></div>{FRAME}')
    expect(frame.locator("#state")).to_have_attribute("data-is", "offline")
    scroll(tab, 0, seen=False)
    del tab.instead["/boards/b$"]
    tab.pass_seconds(5)
    scroll(tab, 9000, seen=True)
    tab.pass_seconds(10)
    expect(frame.locator("#rows td.who")).to_have_count(10)


def test_what_was_seen_last_counts(opened: Opener, score: Score) -> None:
    tab = opened("board=b&embed", OBSERVED)
    tell = "seen => observers.at(-1).tell(seen.map(isIntersecting => ({isIntersecting})))"
    for seen, asks in (([True, False], False), ([False, True], True)):
        tab.page.evaluate(tell, seen)
        tab.settle()
        assert bool(tab.in_next(20, lambda _: score({"m000": 1})).lists) == asks


def test_the_snippet_can_be_copied_also_where_a_browser_does_not_copy(opened: Opener) -> None:
    tab = opened("board=b&window=day", permissions=["clipboard-read", "clipboard-write"])
    tab.page.get_by_role("button", name="Embed").click()
    dialog = tab.page.get_by_role("dialog", name="Embed this list")
    snippet = dialog.get_by_role("textbox").input_value()
    assert re.fullmatch(
        rf'<iframe src="{ORIGIN}/\?board=b&amp;metric=points&amp;window=day&amp;embed" title="b · points" '
        r'width="100%" height="\d+" loading="lazy" style="border: 0px;"></iframe>',
        snippet,
    )
    dialog.get_by_role("button", name="Copy").click()
    expect(tab.page.locator("#copy")).to_have_text("Copied")
    assert tab.page.evaluate("navigator.clipboard.readText()") == snippet
    tab.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    tab.page.get_by_role("button", name="Copy link").click()
    expect(tab.page.locator("#link")).to_have_text("Copied")
    assert tab.page.evaluate("navigator.clipboard.readText()") == tab.page.url
    tab = opened("board=b&window=day", "Object.defineProperty(navigator, 'clipboard', {value: undefined});")
    tab.page.get_by_role("button", name="Copy link").click()
    dialog = tab.page.get_by_role("dialog", name="A link to this view")
    expect(dialog.get_by_role("textbox")).to_have_value(tab.page.url)
    assert tab.page.evaluate("getSelection().toString()") == tab.page.url


BOARD: Final = "b-wall"
NAMES: Final = [
    *("Ádám Nagy", "Konstantinopolitanskaya Aleksandrovna", "用户 一", "Bo", "ليلى منصور", "W" * 64, "Ada " * 15)
]
SIZES: Final = [(1920, 1080), (1080, 1920), (1280, 720), (3840, 2160)]
BOARDS: Final = {"b-one": [7], "b-two": [7, 5], "b-level": [9, 9, 5], "b-crowd": [9, 9, 9, 9, 1]}
PICTURE: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8" fill="teal"/></svg>'
)
DENIED: Final = """
    window.held = [];
    Object.defineProperty(navigator, "wakeLock", {value: {request: async kind => {
        window.held.push(kind);
        throw new DOMException("no", "NotAllowedError");
    }}});"""
# A movement takes no time, and is counted.
MOVES: Final = "window.moves = 0; Element.prototype.animate = () => { moves++; return {finished: Promise.resolve()}; };"
LEAST_CAPITALS: Final = 0.022
"""The least height of a capital letter, as a part of the screen's height."""
FIVE_METRES: Final = 0.034
"""That of a capital letter which can be read from five metres on a screen that is wider than high."""


TALL: Final = """@font-face { font-family: tall; src: local("DejaVu Sans"), local("Liberation Sans");
    ascent-override: 107%; descent-override: 29%; } .kiosk { font-family: tall; }"""
"""Type that is as high as Noto Sans, the usual type of many systems."""


@pytest.fixture
def walls(stack: Stack, score: Score) -> None:
    """A board of forty members, most of them with names of every length, and boards of few members and of equals."""
    for number in range(0, 40, 2):
        name = NAMES[number // 2 % len(NAMES)]
        profile = {"name": name, "country": "DE", "picture": "https://pictures.example/x.png"}
        assert stack.put("/members", profile, id=f"wall-{number}")[0] == 200
    score({f"wall-{number}": 90_000 - 1_000 * number for number in range(40)}, board=BOARD)
    for board, scores in BOARDS.items():
        score({f"m{place}": points for place, points in enumerate(scores)}, board=board)


@pytest.fixture
def hang(open_bare: Opener, walls: None) -> Any:
    """Opens a page on a wall."""
    del walls

    def hung(query: str, size: tuple[int, int] = SIZES[0], **more: Any) -> View:
        viewport = dict(zip(("width", "height"), size, strict=True))
        pictures = {"^https://pictures.example/": {"body": PICTURE, "content_type": "image/svg+xml"}}
        view = open_bare(f"kiosk&{query}", **{"missing": "404", "viewport": viewport, "instead": pictures, **more})
        drawn(view)
        return view

    return hung


def drawn(view: View) -> None:
    """The page reads as many rows as it has found room for."""
    for _ in range(3):
        view.drawn()
        view.pass_seconds(1)


def rows_laid_out(view: View) -> int:
    """See that all of a full list is on the screen, and return how many rows are shown."""
    drawn(view)
    found = view.measured("laidOut")
    assert found["wrong"] == []
    return int(found["rows"])


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_every_row_is_wholly_on_the_screen_in_type_for_five_metres(hang: Any, size: tuple[int, int]) -> None:
    view, wide = hang("board=nowhere", size), size[0] > size[1]

    def with_notes(route: Any) -> dict[str, Any]:
        said = json.loads(view.answer(route)["body"])
        for entry in said["entries"]:
            entry["note"] = {"course": "the long way round the lake", "lap": entry["rank"]}
        return {"json": said}

    view.instead["/points/week"] = with_notes
    view.open(f"board={BOARD}&window=week&kiosk")
    rows = rows_laid_out(view)
    assert rows >= (12 if wide else 8)
    capitals = view.measured("capitals")
    assert {what: part for what, part in capitals.items() if part < LEAST_CAPITALS} == {}
    in_rows = {capitals[f"rows {what}"] for what in ("", "rank", "score", "remark")}
    assert min(in_rows) >= (FIVE_METRES if wide else LEAST_CAPITALS)
    assert capitals["podium step"] > capitals["rows score"]
    view.page.set_viewport_size({"width": size[1], "height": size[0]})
    assert rows_laid_out(view) != rows
    # In tall type nothing of a name is cut below.
    view.page.set_viewport_size({"width": size[0], "height": size[1]})
    view.page.evaluate(f"""() => {{
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(`{TALL}`);
        document.adoptedStyleSheets = [sheet];
    }}""")
    rows_laid_out(view)
    assert view.measured("cutBelow") == []


def test_the_first_three_stand_on_a_podium_and_the_screen_stays_awake_without_a_cursor(hang: Any) -> None:
    page = hang(f"board={BOARD}&window=day", script=DENIED).page
    steps = page.locator("#podium li")
    expect(steps.locator(".step")).to_have_text(["1", "2", "3"])
    expect(steps.locator("strong")).to_have_text([NAMES[0], "wall-1", NAMES[1]])
    expect(steps.locator(".points")).to_have_text(["90,000", "89,000", "88,000"])
    initials = steps.locator(".face").evaluate_all("all => all.map(one => one.dataset.initials)")
    assert initials == ["ÁN", "W", "KA"]
    second, first, third = (steps.nth(place).bounding_box() or {} for place in (1, 0, 2))
    assert second["x"] < first["x"] < third["x"]
    assert first["y"] < second["y"]
    expect(page.locator("#rows tr").first).to_have_attribute("data-rank", "4")
    expect(page.locator("#title")).to_have_text(BOARD)
    expect(page.locator("#facts")).to_contain_text("points · day · ")
    expect(page.locator("#facts")).to_contain_text("40 members")
    expect(page.locator("#state")).to_contain_text("live")
    assert page.evaluate("window.held") == ["screen"]
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    assert page.evaluate("window.held") == ["screen", "screen"]
    assert page.evaluate("getComputedStyle(document.querySelector('#rows button')).cursor") == "none"


@pytest.mark.parametrize(
    ("board", "steps", "listed"),
    [("b-one", ["1"], []), ("b-level", ["=1", "=1", "3"], []), ("b-crowd", ["=1", "=1", "=1"], ["1", "5"])],
)
def test_few_members_and_equals_stand_as_they_rank(hang: Any, board: str, steps: list[str], listed: list[str]) -> None:
    page = hang(f"board={board}").page
    expect(page.locator("#podium .step")).to_have_text(steps)
    expect(page.locator("#rows td.rank")).to_have_text(listed)
    expect(page.locator("#podium")).to_be_visible()
    tops = page.locator("#podium .step").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    assert len({top for top, step in zip(tops, steps, strict=True) if step == "=1"}) <= 1
    assert sorted(set(tops)) == [top for number, top in enumerate(tops) if top not in tops[:number]]


def test_boards_take_turns_and_those_that_cannot_be_shown_are_left_out(hang: Any) -> None:
    # The first has a name that no board can have, the third no members.
    boards = f"no board,{BOARD}:points:day,b-none,b-two"
    view = hang("board=nowhere", missing="ERR_FAILED|status of 404")
    view.open(f"boards={boards}&every=1&kiosk")
    title = view.page.locator("#title")
    expect(title).to_have_text(BOARD)
    expect(view.page.locator("#facts")).to_contain_text("points · day")
    # A turn takes five seconds at least.
    assert set(view.in_next(4).paths) == {f"/boards/{BOARD}/points/day"}
    expect(title).to_have_text(BOARD)
    view.pass_seconds(1.5)
    expect(title).to_have_text("b-two")
    assert set(view.in_next(3).paths) == {"/boards/b-two/points/all"}
    view.pass_seconds(2)
    expect(title).to_have_text(BOARD)
    assert f"boards={quote(boards, safe=',:')}" in view.page.url
    view.instead["/boards"] = None
    view.pass_seconds(10)
    expect(view.page.locator("#state")).to_have_attribute("data-is", "offline")
    expect(title).to_have_text(BOARD)
    expect(view.page.locator("#podium li")).to_have_count(3)
    del view.instead["/boards"]
    view.pass_seconds(6)
    expect(title).to_have_text("b-two")


def test_a_tour_shows_no_board_but_its_own_after_it_began_without_a_network(hang: Any) -> None:
    view = hang("board=nowhere", missing="status of")
    view.instead["/boards/b-"] = {"status": 503, "json": {"detail": "not now"}}
    # A turn that is longer than a timer holds is a day.
    view.open("kiosk&boards=b-two,b-level&every=3000000")
    view.pass_seconds(10)
    expect(view.page.locator("#title")).not_to_contain_text("b-crowd")
    del view.instead["/boards/b-"]
    view.pass_seconds(20)
    expect(view.page.locator("#title")).to_have_text("b-two")
    assert not any("b-level" in path for path in view.in_next(10).paths)


@pytest.mark.parametrize(("motion", "moves"), [("reduce", False), ("no-preference", True)])
def test_who_overtakes_moves_up_if_motion_is_not_reduced(hang: Any, score: Score, motion: str, moves: bool) -> None:
    view = hang("boards=b-level,b-two&every=5", script=MOVES, reduced_motion=motion)
    view.pass_seconds(3)
    expect(view.page.locator("#title")).to_have_text("b-two")
    expect(view.page.locator("#podium strong").first).to_have_text("m0")
    turns = view.page.evaluate("moves")
    score({"m1": 4}, board="b-two")
    view.pass_seconds(2.5)
    expect(view.page.locator("#podium strong").first).to_have_text("m1")
    assert (turns > 0, view.page.evaluate("moves") > turns) == (moves, moves)


def test_what_is_wrong_is_told_in_type_for_five_metres(open_page: Opener) -> None:
    view = open_page("kiosk&board=rum-berlin", missing="404", viewport=WALL)
    page, capitals = view.page, view.measured("capitals")
    expect(page.locator("#wrong-said")).to_have_text("There is no board “rum-berlin”.")
    for name in ("#podium", "#controls", "#fold", "#list", "#state"):
        expect(page.locator(name)).to_be_hidden()
    assert {what: part for what, part in capitals.items() if part < FIVE_METRES} == {}
    assert {"wrong-said ", "wrong-why ", "wrong-links "} <= capitals.keys()


def test_a_list_that_cannot_be_read_any_more_leaves_nobody_on_the_podium(open_page: Opener) -> None:
    view = open_page("kiosk&board=run-berlin", missing="404", viewport=DESK)
    expect(view.page.locator("#podium li")).to_have_count(3)
    view.instead["/points/all"] = {"status": 404, "json": {"type": "urn:standings:not-built", "detail": "not now"}}
    view.pass_seconds(10)
    expect(view.page.locator("#wrong-said")).to_have_text("This ranking is not built yet.")
    expect(view.page.locator("#podium")).to_be_hidden()
    view.instead.clear()
    view.pass_seconds(20)
    expect(view.page.locator("#podium li")).to_have_count(3)
    expect(view.page.locator("#podium")).to_be_visible()
    expect(view.page.locator("#wrong")).to_be_hidden()


def test_a_boards_name_may_have_a_colon(open_page: Opener, site: Stack) -> None:
    for board in ("run-x:2026", "run-x:red"):
        post_amounts(site, board, {"ada": {"points": 1, "best_km": 3}})
    tab = open_page("", viewport=DESK)
    for stop, title, facts in (
        ("run-x:2026", "run-x:2026", "points · all time"),
        ("run-x:2026:best_km", "run-x:2026", "best km · all time"),
        ("run-x:red:points:day", "run-x:red", "points · day"),
        ("run-paris:best_km", "run-paris", "best km · all time"),
        ("run-paris::last-7-days", "run-paris", "points · last 7 days"),
    ):
        tab.open(f"kiosk&boards={quote(stop)}")
        expect(tab.page.locator("#title")).to_have_text(title)
        expect(tab.page.locator("#facts")).to_contain_text(facts)


EXAMPLE = Path(__file__).parents[3] / "examples" / "web-page" / "index.html"


@pytest.fixture
def example(opened: Opener, score: Score) -> View:
    """The page, with a hostile member at the top."""
    score({HOSTILE[0]: 20_000})
    tab = opened("board=nowhere", missing="status of|ERR_FAILED")
    tab.instead[r"/\?"] = {"body": EXAMPLE.read_text(encoding="utf-8"), "content_type": "text/html"}
    return tab


def test_it_shows_the_top_ten_and_me_and_follows_changes(example: View, score: Score) -> None:
    page, top, mine = example.page, example.page.locator("#top tr"), example.page.locator("#mine")
    example.open(f"api={ORIGIN}&board=b&window=day&me=m100")
    expect(top).to_have_count(10)
    shown = [row.locator("td").all_text_contents() for row in top.all()]
    assert shown[:2] == [["1", HOSTILE[0], "20,000"], ["2", "m000", "10,000"]]
    expect(mine).to_have_text("m100: rank 102 of 121 with 9,000")
    expect(page.locator("#state")).to_have_text("")
    if AXE.exists():
        assert example.violations() == []
    sent: list[dict[str, str]] = []
    page.on("request", lambda request: sent.append(request.headers))
    score({"m100": 50_000})
    example.in_next(6)
    expect(mine).to_have_text("m100: rank 1 of 121 with 59,000")
    expect(page.locator("#top tr.me")).to_have_text(["1m10059,000"])
    # One request tells the list and `me`.
    assert [query for _, query in example.lists] == ["limit=10&me=m100"]
    # From another origin it needs no preflight, and it goes past no cache.
    assert not any({"cache-control", "content-type", "pragma", "if-none-match"} & one.keys() for one in sent)


def test_it_asks_ever_less_and_not_at_all_while_nobody_looks(example: View) -> None:
    example.open(f"api={ORIGIN}&board=b")
    expect(example.page.locator("#top tr")).to_have_count(10)
    example.pass_seconds(60)
    assert 4 <= len(example.lists) <= 6
    example.page.evaluate(HIDE)
    assert example.in_next(120).lists == []
    with example.page.expect_request("**/points/all?*"):
        example.page.evaluate(SHOW)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        # What the firewall of examples/cdn answers beyond its limits, and what a proxy may answer.
        ({"status": 429, "body": ""}, "The API answered 429."),
        ({"status": 502, "body": "<h1>Bad gateway</h1>"}, "The API answered 502."),
        ({"status": 503, "body": '{"message": "Service Unavailable"}'}, "The API answered 503."),
        ({"status": 404, "body": '{"detail": "no such board"}'}, "no such board"),
        ({"status": 500, "body": "null"}, "The API answered 500."),
        # What a browser does not tell apart names both causes.
        (None, f"The API cannot be reached, or its parameter CorsOrigins does not name {ORIGIN}."),
    ],
)
def test_it_says_what_is_wrong(example: View, answer: dict[str, Any] | None, said: str) -> None:
    example.instead["/points/all"] = answer
    example.open(f"api={ORIGIN}&board=b")
    expect(example.page.locator("#state")).to_have_text(f"No new standings: {said}")
