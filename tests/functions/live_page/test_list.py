"""The list, its people and the card of a member: found, paged to, moved through periods; and answers that come late.

Periods have the names of the API: a browser that has the zones wrong shows them right.
"""

import base64
import os
import re
from datetime import datetime
from hashlib import sha256
from typing import Any, Final
from unittest import mock

import pytest
from playwright.sync_api import Route, expect

from tests.functions.live_page.conftest import Score
from tests.support.aws.stack import Stack, apply
from tests.support.browser.live_page import HOSTILE, PHONE, Opener, View
from tests.support.builders.querying import post
from tests.support.builders.seasons import FOUR

pytestmark = [pytest.mark.thorough]

FAR_AWAY: Final = {"locale": "en-US", "timezone_id": "America/New_York"}


def set_clock(stack: Stack, moment: str) -> None:
    stack.clock.milliseconds = int(datetime.fromisoformat(moment).timestamp() * 1000)


def test_hostile_members_are_text_and_are_found_by_their_names(opened: Opener, score: Score) -> None:
    score(dict.fromkeys(HOSTILE, 20_000))
    tab = opened("board=b")
    assert sorted(tab.members()[: len(HOSTILE)]) == sorted(HOSTILE)
    for member in HOSTILE:
        tab.find(member)
        expect(tab.page.locator("#found-name")).to_have_text(member)
        expect(tab.page.locator("#rows tr.me td.who")).to_have_text(member)
    assert tab.page.locator("#rows img, #rows script, #found img, #found script").count() == 0
    # Nobody has a profile.
    assert tab.page.locator("#rows .face, #rows .country, #rows .remark").count() == 0


def test_a_member_is_found_with_neighbours_and_place(opened: Opener) -> None:
    tab = opened("board=b&window=day")
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("m070")
    tab.page.keyboard.press("Enter")
    tab.settle()
    expect(tab.page.locator("#rows tr.me")).to_have_count(1)
    assert tab.members()[:6] == [f"m{place:03}" for place in range(65, 71)]
    said = "71st of 120 · 9,300 points · ahead of or level with 41.66 % · ▼ 21"
    expect(tab.page.locator("#found-rank")).to_have_text(said)
    expect(tab.page.locator("#picture rect.here")).to_have_count(1)
    tab.page.reload()
    tab.settle()
    expect(tab.page.locator("#found-name")).to_have_text("m070")
    tab.page.click("#forget")
    expect(tab.page.locator("#found")).to_be_hidden()


def test_any_rank_can_be_paged_to(opened: Opener) -> None:
    tab = opened("board=b")
    rows = tab.page.locator("#rows td.who button")
    tab.page.click("#next")
    second = [f"m{place:03}" for place in range(50, 100)]
    expect(rows).to_have_text(second)
    tab.page.fill("#jump", "110")
    tab.page.keyboard.press("Enter")
    expect(rows).to_have_text([f"m{place:03}" for place in range(109, 120)])
    tab.page.go_back()
    expect(rows).to_have_text(second)
    tab.page.fill("#jump", "100000")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("#empty")).to_have_text("Nobody stands this far down.")


@pytest.mark.parametrize("stack", [FOUR], indirect=True)
def test_seasons_go_back_and_forth_across_gaps(open_bare: Opener, stack: Stack, score: Score) -> None:
    for moment, member in (("2026-05-05T10:00Z", "a"), ("2026-10-20T10:00Z", "b")):
        set_clock(stack, moment)
        score({member: 5})
    tab = open_bare("board=b&window=season")
    when, before, after = (tab.page.locator(name) for name in ("#when", "#before", "#after"))
    expect(when).to_contain_text("autumn · ")
    assert tab.members() == ["b"]
    before.click()
    expect(when).to_contain_text("spring · ")
    expect(tab.page.locator("#rows td.who button")).to_have_text(["a"])
    expect(before).to_be_disabled()
    after.click()
    expect(when).to_contain_text("autumn · ")
    expect(after).to_be_disabled()
    expect(before).to_be_enabled()


@pytest.mark.parametrize(
    ("window", "said"),
    [
        # The board's midnight is at 23:00 in UTC.
        ("day", "Ends in 12 h 45 min Sun, Nov 22, 12:00 AM GMT+1"),
        ("week", "Ends in 1 d 12 h Mon, Nov 23, 12:00 AM GMT+1"),
        ("last-7-days", "Rolls over in 12 h 45 min Sun, Nov 22, 12:00 AM GMT+1"),
        ("all", ""),
    ],
)
def test_it_counts_down_in_the_boards_time_zone(opened: Opener, window: str, said: str) -> None:
    tab = opened(f"board=b&window={window}", **FAR_AWAY)
    expect(tab.page.locator("#ending")).to_have_text(said)
    expect(tab.page.locator("#ending")).to_be_visible(visible=bool(said))


def test_the_last_hour_has_seconds_and_then_the_next_period_comes(opened: Opener, stack: Stack, score: Score) -> None:
    set_clock(stack, "2026-11-21T22:59Z")
    tab = opened("board=b&window=day", locale="en-US")
    said = tab.page.locator("#ending .said")
    tab.pass_seconds(5)
    expect(said).to_have_text("Ends in 0 min 55 s")
    tab.pass_seconds(10)
    expect(said).to_have_text("Ends in 0 min 45 s")
    tab.pass_seconds(50)
    expect(said).to_have_text(re.compile("^Ends (now|in 23 h 59 min|in 1 d 0 h)$"))
    tab.pass_seconds(9)
    expect(said).to_have_text("Ends in 23 h 59 min")
    expect(tab.page.locator("#empty")).to_have_text("Nobody is ranked in this period yet.")
    score({"m005": 3})
    tab.pass_seconds(15)
    expect(tab.page.locator("#rows td.who")).to_have_text(["m005"])


def test_a_period_that_is_over_says_no_yet(opened: Opener) -> None:
    tab = opened("board=b&window=day&period=2026-11-01")
    expect(tab.page.locator("#empty")).to_have_text("This period is over. Nobody is ranked in it.")


def test_an_ended_period_says_until_when_late_events_count_and_when_it_is_final(opened: Opener, stack: Stack) -> None:
    for now, said in (
        ("2026-11-21T10:15:00Z", "late events still count until Sun, Nov 22, 12:00 AM GMT+1"),
        ("2026-11-21T23:00:30Z", "final at Sun, Nov 22, 12:05 AM GMT+1"),
        ("2026-11-21T23:04:30Z", "final at Sun, Nov 22, 12:05 AM GMT+1"),
    ):
        set_clock(stack, now)
        tab = opened("board=b&window=day&period=2026-11-20", locale="en-US")
        expect(tab.page.locator("#ending")).to_have_text(f"Ended Sat, Nov 21, 12:00 AM GMT+1 {said}")
    tab.pass_seconds(40)
    expect(tab.page.locator("#ending")).to_have_text("Final since Sun, Nov 22, 12:05 AM GMT+1")
    # Nothing can change it but a hidden or removed member.
    assert len(tab.in_next(60).lists) <= 4


def test_the_card_tells_the_gap_to_the_next(opened: Opener, stack: Stack, score: Score) -> None:
    stack.put("/members", {"name": "Ada Nagy", "country": "HU"}, id="m010")
    score({"m050": 10})
    tab = opened("board=b&window=day&member=m011")
    gap = tab.page.locator("#found-gap")
    for more, said in ((0, "10 behind Ada Nagy (11th)"), (4, "6 behind Ada Nagy (11th)"), (6, "level with Ada Nagy")):
        if more:
            score({"m011": more})
            tab.pass_seconds(4)
        expect(gap).to_have_text(said)
    tab.open("board=b&window=day&member=m000")
    expect(gap).to_have_text("leads")
    tab.open("board=b&window=day&member=m010")
    expect(tab.page.locator("#found-name")).to_have_text("Ada NagyHU")
    expect(tab.page.locator("#found-name .face")).to_have_attribute("data-initials", "AN")
    tab.find("m010")
    expect(tab.page.locator("#found-name")).to_have_text("Ada NagyHU")


def test_the_gap_has_the_decimals_of_the_scores_and_a_score_of_one_has_one_point(opened: Opener) -> None:
    tab = opened("board=b&window=day", locale="en-US")
    gap = """([ahead, score, precision]) => {
        board.metrics[0].precision = precision;
        return gap({score, ahead: {score: ahead, member: "x", rank: 1}})[0];
    }"""
    for ahead, behind, precision, said in (
        (12345678.90, 12345678.12, 2, "0.78"),
        (9007199254740.91, 9007199254740.9, 2, "0.01"),
        (0.3, 0.1, 1, "0.2"),
        (-1.5, -3, 1, "1.5"),
        (9007199254740991, -9007199254740991, 0, "18,014,398,509,481,982"),
    ):
        assert tab.page.evaluate(gap, [ahead, behind, precision]) == f"{said} behind "
    units = "metric => [2, 1].map(score => unit(score, metric))"
    found = [tab.page.evaluate(units, metric) for metric in ("points", "best_km", "matches")]
    assert found == [["points", "point"], ["best km", "best km"], ["matches", "match"]]


def test_an_error_of_a_chart_leaves_the_list_and_the_card(opened: Opener) -> None:
    tab = opened("board=b&window=day", missing="400")
    problem = {"type": "urn:standings:too-far", "detail": "too far to count"}
    tab.instead[r"/(history|distribution)\?"] = {"status": 400, "json": problem}
    tab.find("m003")
    expect(tab.page.locator("#picture")).to_have_text("too far to count")
    expect(tab.page.locator("#found-rank")).to_contain_text("4th of 120")
    expect(tab.page.locator("#rows tr.me")).to_have_count(1)


@pytest.mark.parametrize(("asks_for", "goes_on_to"), [("b-2", "b"), ("b", "b-2")])
def test_a_late_definition_replaces_no_other(opened: Opener, score: Score, asks_for: str, goes_on_to: str) -> None:
    score({"eve": 3}, board="b-2")
    tab = opened("board=b&window=day")
    tab.held = f"/boards/{asks_for}$"
    tab.asked.clear()
    if asks_for == "b":
        # At the end of a period the definition is read again.
        tab.sleep(13 * 3600)
    else:
        tab.page.evaluate("void show({board: 'b-2'})")
        tab.settle()
    assert tab.asked[asks_for] == 1
    tab.page.evaluate("board => void show({board})", goes_on_to)
    tab.settle()
    tab.release()
    assert tab.page.evaluate("[view.board, board.board]") == [goes_on_to, goes_on_to]
    expect(tab.page.locator("#rows td.who")).to_have_count(50 if goes_on_to == "b" else 1)


def test_late_answers_bring_back_nobody_stand_for_nobody_else_and_are_shown(opened: Opener) -> None:
    tab = opened("board=b&window=day")
    tab.held = "/distribution"
    tab.find("m007")
    assert tab.asked["distribution"] == 1
    tab.page.click("#forget")
    tab.release()
    expect(tab.page.locator("#found")).to_be_hidden()
    tab.held = "me=m009"
    tab.find("m009")
    assert "me=m009" in tab.lists[-1][1]
    tab.find("m003")
    expect(tab.page.locator("#found-rank strong")).to_have_text("4th")
    tab.release()
    expect(tab.page.locator("#found-name")).to_have_text("m003")
    expect(tab.page.locator("#found-rank strong")).to_have_text("4th")
    tab = opened("board=b&window=day", held="/ranks")
    assert tab.asked["ranks"] == 1
    tab.page.locator("#rows td.who button").first.click()
    expect(tab.page.locator("#rows tr.me")).to_have_count(1)
    tab.release()
    tab.pass_seconds(3)
    expect(tab.page.locator("#rows tr.me .moved span")).to_have_text("▲ 119")


def test_what_the_page_posts_has_the_hash_that_cloudfront_needs_before_a_function_url(opened: Opener) -> None:
    posted: list[tuple[str | None, str]] = []

    def note(route: Route) -> dict[str, Any]:
        body = route.request.post_data_buffer or b""
        posted.append((route.request.headers.get("x-amz-content-sha256"), sha256(body).hexdigest()))
        return {"status": 403, "body": '{"Message":"Forbidden"}'}

    opened("board=b&window=day", instead={"/ranks": note}, missing="403")
    ((sent, expected),) = posted
    assert sent == expected


def test_after_hours_in_a_tab_the_later_period_is_the_next_one(opened: Opener) -> None:
    tab = opened("board=b&window=day&period=2026-11-20", timezone_id="Europe/Berlin", locale="en-US")
    shown = tab.page.locator("#when")
    tab.sleep(13 * 3600)  # past midnight
    tab.page.click("#after")
    expect(shown).to_have_text("Nov 21, 2026")
    tab.page.get_by_role("button", name="all time", exact=True).click()
    tab.sleep(35 * 3600)
    tab.page.get_by_role("button", name="day", exact=True).click()
    expect(shown).to_have_text("Nov 23, 2026")
    for button, day in (("before", "22"), ("before", "21"), ("after", "22"), ("after", "23")):
        tab.page.click(f"#{button}")
        expect(shown).to_have_text(f"Nov {day}, 2026")
    expect(tab.page.locator("#after")).to_be_disabled()


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
    return opened("board=b-people", missing="404", instead={"^https://(pictures|elsewhere).example": picture})


def picture(route: Route) -> dict[str, Any]:
    assert "referer" not in route.request.headers
    there = route.request.url.endswith("adam.png")
    return {"body": DOT, "content_type": "image/png"} if there else {"status": 404}


def test_names_and_pictures_stand_for_ids_and_a_script_in_a_name_is_text(people: View) -> None:
    assert people.members()[:5] == [*(profile["name"] for profile in PEOPLE.values()), "plain-0"]
    faces = people.page.locator("#rows .face").evaluate_all("all => all.map(one => one.dataset.initials)")
    assert faces[:5] == ["ÁN", "AO", "<", "用一", "P"]
    expect(people.page.locator("#rows .country")).to_have_text(["HU"])
    people.find("p3")
    expect(people.page.locator("#found-name")).to_have_text(SCRIPT)
    assert people.page.locator("#rows script, #found script").count() == 0
    # Pictures come from named hosts. Initials stand for the others.
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
        # What no browser can read must not take the list from all others.
        ("pictures.example", "https://a.example:99999/ada.png", 0),
        ("pictures.example", "https://1.2.3.999/ada.png", 0),
        ("pictures.example", "https://a.example/%zz", 0),
    ],
)
def test_the_usual_port_may_be_written(opened: Opener, stack: Stack, host: str, picture: str, asked: int) -> None:
    assert stack.put("/members", {"name": "Ada Nagy", "picture": picture}, id="m001")[0] == 200
    with mock.patch.dict(os.environ, PICTURE_ORIGINS=host):
        tab = opened("board=b&window=day&member=m001", missing="404", instead={"ada.png": {"status": 404}})
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
    assert people.in_next(10).asked.keys() == {"page"}
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
    said = [text.partition(": ")[2] for text in items.all_text_contents()[:-6:-1]]
    assert said == ["1st of 64, 1,000", "2nd of 2, 5", "1st of 1, 5", "not ranked", "1st of 1, 5"]
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


def worth(tab: View) -> list[tuple[str, str, bool]]:
    """Of each row the rank, what its place is worth, and whether a line is above it."""
    tab.settle()
    found: list[list[Any]] = tab.page.evaluate("""() => [...document.querySelectorAll("#rows tr")].map(row =>
        [row.dataset.rank, row.querySelector(".worth")?.textContent || "", row.classList.contains("line")])""")
    return [(rank, said, line) for rank, said, line in found]


PLACES: Final = {"ann": 9, "bob": 7, "cem": 7, "dan": 5, "eve": 3, "fay": 2}


def test_each_row_says_what_it_wins_and_a_line_ends_the_winners(open_bare: Opener, score: Score) -> None:
    score(PLACES, board="prize-1")
    tab = open_bare("board=prize-1&window=day")

    silver = [("2", "silver · half", False)] * 2
    assert worth(tab) == [("1", "gold · half", False), *silver, ("4", "", True), ("5", "", False), ("6", "", False)]
    # By position, equals do not share a prize.
    tab.open("board=prize-1&window=week")
    assert [row[1:] for row in worth(tab)[:4]] == [("cup", False), ("cup", False), ("", True), ("", False)]
    tab.open("board=prize-1&window=week&rank=2")
    assert [said for _, said, _ in worth(tab)[:3]] == ["cup", "", ""]
    tab.open("board=prize-1&window=all")
    assert {(said, line) for _, said, line in worth(tab)} == {("", False)}
    # Who overtakes, wins: the rows stay, and what they say changes.
    tab.open("board=prize-1&window=day")
    score({"fay": 90}, board="prize-1")
    tab.pass_seconds(5)
    said = {member: words for member, (_, words, _) in zip(tab.members(), worth(tab), strict=True)}
    assert (said["fay"], said["bob"], said["dan"]) == ("gold · half", "silver · half", "")


def test_the_address_draws_the_lines_of_a_league_until_another_board_is_chosen(open_bare: Opener, score: Score) -> None:
    score(PLACES, board="b-league")
    score(PLACES, board="b-other")
    tab = open_bare("board=b-league&window=day&rise=2&fall=5")

    rise, fall = [("1", "rises", False), *[("2", "rises", False)] * 2], [("5", "falls", True), ("6", "falls", False)]
    assert worth(tab) == [*rise, ("4", "", True), *fall]
    tab.open("board=b-league&window=day&rise=2&fall=5&embed=6")
    assert worth(tab) == [*rise, ("4", "", True), *fall]
    assert "rise=2&fall=5" in (tab.page.locator("#title a").get_attribute("href") or "")
    tab.open("board=b-league&window=day&rise=2&fall=5")
    tab.page.click("#all")
    tab.settle()
    tab.page.get_by_role("link", name="b-other").click()
    tab.settle()
    assert {(said, line) for _, said, line in worth(tab)} == {("", False)}
    assert "rise" not in tab.page.url


def test_in_a_first_period_nobody_is_new(open_bare: Opener, score: Score) -> None:
    score({"ann": 3, "bob": 2})
    tab = open_bare("board=b&window=day")
    tab.pass_seconds(20)
    assert tab.page.locator("#rows td.moved").all_text_contents() == ["", ""]

    score({"ann": 1}, days_ago=1)
    tab.open("board=b&window=day")
    tab.pass_seconds(20)
    assert tab.page.locator("#rows td.moved").all_text_contents() == ["–", "new"]


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
MIDNIGHT: Final = "Oct 25, 12:00 AM GMT-1"
AZORES: Final = ["Oct 25, 1:00 – 2:00 AM", f"{MIDNIGHT} – Oct 25, 01:00 AM GMT-1", f"Oct 25, 12:00 AM UTC – {MIDNIGHT}"]


def boards(zone: str) -> str:
    windows = '["all", "hour", "day", "week", "month", "last-2-hours", "last-7-days"]'
    return f'[boards."b"]\ntimezone = "{zone}"\nmetrics.points = {{ aggregate = "sum", windows = {windows} }}'


ZONES: Final = (
    ("Australia/Lord_Howe", "10-03T16:20Z", "hour", HOWE, "Sun, Oct 4, 04:00 AM GMT+11"),
    ("Atlantic/Azores", "10-25T02:30Z", "hour", AZORES, "Sun, Oct 25, 02:00 AM GMT-1"),
    ("Atlantic/Azores", "10-26T02:30Z", "day", ["Oct 26, 2026", "Oct 25, 2026", "Oct 24, 2026"], "GMT-1"),
    ("Africa/Cairo", "04-25T12:00Z", "day", ["Apr 25, 2026", "Apr 24, 2026", "Apr 23, 2026"], "GMT+3"),
    ("America/Vancouver", "11-27T20:00Z", "day", ["Nov 27, 2026", "Nov 26, 2026"], "Sat, Nov 28, 12:00 AM"),
    ("America/Vancouver", "11-27T20:00Z", "week", ["Nov 23 – 29, 2026", "Nov 16 – 22, 2026"], "Mon, Nov 30"),
    ("America/Vancouver", "11-27T20:00Z", "month", ["November 2026", "October 2026"], "Tue, Dec 1"),
    ("Asia/Kathmandu", "11-27T20:00Z", "last-7-days", ["Nov 22 – 28, 2026", "Nov 21 – 27, 2026"], "+5:45"),
    ("UTC", "11-27T20:00Z", "last-2-hours", ["Nov 27, 7:00 – 9:00 PM", "Nov 27, 6:00 – 8:00 PM"], "UTC"),
)


@pytest.mark.parametrize(
    ("stack", "now", "window", "labels", "ends"),
    [(boards(zone), f"2026-{now}", *others) for zone, now, *others in ZONES],
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
            assert ("period=" in tab.page.url) == (label != labels[0])
    expect(tab.page.locator("#after")).to_be_disabled()


@pytest.mark.parametrize("stack", [boards("Australia/Lord_Howe")], indirect=True)
@pytest.mark.parametrize("more", ["", "&kiosk"])
def test_an_hour_with_offsets_fits_on_a_phone(open_bare: Opener, stack: Stack, more: str) -> None:
    set_clock(stack, "2026-10-03T15:40Z")
    post(stack, {"ann": 1})
    tab = open_bare(f"board=b&window=hour{more}", WRONG, locale="en-US", viewport=PHONE)
    if not more:
        tab.page.click("#fold")
    assert (tab.pixels_beyond(), "GMT+10:30" in tab.page.content()) == (0, True)


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
