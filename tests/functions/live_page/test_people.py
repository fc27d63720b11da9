"""People on the live page: names, pictures, notes, the search, one's own row and the history of a rank."""

import base64
import os
import re
from typing import Any, Final
from unittest import mock

import pytest
from playwright.sync_api import Route, expect

from tests.functions.live_page.conftest import Score
from tests.support.aws.stack import Stack, apply
from tests.support.browser.live_page import Opener, View

pytestmark = [pytest.mark.thorough]

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


@pytest.fixture
def people(opened: Opener, stack: Stack, score: Score) -> View:
    """A board of four members with profiles and sixty without. p1 was active on most days of this week."""
    for member, profile in PEOPLE.items():
        assert stack.put("/members", profile, id=member)[0] == 200
    score({member: 1_000 - 10 * place for place, member in enumerate(PEOPLE)}, board="b-people")
    score({f"plain-{number}": 500 - number for number in range(60)}, board="b-people")
    for days, points in ((1, {"p1": 5, "p2": 9}), (2, {"p1": 5}), (3, {"p2": 9}), (4, {"p1": 5})):
        score(points, days, "b-people")
    view = opened("board=nowhere", missing="404")
    view.instead["^https://(pictures|elsewhere).example"] = picture
    view.open("board=b-people")
    return view


def picture(route: Route) -> dict[str, Any]:
    assert "referer" not in route.request.headers
    there = route.request.url.endswith("adam.png")
    return {"body": DOT, "content_type": "image/png"} if there else {"status": 404}


def test_names_stand_for_ids_and_a_script_in_a_name_is_text(people: View) -> None:
    assert people.members()[:5] == [*(profile["name"] for profile in PEOPLE.values()), "plain-0"]
    faces = people.page.locator("#rows .face").evaluate_all("all => all.map(one => one.dataset.initials)")
    assert faces[:5] == ["ÁN", "AO", "<", "用一", "P"]
    expect(people.page.locator("#rows .country")).to_have_text(["HU"])
    people.find("p3")
    expect(people.page.locator("#found-name")).to_have_text(SCRIPT)
    assert people.page.locator("#rows script, #found script").count() == 0


def test_pictures_come_from_named_hosts_and_initials_stand_for_the_others(people: View) -> None:
    image = people.page.locator("#rows .face img")
    expect(image).to_have_count(1)
    expect(image).to_have_attribute("src", f"{HOST}/adam.png")
    expect(image).to_have_attribute("loading", "lazy")
    expect(image).to_have_attribute("referrerpolicy", "no-referrer")
    people.pass_seconds(3)
    assert sorted(path for path in people.paths if path.endswith(".png")) == ["/adam.png", "/missing.png"]


@pytest.mark.parametrize(
    ("host", "picture", "asked"),
    [
        ("pictures.example:443", "https://pictures.example/ada.png", 1),
        ("pictures.example", "https://pictures.example:443/ada.png", 1),
        ("pictures.example:8443", "https://pictures.example:8443/ada.png", 1),
        ("pictures.example:8443", "https://pictures.example/ada.png", 0),
        ("pictures.example", "https://other.example/ada.png", 0),
        # What no browser can read must not take the list from all others.
        ("pictures.example", "https://a.example:99999/ada.png", 0),
        ("pictures.example", "https://1.2.3.999/ada.png", 0),
        ("pictures.example", "https://a.example/%zz", 0),
    ],
)
def test_the_usual_port_may_be_written_or_not(
    opened: Opener, stack: Stack, host: str, picture: str, asked: int
) -> None:
    assert stack.put("/members", {"name": "Ada Nagy", "picture": picture}, id="m001")[0] == 200
    with mock.patch.dict(os.environ, PICTURE_ORIGINS=host):
        tab = opened("board=nowhere", missing="404")
    tab.instead["ada.png"] = {"status": 404}
    tab.open("board=b&window=day&member=m001")
    expect(tab.page.locator("#note")).to_be_hidden()
    expect(tab.page.locator("#found-name")).to_have_text("Ada Nagy")
    expect(tab.page.locator("#rows tr.me .face")).to_have_attribute("data-initials", "AN")
    expect(tab.page.locator("#rows .face img")).to_have_count(0)
    expect(tab.page.locator("#rows td.who")).to_have_count(50)
    assert tab.asked["ada.png"] == asked


def test_members_are_found_by_name_with_the_keyboard(people: View) -> None:
    box = people.page.get_by_role("combobox", name="Find a member")
    options = people.page.get_by_role("option")
    box.press_sequentially("AD")
    people.pass_seconds(1)
    expect(options).to_have_text(["Ádám Nagy · HU", "Adele Obi"])
    expect(box).to_have_attribute("aria-expanded", "true")
    box.press("ArrowDown")
    box.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", "offer-1")
    box.press("Enter")
    expect(people.page.locator("#found-name")).to_have_text("Adele Obi")
    expect(people.page.locator("#offers")).to_be_hidden()
    box.fill("用户")
    people.pass_seconds(1)
    expect(options).to_have_text(["用户 一"])
    box.press("Escape")
    expect(people.page.locator("#offers")).to_be_hidden()
    people.find("plain-7")
    expect(people.page.locator("#found-name")).to_have_text("plain-7")


def test_this_is_me_stays_in_view_with_the_gap_to_the_next(people: View) -> None:
    people.open("board=b-people&member=plain-50")
    people.page.get_by_role("button", name="This is me").click()
    mine = people.page.locator("#mine")
    expect(mine).to_contain_text("55th")
    expect(mine).to_contain_text("1 behind plain-49 (54th)")
    people.open("board=b-people")
    expect(mine).to_contain_text("plain-50")
    expect(mine).to_be_in_viewport(ratio=1)
    people.asked.clear()
    people.pass_seconds(10)
    assert people.asked.keys() == {"page"}
    people.page.get_by_role("button", name="Not me").click()
    expect(mine).to_be_hidden()
    people.page.reload()
    people.settle()
    expect(people.page.locator("#rows tr[data-rank]")).to_have_count(50)
    expect(mine).to_be_hidden()


def test_the_history_is_a_line_and_a_list(people: View) -> None:
    people.open("board=b-people&window=day&member=p1")
    items = people.page.locator("#past li")
    expect(items).to_have_count(14)
    said = items.all_text_contents()[::-1]
    assert [text.partition(": ")[2] for text in said[:5]] == [
        "1st of 64, 1,000",
        "2nd of 2, 5",
        "1st of 1, 5",
        "not ranked",
        "1st of 1, 5",
    ]
    line, dots = (people.page.locator("#past path").nth(n).get_attribute("d") or "" for n in (0, 1))
    # Four ranked days in two stretches, the earlier of one day. The first rank is higher than the second.
    assert (line.count("M"), line.count("L"), dots.count("M")) == (2, 2, 4)
    heights = [float(point.split(" ")[1]) for point in re.split("[ML]", line)[1:]]
    assert heights == [4, 4, 36, 4]
    expect(people.page.locator("#past svg")).to_have_attribute("aria-label", re.compile("between 1st and 2nd"))
    people.open("board=b-people&member=p1")
    expect(people.page.locator("#found-rank strong")).to_be_visible()
    expect(items).to_have_count(0)


@pytest.mark.parametrize(
    "stack", ['[boards."b"]\nmetrics.points = { aggregate = "max", windows = ["all"], notes = true }'], indirect=True
)
def test_notes_are_shown_where_the_metric_keeps_them(open_bare: Opener, stack: Stack) -> None:
    note = {"run": "<b>7</b>", "km": 4.5}
    said = {"id": "1", "board": "b", "member": "ada", "at": "2026-11-21T10:00:00Z", "metrics": {"points": 9}}
    apply(stack, [{**said, "note": note}])
    expect(open_bare("board=b").page.locator("#rows .remark")).to_have_text(["run: <b>7</b> · km: 4.5"])
