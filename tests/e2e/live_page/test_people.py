"""People on the live page: names, pictures, notes, the search, one's own row and the history of a rank."""

import base64
import json
import re
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Route, expect

from demo import feed
from demo.embedded.stack import Deployment
from tests.support.browser.axe import violations
from tests.support.browser.live_page import Shown, event

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("deployment")]

BOARD: Final = "demo-people"
SCRIPT: Final = "<script>alert(1)</script>"
HOST: Final = "https://pictures.example"
PEOPLE: Final[dict[str, dict[str, str]]] = {
    "p1": {"name": "Ádám Nagy", "country": "HU", "picture": f"{HOST}/adam.png"},
    "p2": {"name": "Adele Obi", "picture": f"{HOST}/missing.png"},
    "p3": {"name": SCRIPT, "picture": "https://elsewhere.example/x.png"},
    "p4": {"name": "用户 一"},
}
DOT: Final = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module", autouse=True)
def _people(_activity: None, deployment: Deployment) -> None:
    """Four members with profiles and sixty without. p1 was active on most days of this week, but not on all."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for member, profile in PEOPLE.items():
        address = f"{deployment.api_url}/members?id={quote(member)}"
        request = urllib.request.Request(address, json.dumps(profile).encode(), method="PUT")  # noqa: S310 - loopback
        with opener.open(request, timeout=30):
            pass
    now = datetime.now(UTC)
    messages = [event(member, 1_000 - 10 * place, now, BOARD) for place, member in enumerate(PEOPLE)]
    messages += [event(f"plain-{number}", 500 - number, now, BOARD) for number in range(60)]
    messages += [event("p1", 5, now - timedelta(days=days), BOARD) for days in (1, 2, 4)]
    messages += [event("p2", 9, now - timedelta(days=days), BOARD) for days in (1, 3)]
    feed.post(deployment, messages, lambda *_: None)
    feed.drain(deployment, lambda *_: None)
    feed.settle(deployment)


@pytest.fixture
def asked(shown: Shown) -> list[str]:
    """Answer for the host of pictures; list what is asked of any other host than the API."""
    outside: list[str] = []

    def picture(route: Route) -> None:
        outside.append(route.request.url)
        assert "referer" not in route.request.headers
        if route.request.url.endswith("adam.png"):
            route.fulfill(body=DOT, content_type="image/png")
        else:
            route.fulfill(status=404)

    shown.page.route(re.compile(r"^https://.*"), picture)
    shown.missing.add(f"{HOST}/missing.png")
    return outside


def find(shown: Shown, member: str) -> None:
    shown.page.fill("#member", member)
    shown.page.keyboard.press("Enter")
    expect(shown.page.locator("#found-rank strong")).to_be_visible()


def faces(shown: Shown) -> list[str]:
    return shown.page.locator("#rows .face").evaluate_all("all => all.map(one => one.dataset.initials)")  # type: ignore[no-any-return]


@pytest.mark.usefixtures("asked")
def test_names_stand_for_ids_and_a_script_in_a_name_is_text(shown: Shown) -> None:
    shown.open(board=BOARD)

    assert shown.members()[:5] == [*(profile["name"] for profile in PEOPLE.values()), "plain-0"]
    assert faces(shown)[:5] == ["ÁN", "AO", "<", "用一", "P"]
    expect(shown.page.locator("#rows .country")).to_have_text(["HU"])
    assert shown.page.locator("#rows script").count() == 0
    find(shown, "p3")
    expect(shown.page.locator("#found-name")).to_have_text(SCRIPT)


def test_pictures_come_from_named_hosts_and_initials_stand_for_the_others(shown: Shown, asked: list[str]) -> None:
    shown.open(board=BOARD)

    image = shown.page.locator("#rows .face img")
    expect(image).to_have_count(1)
    expect(image).to_have_attribute("src", f"{HOST}/adam.png")
    expect(image).to_have_attribute("loading", "lazy")
    expect(image).to_have_attribute("referrerpolicy", "no-referrer")
    shown.page.wait_for_timeout(3_000)
    assert sorted(asked) == [f"{HOST}/adam.png", f"{HOST}/missing.png"]
    shown.picture("people")


def test_a_board_without_profiles_has_ids_alone_and_asks_as_often_as_before(shown: Shown) -> None:
    requests: list[str] = []
    shown.page.on("request", lambda request: requests.append(request.url))
    shown.open()
    requests.clear()
    shown.page.wait_for_timeout(5_000)

    assert shown.page.locator("#rows .face, #rows .country, #rows .remark").count() == 0
    expect(shown.page.locator("#mine")).to_be_hidden()
    assert len([url for url in requests if "/points/all?" in url]) <= 3
    assert [url for url in requests if "members?" in url or "/history" in url] == []


@pytest.mark.usefixtures("asked")
def test_members_are_found_by_name_with_the_keyboard(shown: Shown) -> None:
    shown.open(board=BOARD)
    box = shown.page.get_by_role("combobox", name="Find a member")
    box.press_sequentially("AD")
    options = shown.page.get_by_role("option")
    expect(options).to_have_text(["Ádám Nagy · HU", "Adele Obi"])
    expect(box).to_have_attribute("aria-expanded", "true")
    box.press("ArrowDown")
    box.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", "offer-1")
    shown.picture("offers")
    box.press("Enter")
    expect(shown.page.locator("#found-name")).to_have_text("Adele Obi")
    expect(shown.page.locator("#offers")).to_be_hidden()
    box.fill("用户")
    expect(options).to_have_text(["用户 一"])
    box.press("Escape")
    expect(shown.page.locator("#offers")).to_be_hidden()
    find(shown, "plain-7")
    expect(shown.page.locator("#found-name")).to_have_text("plain-7")


@pytest.mark.usefixtures("asked")
def test_this_is_me_stays_in_view_with_the_gap_to_the_next(shown: Shown) -> None:
    shown.open(board=BOARD, member="plain-50")
    shown.page.get_by_role("button", name="This is me").click()
    mine = shown.page.locator("#mine")
    expect(mine).to_contain_text("55th")
    expect(mine).to_contain_text("1 behind plain-49 (54th)")
    shown.open(board=BOARD)
    expect(mine).to_contain_text("plain-50")
    expect(mine).to_be_in_viewport(ratio=1)
    shown.picture("mine")
    requests: list[str] = []
    shown.page.on("request", lambda request: requests.append(request.url))
    shown.page.wait_for_timeout(3_000)
    assert [url for url in requests if "/rank?" in url] == []
    shown.page.get_by_role("button", name="Not me").click()
    expect(mine).to_be_hidden()
    shown.page.reload()
    expect(shown.page.locator("#state")).to_have_attribute("data-is", "live")
    expect(mine).to_be_hidden()


@pytest.mark.usefixtures("asked")
def test_the_history_is_a_line_and_a_list(shown: Shown) -> None:
    shown.open(board=BOARD, window="day", member="p1")
    items = shown.page.locator("#past li")
    expect(items).to_have_count(14)
    said = items.all_text_contents()[::-1]
    assert [text.partition(": ")[2] for text in said[:5]] == [
        "1st of 64, 1,000",
        "2nd of 2, 5",
        "1st of 1, 5",
        "not ranked",
        "1st of 1, 5",
    ]
    line, dots = (shown.page.locator("#past path").nth(n).get_attribute("d") or "" for n in (0, 1))
    # Four ranked days in two stretches, the earlier of one day. The first rank is higher than the second.
    assert (line.count("M"), line.count("L"), dots.count("M")) == (2, 2, 4)
    heights = [float(point.split(" ")[1]) for point in re.split("[ML]", line)[1:]]
    assert heights == [4, 4, 36, 4]
    expect(shown.page.locator("#past svg")).to_have_attribute("aria-label", re.compile("between 1st and 2nd"))
    shown.picture("history")
    shown.open(board=BOARD, member="p1")
    expect(shown.page.locator("#found-rank strong")).to_be_visible()
    expect(items).to_have_count(0)


@pytest.mark.usefixtures("asked")
def test_notes_are_shown_where_the_metric_keeps_them(shown: Shown) -> None:
    def kept(route: Route) -> None:
        found: Any = route.fetch().json()
        found["metrics"][0]["notes"] = True
        route.fulfill(json=found)

    def noted(route: Route) -> None:
        assert "notes=true" in route.request.url
        found: Any = route.fetch(url=route.request.url.replace("&notes=true", "")).json()
        found["entries"][0]["note"] = {"run": "<b>7</b>", "km": 4.5}
        route.fulfill(json=found)

    shown.page.route(f"**/boards/{BOARD}", kept)
    shown.page.route(f"**/boards/{BOARD}/points/all?*", noted)
    shown.open(board=BOARD)

    expect(shown.page.locator("#rows .remark")).to_have_text(["run: <b>7</b> · km: 4.5"])


@pytest.mark.usefixtures("asked")
def test_all_of_it_is_fit_for_everyone(shown: Shown) -> None:
    shown.page.context.add_init_script("localStorage.setItem('standings-me', 'p4')")
    shown.open(board=BOARD, window="day", member="p1")
    expect(shown.page.locator("#past li")).to_have_count(14)
    shown.page.fill("#member", "AD")
    expect(shown.page.get_by_role("option")).to_have_count(2)

    assert violations(shown.page) == []
