"""The admin's page: it asks before each change, says what moves, and shows that it has; by keyboard, on a phone too."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal
from unittest import mock

import orjson
import pytest
from playwright.sync_api import Browser, Route, expect

from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import Stack, count, http_event
from tests.support.browser.live_page import AXE, DESK, PHONE, View
from tests.support.browser.tab import ORIGIN
from tests.support.builders.maintenance import call
from tests.support.builders.querying import deployed
from tests.support.dynamodb.local import NO_NPM

BOARDS: Final = """
[boards."run-*"]
metrics.km = { aggregate = "sum", precision = 1, unit = "km", windows = ["all", "day"] }
metrics.lap = { aggregate = "min", precision = 2, unit = "time", windows = ["all"] }
"""
OPEN: Final = {"OPEN_READS": "true", "OPEN_SEARCH": "true", "ADMIN_PAGE": "true"}
AT: Final = "2026-11-21T10:00:00Z"
SENT: Final = [("e1", "ada", 30), ("e2", "bo", 20), ("e3", "cy", 10)]
FOLLOWING_S: Final = 4

Open = Callable[..., View]


@pytest.fixture
def stack() -> Iterator[Stack]:
    """Three runners, one of whom has a name, and two events that were refused: for their metric, for their board."""
    with mock.patch.dict(ENVIRONMENT, OPEN), deployed(BOARDS) as stack:
        for name, member, km in SENT:
            send(stack, name, member, {"km": km})
        send(stack, "e4", "ada", {"lap": 3683.4})
        send(stack, "x1", "ada", {"kn": 5})
        send(stack, "x2", "dee", {"km": 5}, board="runs")
        count(stack)
        stack.put("/members", {"name": "Ada Lovelace"}, id="ada")
        call(stack, "audits", "next", read_units=1_000)
        yield stack


def send(stack: Stack, name: str, member: str, metrics: Mapping[str, float], board: str = "run-1") -> None:
    body = orjson.dumps({"id": name, "board": board, "member": member, "at": AT, "metrics": metrics}).decode()
    stack.activity.put({"MessageBody": body})


@pytest.fixture
def admin(browser: Browser, stack: Stack) -> Iterator[Open]:
    """Opens the page at a view. What its console says at the end is nothing but refused requests."""
    views: list[View] = []
    complaints: list[str] = []

    def open_(view: str, **context: Any) -> View:
        tab = View(browser, stack, **{"viewport": DESK, "locale": "en-GB", "timezone_id": "UTC", **context})
        views.append(tab)
        tab.page.on("console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None)
        tab.page.on("pageerror", lambda error: complaints.append(str(error)))
        tab.page.goto(f"{ORIGIN}/admin#{view}")
        tab.settle()
        return tab

    yield open_
    for view in views:
        view.close()
    assert [text for text in complaints if "status of 40" not in text] == []


def confirm(tab: View, stack: Stack, *moves: str) -> str:
    """Read what the dialog says it moves, say yes, let the events be counted, and return what the page says then."""
    dialog = tab.page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    expect(tab.page.locator("#ask-no")).to_be_focused()
    said = dialog.inner_text()
    assert [move for move in moves if move not in said] == [], said
    tab.page.locator("#ask-yes").click()
    tab.settle()
    tab.pass_seconds(FOLLOWING_S, lambda _: count(stack))
    expect(tab.page.locator("#note")).to_have_attribute("data-is", "done")
    expect(dialog).to_be_hidden()
    return tab.page.locator("#note").inner_text()


def lists(stack: Stack) -> dict[str, float]:
    return {one["member"]: one["score"] for one in stack.entries("/boards/run-1/km/all")}


def press(tab: View, name: str) -> None:
    tab.page.get_by_role("button", name=name, exact=True).first.click()
    tab.settle()


def unfold(tab: View, name: str, **fields: str) -> None:
    tab.page.locator("summary", has_text=name).click()
    for label, text in fields.items():
        tab.page.get_by_label(label.replace("_", " ")).fill(text)


def test_a_member_is_found_by_name_and_by_id_and_shows_boards_ranks_and_refusals(admin: Open) -> None:
    tab = admin("view=members")
    tab.page.get_by_label("Id, or the beginning of a name").fill("ada")
    tab.page.keyboard.press("Enter")
    tab.settle()
    tab.page.get_by_role("link", name="Ada Lovelace").click()
    tab.settle()

    expect(tab.page.locator("#view h2")).to_have_text(["Ada Lovelace", "run-1", "Refused events"])
    expect(tab.page.locator("#view h2").first).to_be_focused()
    board = tab.page.locator("[data-board='run-1'] tbody tr")
    expect(board).to_have_text(["kmall30.0 km1 of 3", "kmday30.0 km1 of 3", "lapall1:01:23.401 of 1"])
    refused = tab.page.locator("#view tbody").last
    expect(refused).to_contain_text("x1metrics: board 'run-1' has no metric 'kn'")
    expect(refused.locator("td").nth(2)).to_have_text("ada on run-1 ")
    assert "x2" not in refused.inner_text()


def test_a_metric_that_came_after_the_page_was_opened_is_shown_plainly(admin: Open) -> None:
    without = {"metrics": [{"metric": "km", "precision": 1, "unit": "km"}]}
    tab = admin("view=member&id=ada", instead={r"/boards/run-1\??$": {"json": without}})
    rows = tab.page.locator("[data-board='run-1'] tbody tr")
    expect(rows).to_have_text(["kmall30.0 km1 of 3", "kmday30.0 km1 of 3", "lapall3,683.41 of 1"])


def test_hide_and_show_say_what_moves_and_show_that_it_has(admin: Open, stack: Stack) -> None:
    tab = admin("view=member&id=ada")
    press(tab, "Hide")
    said = confirm(tab, stack, "Hide ada on run-1?", "all behind it move up", "km · all: rank 1 of 3, score 30")
    assert "ada is hidden on run-1.\nwas km · all: rank 1 of 3, score 30" in said
    assert lists(stack) == {"bo": 20, "cy": 10}
    expect(tab.page.locator("[data-board] .badge")).to_have_text("hidden")
    expect(tab.page.locator("#view h2").first).to_be_focused()

    press(tab, "Show")
    assert "is km · all: rank 1 of 3" in confirm(tab, stack, "Show ada on run-1?")
    assert lists(stack) == {"ada": 30, "bo": 20, "cy": 10}


def test_hide_and_show_everywhere_say_on_how_many_boards_and_what_failed(admin: Open, stack: Stack) -> None:
    send(stack, "e5", "ada", {"km": 7}, board="run-2")
    count(stack)
    tab = admin("view=member&id=ada")
    press(tab, "Hide everywhere")
    said = confirm(tab, stack, "Hide ada on 2 boards?", "all behind it move up", "run-1, run-2")
    assert said == "ada is hidden on 2 boards."
    assert (lists(stack), stack.entries("/boards/run-2/km/all")) == ({"bo": 20, "cy": 10}, [])
    expect(tab.page.locator("[data-board] .badge")).to_have_text(["hidden", "hidden"])

    def failing(route: Route) -> Mapping[str, Any]:
        return (
            {"status": 404, "body": '{"detail": "it is being deleted"}'}
            if route.request.method == "PUT"
            else tab.answer(route)
        )

    tab.instead["/boards/run-2/member"] = failing
    press(tab, "Show everywhere")
    said = confirm(tab, stack, "Show ada on 2 boards?")
    assert said == "ada is shown on 1 board.\nIt failed on 1 board:\nrun-2: it is being deleted"
    assert (len(lists(stack)), stack.entries("/boards/run-2/km/all")) == (3, [])
    expect(tab.page.locator("[data-board] .badge")).to_have_text(["hidden"])


def test_nothing_is_changed_by_cancel_or_escape(admin: Open, stack: Stack) -> None:
    tab = admin("view=member&id=ada")
    for key in ("Escape", "Enter"):  # the question begins at Cancel
        press(tab, "Remove")
        expect(tab.page.get_by_role("dialog")).to_contain_text("There is no way back")
        tab.page.keyboard.press(key)
        tab.settle()
        expect(tab.page.locator("#note")).to_have_text("Nothing was changed.")
    assert lists(stack) == {"ada": 30, "bo": 20, "cy": 10}


def test_remove_register_and_name(admin: Open, stack: Stack) -> None:
    tab = admin("view=member&id=bo")
    press(tab, "Remove")
    assert (
        confirm(tab, stack, "Remove bo from run-1?", "km · day: rank 2 of 3, score 20") == "bo is removed from run-1."
    )
    assert lists(stack) == {"ada": 30, "cy": 10}
    expect(tab.page.locator("[data-board]")).to_have_count(0)

    unfold(tab, "Register on a board", Board="run-2")
    press(tab, "Register")
    assert confirm(tab, stack, "Register bo on run-2?", "No rank moves") == "bo is registered on run-2."
    assert stack.get("/boards/run-2/member", id="bo")[0] == 200
    unfold(tab, "Name", Name="Bo <b>Diddley</b>")
    press(tab, "Name it")
    assert confirm(tab, stack, "Until now: no name") == "bo is called Bo <b>Diddley</b>."
    expect(tab.page.locator("#view h2").first).to_have_text("Bo <b>Diddley</b>")


def test_correct_and_take_back(admin: Open, stack: Stack) -> None:
    tab = admin("view=member&id=ada")
    unfold(tab, "Correct or take back", **{"Event's_id": "e1", "km": "0:12.5"})
    press(tab, "Correct")
    said = confirm(
        tab, stack, "Correct the event e1?", "The event was counted 21 Nov 2026", "ada gets km 12.5 on run-1"
    )
    assert "was km · all: rank 1 of 3, score 30" in said
    assert "is km · all: rank 2 of 3, score 12.5" in said
    unfold(tab, "Correct or take back", **{"Event's_id": "e1"})
    press(tab, "Take back")
    assert "is km · day: rank 3 of 3, score 0" in confirm(tab, stack, "and corrected since")
    assert lists(stack) == {"bo": 20, "cy": 10, "ada": 0}
    # What the API or the writer refuses is said, and nothing is done.
    unfold(tab, "Correct or take back", **{"Event's_id": "e9"})
    press(tab, "Take back")
    expect(tab.page.locator("#note")).to_contain_text("nothing is known of the event 'e9'")


def test_merge(admin: Open, stack: Stack) -> None:
    tab = admin("view=member&id=cy")
    unfold(tab, "Merge into another", The_id_that_stays="bo")
    press(tab, "Merge")
    said = confirm(tab, stack, "Merge cy into bo on run-1?", "cy: km · all: rank 3 of 3", "bo: km · all: rank 2 of 3")
    assert "cy is merged into bo on run-1.\nwas km · all: rank 2 of 3, score 20" in said
    assert lists(stack) == {"ada": 30, "bo": 30}
    expect(tab.page.locator("#view h2").first).to_have_text("bo")


def test_boards_show_their_state_audit_settlement_and_refusals(admin: Open, stack: Stack) -> None:
    call(stack, "rebuild", board="run-1", seconds=60.0)
    tab = admin("view=boards")
    (row,) = tab.page.locator("#view tbody tr").all()
    expect(row).to_contain_text("run-1rebuild21 Nov 2026, 10:15")
    expect(row).to_contain_text("no difference")
    expect(row.locator("td").last).to_have_text("1")
    row.get_by_role("link").click()
    tab.settle()
    facts = tab.page.locator("dl")
    for fact in ("rebuild", "run-*", "no difference", "of 64 parts", "Time zone"):
        expect(facts).to_contain_text(fact)
    expect(tab.page.locator("#view")).to_contain_text("kmsumall, day")
    expect(tab.page.locator("#view tbody").last).to_contain_text("x1")


def test_a_board_is_deleted_once_it_is_confirmed(admin: Open, stack: Stack) -> None:
    tab = admin("view=board&id=run-1")
    press(tab, "Delete")
    assert confirm(tab, stack, "Delete the board run-1?", "There is no way back").startswith("run-1 is being deleted.")
    expect(tab.page.locator("dl .badge")).to_have_text("delete")
    assert [event["delete"]["board"] for _, event in stack.later.calls] == ["run-1"]


def test_refused_events_are_chosen_replayed_and_dropped(admin: Open, stack: Stack) -> None:
    tab = admin("view=refused")
    expect(tab.page.locator("#view tbody").last.locator("tr")).to_have_count(2)
    tab.page.get_by_label("Part of the reason").fill("no metric 'kn'")
    tab.page.keyboard.press("Enter")
    tab.settle()
    press(tab, "Replay")
    said = confirm(tab, stack, "Replay the event x1?", "still breaks one is refused again")
    assert said.startswith("1 sent again: 0 counted, 1 refused again.\nx1: metrics: board 'run-1' has no metric 'kn'")
    tab.page.goto(f"{ORIGIN}/admin#view=refused")
    tab.settle()
    press(tab, "Drop these 2")
    assert confirm(tab, stack, "Drop 2 refused events?", "no rank moves") == "2 deleted."
    expect(tab.page.locator("#view")).to_contain_text("No refused event.")
    assert stack.dead_letters.messages == []


def test_a_token_is_asked_for_kept_in_the_tab_alone_and_sent_with_each_request(admin: Open, stack: Stack) -> None:
    asked: list[tuple[str, str | None]] = []
    tab = admin("view=members")
    expect(tab.page.locator("#state")).to_have_text("open: anyone may change things here")

    def guarded(route: Route) -> Mapping[str, Any]:
        given = route.request.headers.get("authorization")
        asked.append((route.request.method, given))
        if given != "Bearer e30.eyJzdWIiOiJhbiBhZG1pbiIsImV4cCI6MTc5NTI2MDAwMH0.x":
            return {"status": 403 if given else 401, "body": '{"message":"Unauthorized"}'}
        return tab.answer(route)

    tab.instead[r"/(tasks|boards|members|events)"] = guarded
    tab.page.reload()
    tab.settle()
    expect(tab.page.locator("#inside")).to_be_hidden()
    expect(tab.page.locator("#token")).to_be_focused()
    for token, said in (("a.b.c", "lacks the scope"), ("e30.eyJzdWIiOiJhbiBhZG1pbiIsImV4cCI6MTc5NTI2MDAwMH0.x", "")):
        tab.page.keyboard.type(token)
        tab.page.keyboard.press("Enter")
        tab.settle()
        if said:
            expect(tab.page.locator("#sign-why")).to_contain_text(said)
    expect(tab.page.locator("#state")).to_have_text("signed in as an admin until 11:20")
    tab.page.goto(f"{ORIGIN}/admin#view=member&id=ada")
    tab.settle()
    press(tab, "Hide")
    confirm(tab, stack)
    assert {method for method, given in asked if given and given.endswith(".x")} == {"GET", "POST", "PUT"}
    assert tab.page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]") == [0, 0, ""]
    press(tab, "Sign out")
    expect(tab.page.locator("#inside")).to_be_hidden()
    assert tab.page.locator("#view > *").count() == 0


def test_it_loads_nothing_from_elsewhere_and_its_policy_allows_nothing_else(admin: Open, stack: Stack) -> None:
    tab = admin("view=members")
    seen: list[str] = []
    tab.page.on("request", lambda request: seen.append(request.url))
    tab.page.reload()
    tab.settle()
    assert [url for url in seen if not url.startswith((ORIGIN, "data:"))] == []
    headers = stack.query(http_event("/admin"), None)["headers"]
    policy = headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "form-action 'none'"):
        assert part in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    # A domain's mapped path goes before it.
    mapped = http_event("/ranks/admin")
    mapped["requestContext"]["domainName"] = "api.example"
    assert stack.query(mapped, None)["headers"]["Content-Type"].startswith("text/html")
    assert stack.query(http_event("/admin", "", "POST"), None)["statusCode"] == 404


# Axe looks for everything, and in the dark for colours: the style sheet changes nothing else there.
SCHEMES: Final[dict[Literal["light", "dark"], tuple[str, ...]]] = {"light": (), "dark": ("cat.color",)}
STATES: Final = ("view=members&name=ad", "view=member&id=ada", "view=boards", "view=board&id=run-1", "view=refused")


@pytest.mark.skipif(not AXE.exists(), reason=NO_NPM)
@pytest.mark.parametrize("viewport", [PHONE, pytest.param(DESK, marks=pytest.mark.thorough)], ids=["phone", "desk"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(admin: Open, viewport: dict[str, int]) -> None:
    tab = admin("view=members", viewport=viewport)
    for state in (*STATES, "dialog", "sign in"):
        if state == "dialog":
            tab.page.goto(f"{ORIGIN}/admin#view=member&id=ada")
            tab.settle()
            for summary in tab.page.locator("summary").all():
                summary.click()
            press(tab, "Remove")
        elif state == "sign in":
            tab.instead["/tasks"] = {"status": 401, "body": "{}"}
            tab.page.reload()
        else:
            tab.page.goto(f"{ORIGIN}/admin#{state}")
        tab.settle()
        for scheme, rules in SCHEMES.items():
            tab.page.emulate_media(color_scheme=scheme)
            assert (tab.violations(rules), max(0, tab.pixels_beyond())) == ([], 0), f"{state}, {scheme}"
