"""Takes the pictures of the live page and the admin's that the docs show, one of which moves while events come.

No picture depends on how fast this machine is. A view is taken when it has all that it shows. For the moving picture
the page only begins its animations, and each frame is set to its time before it is taken.
"""

import json
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import uuid4

from PIL import Image
from playwright.sync_api import Browser, Page

from benchmarks.harness.results_file import Output
from demo import people
from demo.demo import BOARD
from demo.reads import Reader

PICTURES: Final = "docs/pictures"
MOVING: Final = f"{PICTURES}/live-page.webp"
PATIENCE_MS: Final = 300_000
WINDOW: Final = "last-7-days"
QUIET: Final = "demo-storks"
"""The board of the pictures. Nobody else posts there, so that all reads of a page tell of one moment."""
OTHERS: Final = ("demo-lynxes", "demo-martens", "demo-wrens")
"""Further boards, so that the home page has something to list."""
_DAYS: Final = 13
_ON_A_DAY: Final = 30
_AT_ONCE: Final = 100
_SEED: Final = 7
_PLACE: Final = 3
"""The place from which on the pictures show the first member with a name."""
_TIMEOUT_S: Final = 30
_LISTED: Final = "() => document.querySelectorAll('#rows tr[data-rank]').length > 3"
_ONE_MOMENT: Final = """() => {
    const mine = document.querySelector("#rows tr.me .rank");
    return mine && parseInt(document.querySelector("#found-rank").textContent) == parseInt(mine.textContent)
        && document.querySelector("#picture rect.here") && document.querySelector("#past path")
        && [...document.querySelectorAll("#rows tr")].every(row => row.querySelector(".moved span"));
}"""
_MOVED: Final = "() => document.querySelector('#podium li') && document.querySelector('#rows .moved span')"
_HOME: Final = f"""() => {json.dumps([QUIET, *OTHERS])}.every(name => document.body.innerText.includes(name))
    && [...document.querySelectorAll("li .leader")].every(one => one.textContent)"""
_ADMIN: Final = (
    "() => document.querySelectorAll('#view [data-board] td').length && document.querySelector('#view .body')"
)
_PODIUM: Final = "() => document.querySelectorAll('#podium li').length == 3"


@dataclass(frozen=True, slots=True)
class View:
    """A picture: its name, what the address says, how large the window is, and when the page shows all of it."""

    name: str
    arguments: Mapping[str, str]
    shown: tuple[int, int]
    ready: str
    scheme: Any = "light"
    scale: float = 1.5
    member: bool = False
    as_phone: bool = False
    admin: bool = False


_LIST: Final = {"board": QUIET, "window": WINDOW}
VIEWS: Final = (
    View("live-page", _LIST, (1120, 819), _ONE_MOMENT, member=True),
    View("live-page-dark", _LIST, (1120, 819), _ONE_MOMENT, "dark", member=True),
    View("live-page-phone", _LIST, (390, 844), _LISTED, scale=2, as_phone=True),
    View("live-page-kiosk", {**_LIST, "kiosk": ""}, (1280, 720), _MOVED, "dark"),
    View("live-page-home", {}, (1000, 640), _HOME),
    View("live-page-embed", {**_LIST, "embed": ""}, (420, 500), _LISTED, scale=2),
    View("admin-page", {"view": "member"}, (1000, 960), _ADMIN, admin=True),
    View("admin-page-dark", {"view": "member"}, (1000, 960), _ADMIN, "dark", admin=True),
)


def take(browser: Browser, address: str, out: Output) -> None:
    """Take every picture of the page at this address; RuntimeError names the picture that did not come about."""
    _fill(address)
    for view in VIEWS:
        _take(browser, address, view, out.place(f"{PICTURES}/{view.name}.png"))
    _take_moving(browser, address, out.place(MOVING))


def _take(browser: Browser, address: str, view: View, path: Path) -> None:
    context = browser.new_context(
        viewport={"width": view.shown[0], "height": view.shown[1]},
        color_scheme=view.scheme,
        reduced_motion="reduce",
        device_scale_factor=view.scale,
        is_mobile=view.as_phone,
    )
    arguments = dict(view.arguments)
    if view.admin:
        arguments["id"] = _somebody(address)
    if view.member:
        arguments["member"] = _somebody(address)
        context.add_init_script(f"localStorage.setItem('standings-me', {json.dumps(arguments['member'])})")
    page = context.new_page()
    query = "&".join(f"{name}={value}" for name, value in arguments.items())
    page.goto(f"{address}admin#{query}" if view.admin else f"{address}?{query}")
    page.wait_for_function(view.ready, timeout=PATIENCE_MS)
    page.screenshot(path=path)
    context.close()


def _somebody(address: str) -> str:
    entries = _entries(address, QUIET, WINDOW)[_PLACE - 1 :]
    member: str = next(entry["member"] for entry in entries if people.profile(entry["member"]) is not None)
    return member


def _entries(address: str, board: str, window: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = next(Reader(address.rstrip("/"), board).pages(window, None))["entries"]
    return entries


def _fill(address: str) -> None:
    """Let members of the demo's board be on the other ones, and wait until all of it is counted."""
    rng, now = Random(_SEED), datetime.now(UTC)
    # Fonts for Japanese are missing on many machines.
    listed = [entry["member"] for entry in _entries(address, BOARD, "all")]
    members = sorted(one for one in listed if (people.profile(one) or {}).get("country") != "JP")
    strength = {member: rng.paretovariate(1.5) for member in members}
    events = [_event(board, member, rng.randint(50, 900)) for board in OTHERS for member in rng.sample(members, 25)]
    for day in range(_DAYS):
        for member in dict.fromkeys(rng.choices(members, [strength[one] for one in members], k=_ON_A_DAY)):
            points = round(20 * strength[member] * rng.uniform(0.5, 2))
            events.append(_event(QUIET, member, points, now - timedelta(days=day)))
    for first in range(0, len(events), _AT_ONCE):
        _post(address, events[first : first + _AT_ONCE])
    posted = sum(event["metrics"]["points"] for event in events if event["board"] == QUIET)
    began = time.monotonic()
    while (counted := sum(entry["score"] for entry in _entries(address, QUIET, "all"))) != posted:
        if time.monotonic() - began > PATIENCE_MS / 1000:
            raise RuntimeError(f"expected {posted} points on {QUIET}, got {counted}: look into the log of `make serve`")
        time.sleep(1)
    # The id of an event that has counted, with other content: the writer refuses it.
    _post(address, [{**_event(QUIET, _somebody(address), 5_000), "id": events[-1]["id"]}])


def _event(board: str, member: str, points: int, at: datetime | None = None) -> dict[str, Any]:
    said = {"id": uuid4().hex, "board": board, "member": member, "metrics": {"points": points}}
    return {**said, "at": at.isoformat()} if at else said


def _post(address: str, events: Sequence[dict[str, Any]]) -> None:
    request = urllib.request.Request(f"{address}events", json.dumps(events).encode())  # noqa: S310 - loopback
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=_TIMEOUT_S):
        pass


# The moving picture.
_STAGE: Final = (1200, 675)
_STAGE_SCALE: Final = 0.75
_CLIMBS: Final = ((9, 5), (6, 3), (11, 4), (2, 1), (8, 5))
"""From which place a member climbs to which."""
_STEP_MS: Final = 50
_MOVING_MS: Final = 650
_HELD_MS: Final = 1_000
_QUALITY: Final = 72
_PAUSED: Final = """
    window.begun = [];
    const animate = Element.prototype.animate;
    Element.prototype.animate = function (...given) {
        const one = animate.apply(this, given);
        one.pause();
        window.begun.push(one);
        return one;
    };"""


@dataclass(slots=True)
class _Film:
    page: Page
    frames: list[Image.Image] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)

    def frame(self, milliseconds: int) -> None:
        with Image.open(BytesIO(self.page.screenshot())) as picture:
            self.frames.append(picture.convert("RGB"))
        self.lengths.append(milliseconds)


def _take_moving(browser: Browser, address: str, path: Path) -> None:
    """Show a kiosk while members climb, some eight seconds."""
    size: Any = dict(zip(("width", "height"), _STAGE, strict=True))
    context = browser.new_context(viewport=size, device_scale_factor=_STAGE_SCALE)
    context.add_init_script(_PAUSED)
    page = context.new_page()
    page.goto(f"{address}?board={QUIET}&window=all&kiosk")
    page.wait_for_function(_PODIUM, timeout=PATIENCE_MS)
    _settle(page)
    film = _Film(page)
    film.frame(_HELD_MS)
    for since in _climbs(address, page):
        if since < _MOVING_MS:
            page.evaluate("since => begun.forEach(one => { one.currentTime = since; })", since)
        else:
            _settle(page)
        film.frame(_STEP_MS if since < _MOVING_MS else _HELD_MS)
    context.close()
    first, *others = film.frames
    first.save(path, save_all=True, append_images=others, duration=film.lengths, loop=0, quality=_QUALITY, method=4)


def _climbs(address: str, page: Page) -> Iterator[int]:
    """Let one member after the other climb; yield the milliseconds since the page has begun to show it."""
    for before, after in _CLIMBS:
        entries = _entries(address, QUIET, "all")
        points = entries[after - 1]["score"] - entries[before - 1]["score"] + after
        _settle(page)
        _post(address, [_event(QUIET, entries[before - 1]["member"], points)])
        page.wait_for_function("() => begun.length > 0", timeout=PATIENCE_MS)
        yield from range(0, _MOVING_MS + 1, _STEP_MS)


def _settle(page: Page) -> None:
    page.evaluate("begun.splice(0).forEach(one => one.finish())")
