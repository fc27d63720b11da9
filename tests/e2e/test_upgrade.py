"""A stack of version 0.3.0 with data is upgraded where it stands: every list stays, and goes on.

The code of 0.3.0 comes from the history of this repository. Both versions are built by `sam build` and deployed by
`sam deploy` into the same embedded AWS. Every list is compared with a sort of the events, which knows no code of the
product: before the upgrade, after it, and after more events. Then what 0.4 has is tried on what 0.3.0 counted.
"""

import json
import random
import subprocess
import tarfile
import time as clock
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from demo.embedded import emulator, stack
from demo.embedded.built import boards_file, define
from demo.embedded.processes import run
from demo.embedded.stack import LOCAL, PROJECT, Deployment
from standings.domain.zones import time_zone
from tests.e2e.conftest import OLD, SEASON, TODAY, WEST, boards
from tests.support.aws.deployed_api import answer_of, count, event, maintained, until
from tests.support.aws.embedded_tools import skip_without_tools
from tests.support.oracle.model import BoardModel, Calendar, Metric, Season

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

ZONE: Final = time_zone("Europe/Berlin")
NOW: Final = datetime.now(ZONE)
LATE: Final = timedelta(days=20)
STARTS, ENDS = (NOW.date() + timedelta(days=days) for days in (-40, 10))
CLUBS: Final = f"""
[boards."club-*"]
timezone = "Europe/Berlin"
late = "{LATE.days} days"
keep = "90 days"
seasons = [{{ name = "this", starts = "{STARTS}", ends = "{ENDS}" }}]
metrics.points = {{ aggregate = "sum", windows = ["all", "day", "week", "month", "season", "last-7-days"] }}
metrics.steps = {{ aggregate = "sum", windows = ["last-24-hours"] }}
metrics.km = {{ aggregate = "sum", precision = 1, ties = "first", windows = ["all", "last-3-days"] }}
metrics.best = {{ aggregate = "max", notes = true, windows = ["all", "month"] }}
metrics.fastest = {{ aggregate = "min", order = "ascending", windows = ["all", "week"] }}
metrics.level = {{ aggregate = "last", windows = ["all", "day"] }}
"""
CALENDAR: Final = Calendar(ZONE, 0, LATE, timedelta(days=90), (Season("this", STARTS, ENDS),))
METRICS: Final = {
    "points": Metric(windows=("all", "day", "week", "month", "season", "last-7-days")),
    "steps": Metric(windows=("last-24-hours",)),
    "km": Metric(precision=1, ties="first", windows=("all", "last-3-days")),
    "best": Metric("max", notes=True, windows=("all", "month")),
    "fastest": Metric("min", descending=False, windows=("all", "week")),
    "level": Metric("last", windows=("all", "day")),
}
RANKINGS: Final = [
    (metric, window, on)
    for metric, rules in METRICS.items()
    for window in rules.windows
    for on in (NOW, *islice(CALENDAR.earlier(window, NOW), 2))
]
MEMBERS: Final = [f"m{number:02}" for number in range(40)] + ["images/1.jpg", "clan#7", "用户"]
LEAGUE: Final = "league-1"
TABLES: Final = {f"{name}Table" for name in ("Scores", "Receipts", "Rankings", "Profiles")}


@dataclass
class Life:
    """All that counts on the clubs."""

    deployment: Deployment
    rng: random.Random = field(default_factory=lambda: random.Random(3))
    boards: dict[str, BoardModel] = field(
        default_factory=lambda: {f"club-{number}": BoardModel(METRICS, CALENDAR) for number in (1, 2, 3)}
    )
    messages: dict[str, str] = field(default_factory=dict)
    number: int = 0

    def event(self, at: datetime, members: list[str]) -> dict[str, Any]:
        """An event of some members: on one board or two, or of one metric on a board each."""
        self.number += 1
        rng, said = self.rng, {"id": f"e{self.number}", "at": at.isoformat()}
        if len(members) > 1:
            parts = [
                {"board": rng.choice(list(self.boards)), "member": member, "metrics": self._metrics()}
                for member in members
            ]
            return said | {"updates": parts}
        one = {
            "board": rng.sample(list(self.boards), rng.choice((1, 1, 2))),
            "member": members[0],
            "metrics": self._metrics(),
        }
        note = {"note": {"of": self.number}} if "best" in one["metrics"] else {}
        return said | one | note

    def _metrics(self) -> dict[str, float]:
        rng = self.rng
        drawn = {
            "points": rng.randint(-3, 20),
            "steps": rng.randint(0, 9000),
            # With an amount of 0, version 0.3 puts a member behind its equals.
            "km": rng.randint(1, 40) / 2,
            "best": rng.randint(0, 60),
            "fastest": rng.randint(10, 90),
            "level": rng.randint(1, 30),
        }
        return {name: drawn[name] for name in rng.sample(sorted(drawn), rng.randint(1, 4))}

    def events(self, number: int, back: timedelta) -> list[dict[str, Any]]:
        """Events of up to so long ago. Some have two members."""
        rng = self.rng
        return [
            self.event(NOW - rng.random() * back, rng.sample(MEMBERS, rng.choice((1, 1, 1, 2)))) for _ in range(number)
        ]

    def post(self, events: Iterable[dict[str, Any]]) -> None:
        """Let events count."""
        events = list(events)
        for said in events:
            self.messages[said["id"]] = json.dumps(said)
            self.counts(said)
        count(self.deployment, [self.messages[said["id"]] for said in events])

    def counts(self, said: dict[str, Any], **how: bool) -> None:
        """Note that an event counts now: as one of history, or one that sets."""
        for part in said.get("updates", [said]):
            amounts = {name: round(amount * 10 ** METRICS[name].precision) for name, amount in part["metrics"].items()}
            for board in part["board"] if isinstance(part["board"], list) else [part["board"]]:
                at = datetime.fromisoformat(said["at"])
                self.boards[board].count(said["id"], part["member"], at, amounts, datetime.now(UTC), **how)

    def known(self, members: set[str]) -> list[str]:
        """All messages that name none of these members."""
        named = defaultdict(set)
        for one in (one for board in self.boards.values() for one in board.counted):
            named[one.id].add(one.member)
        return [message for id_, message in self.messages.items() if named[id_] and not named[id_] & members]

    def change(self, method: str, board: str, member: str, body: Any = None) -> None:
        path = f"/boards/{board}/member?id={quote(member, safe='')}"
        assert answer_of(self.deployment, method, path, body)[0] in {200, 204}
        if body is None:
            self.boards[board].remove(member)
        else:
            self.boards[board].put(member, **body)

    def sorted(self) -> dict[str, list[tuple[int, str, Decimal]]]:
        """Every list of the clubs, by a sort."""
        return {
            _path(board, *ranking): [
                (line.rank, line.member, Decimal(line.score).scaleb(-METRICS[ranking[0]].precision))
                for line in model.listing(*ranking).lines()
            ]
            for board, model in self.boards.items()
            for ranking in RANKINGS
        }

    def read(self) -> dict[str, Any]:
        """Every list of the clubs and of the league, as it is answered."""
        league = f"/boards/{LEAGUE}/points/season?period={SEASON}&limit=1000"
        found = {}
        clubs = (_path(board, *ranking) for board in self.boards for ranking in RANKINGS)
        for path in [*clubs, league, f"/boards/{LEAGUE}/points/all?limit=1000"]:
            notes = "&notes=true" if "/best/" in path else ""
            status, page = answer_of(self.deployment, "GET", f"{path}{notes}&profiles=true")
            assert (status, page.get("next")) == (200, None), page
            found[path] = {name: page[name] for name in ("total", "entries")}
        return found

    def is_right(self) -> None:
        """Compare every list with a sort, and audit all boards."""
        read = self.read()
        for path, expected in self.sorted().items():
            entries = read[path]["entries"]
            assert [(one["rank"], one["member"], Decimal(str(one["score"]))) for one in entries] == expected, path
            assert read[path]["total"] == len(expected), path
        audit = maintained(self.deployment, {"audit": {}})
        assert (audit["done"], audit["drift"]) == (True, 0), audit


def _path(board: str, metric: str, window: str, on: datetime) -> str:
    name = CALENDAR.named(window, on)
    named = "" if name is None else f"&period={quote(name)}"
    return f"/boards/{board}/{metric}/{window}?limit=1000{named}"


@dataclass(frozen=True)
class Place:
    """An embedded AWS, and both versions as `sam build` makes them."""

    folder: Path
    endpoint: str
    log: Path
    old: Path
    new: Path

    def deploy(self, template: Path, definitions: str) -> Deployment:
        """Create the stack, or update it."""
        define(template.parent, definitions)
        stack._deploy(template, self.endpoint, self.folder, None)
        return stack._describe(self.endpoint, self.log, boards_file(template.parent), lambda _: None)


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    sources = folder / "0.3.0"
    named = ["functions", "layers", "template.yaml", "samconfig.toml"]
    packed = subprocess.check_output(["git", "archive", OLD, *named], cwd=PROJECT)
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(sources, filter="data")
    command: list[str | Path] = [stack._sam(), "build", "--parameter-overrides", *stack.target()]
    run(command, env=stack._environment(folder), cwd=sources, log=folder / "sam-build-0.3.0.log", timeout_s=240)
    with emulator.running(LOCAL / "tools", folder) as (endpoint, log):
        old = sources / ".aws-sam" / "build" / "template.yaml"
        yield Place(folder, endpoint, log, old, stack._build(folder, print))


def tables(deployment: Deployment) -> dict[str, str]:
    found = deployment.client("cloudformation").describe_stack_resources(StackName="standings")["StackResources"]
    return {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found if one["LogicalResourceId"] in TABLES}


def lived(deployment: Deployment) -> Life:
    """The clubs have had events of all windows, with members that are hidden, removed, and back again."""
    life = Life(deployment)
    life.post(life.events(900, timedelta(days=12)) + life.events(150, timedelta(days=70)))
    life.change("PUT", "club-1", "m03", {"hidden": True})
    life.change("DELETE", "club-2", "m04")
    life.change("DELETE", "club-3", "m05")
    life.post([life.event(NOW, ["m05"]) | {"board": "club-3"}, *life.events(50, timedelta(hours=30))])
    old = {"id": "old", "board": "club-1", "member": "m02", "at": NOW.isoformat(), "metrics": {"points": 11}}
    best = {"id": "best", "board": "club-1", "member": "setter", "at": NOW.isoformat(), "metrics": {"best": 50}}
    life.post([old, best])
    profile = {"name": "Ada Lovelace", "country": "GB"}
    assert answer_of(deployment, "PUT", "/members?id=m01", profile)[0] == 200
    life.is_right()
    return life


def settled(deployment: Deployment, *, again: bool = False) -> Any:
    """Settle the league's season, which is final. Return what is said of its files."""
    task = {"board": LEAGUE, "window": "season", "period": SEASON}
    (told,) = maintained(deployment, {"settle": {**task, "again": True} if again else task})["rankings"]
    assert (told["settled"], told["why"]) == (True, None), told
    return told["summary"]


def said_of(deployment: Deployment, events: list[dict[str, Any]], query: str = "") -> list[Any]:
    """Post over HTTP. Return what became of each event."""
    answer = answer_of(deployment, "POST", f"/events{query}", events)
    assert answer[0] == 202, answer
    count(deployment)
    return [answer_of(deployment, "GET", f"/events?id={said['id']}")[1] for said in events]


def what_is_new(life: Life) -> None:
    """What 0.4 has, tried on what 0.3.0 counted."""
    corrections(life)
    history(life)
    index(life)
    life.change("PUT", "club-1", "m03", {"hidden": False})
    answer = maintained(life.deployment, {"merge": {"board": "club-1", "old": "m10", "new": "m11"}})
    assert (answer["merged"], answer["done"]) == (True, True), answer
    assert life.boards["club-1"].merge("m10", "m11")
    count(life.deployment)


def corrections(life: Life) -> None:
    """By its id an event of 0.3.0 cannot be corrected, as its receipt does not say where it counted."""
    (old,) = said_of(life.deployment, [{"id": "c-old", "retract": "old"}])
    assert (old["status"], "before version 0.4" in old["reason"]) == ("refused", True), old

    said = {"id": "new", "board": "club-1", "member": "m00", "at": NOW.isoformat(), "metrics": {"points": 500}}
    life.post([said])
    right = {**said, "member": "m01", "metrics": {"points": 3}}
    (new,) = said_of(life.deployment, [{**right, "id": "c-new", "correct": "new"}])
    assert new["status"] == "counted", new
    # The wrong member keeps its place, with what it has without the event.
    assert life.boards["club-1"].take_back("new", datetime.now(UTC)) == {"m00"}
    life.counts(right)

    best = {"id": "set", "board": "club-1", "member": "setter", "at": NOW.isoformat(), "metrics": {"best": 20}}
    (told,) = said_of(life.deployment, [{**best, "set": True}])
    assert told["status"] == "counted", told
    life.counts(best, sets=True)


def history(life: Life) -> None:
    """It counts in a closed month, and in no season that 0.3.0 settled."""
    _, closed, *_ = CALENDAR.earlier("month", NOW)
    at = CALENDAR.start(CALENDAR.bucket("month", closed)) + timedelta(days=14)
    said = {"id": "h1", "board": "club-2", "member": "m02", "at": at.isoformat(), "metrics": {"points": 40, "best": 90}}
    late = {"id": "h2", "board": LEAGUE, "member": "m02", "at": f"{TODAY - timedelta(days=1)}T12:00:00{-WEST:+03}:00"}
    season, ever = (f"/boards/{LEAGUE}/points/{window}/rank?member=m02" for window in ("season", "all"))
    before = [answer_of(life.deployment, "GET", path)[1]["score"] for path in (season, ever)]
    # The list notes what 0.3.0 settled, unless the schedule has.
    assert maintained(life.deployment, {"settlements": {"list": {"board": LEAGUE}}})["results"]
    told = said_of(life.deployment, [said, {**late, "metrics": {"points": 7}}], "?history=true")
    assert [one["status"] for one in told] == ["counted", "counted"], told
    assert [answer_of(life.deployment, "GET", path)[1]["score"] for path in (season, ever)] == [
        before[0],
        before[1] + 7,
    ]
    life.counts(said, history=True)


def index(life: Life) -> None:
    """The index of members' boards has what 0.3.0 wrote, so an erasure finds it there."""
    for member in ("m01", "m04", "m06"):
        status, answer = answer_of(life.deployment, "GET", f"/members/boards?id={member}")
        assert status == 200, answer
        expected = {name for name, board in life.boards.items() if member in board.members} | {LEAGUE}
        assert {one["board"] for one in answer["boards"]} == expected
    answer = {"done": False, "cursor": None, "wait": 0}
    erased: list[str] = []
    while not answer["done"]:
        clock.sleep(answer["wait"])
        cursor = {} if answer["cursor"] is None else {"cursor": answer["cursor"]}
        answer = maintained(life.deployment, {"erase": {"member": "m06", **cursor}})
        assert (answer["every_board"], answer["problems"]) == (False, [])
        erased += answer["boards"]
    assert set(erased) == {name for name, board in life.boards.items() if board.remove("m06")} | {LEAGUE}


def test_every_list_of_0_3_stays_and_goes_on(tmp_path: Path) -> None:
    skip_without_tools()
    with place(tmp_path) as here:
        deployment = here.deploy(here.old, boards("1 day") + CLUBS)
        life = lived(deployment)
        at = f"{TODAY - timedelta(days=1)}T12:00:00{-WEST:+03}:00"
        count(deployment, [event(LEAGUE, member, points, at=at) for points, member in enumerate(MEMBERS)])
        here.deploy(here.old, boards("2 minutes") + CLUBS)
        season = f"/boards/{LEAGUE}/points/season?period={SEASON}"
        until(lambda: answer_of(deployment, "GET", season)[1]["state"] == "final")
        sealed = settled(deployment)
        before, kept = life.read(), tables(deployment)

        life.deployment = deployment = here.deploy(here.new, boards("2 minutes") + CLUBS)
        assert (tables(deployment), set(kept)) == (kept, TABLES)
        assert life.read() == before
        assert settled(deployment) == sealed
        assert settled(deployment, again=True).items() >= sealed.items()

        # What counted stays known, and events go on.
        count(deployment, life.known({"m04", "m05"}))
        assert life.read() == before
        life.post(life.events(200, timedelta(days=12)) + life.events(50, timedelta(days=70)))
        what_is_new(life)
        life.is_right()

        # The older version reads what the newer one wrote, and goes on.
        before = life.read()
        life.deployment = deployment = here.deploy(here.old, boards("2 minutes") + CLUBS)
        assert (tables(deployment), life.read()) == (kept, before)
        life.post(life.events(100, timedelta(days=12)))
        life.is_right()
