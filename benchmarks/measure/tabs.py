"""How many requests one tab of the live page sends in a minute.

`python -m benchmarks tabs` counts those of the page as it is and writes `benchmarks/results/tabs.json` and its table in
`docs/performance-tables.md`. The page is open and its first answers are there when the minute begins. What an older
page sent is kept in the result; this program counted it at commit 164d40d.
"""

import json
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from random import Random
from typing import Any, Final

from playwright.sync_api import Browser

from benchmarks.harness import population
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.pages.tables import Table
from standings.domain.windows import instant
from standings.http import document
from standings.runtime.logs import metrics
from tests.support.aws.stack import ManualClock, Stack, apply, running
from tests.support.browser.chromium import chromium, unavailable
from tests.support.browser.tab import Tab
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

SECONDS: Final = 60
MEMBERS: Final = 200
SELECTED: Final = population.member(7)
OWN: Final = population.member(8)
WINDOW: Final = "week"
_BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "week"] }'
_MINE: Final = f"localStorage.setItem('standings-me', {json.dumps(OWN)});"
_UNFOCUSED: Final = "document.hasFocus = () => false;"
_HIDE: Final = (
    "Object.defineProperty(document, 'hidden', {get: () => true});document.dispatchEvent(new Event('visibilitychange'))"
)


@dataclass(frozen=True)
class Situation:
    """What a tab shows, and what happens meanwhile. On a busy board one member scores each second."""

    name: str
    busy: bool
    member: str = ""
    script: str = ""
    hidden: bool = False


SITUATIONS: Final = (
    Situation("nothing happens", busy=False),
    Situation("nothing happens, a member is selected", busy=False, member=SELECTED),
    Situation("each second a score", busy=True),
    Situation("each second a score, a member is selected", busy=True, member=SELECTED),
    Situation("the same, and another one is “me”", busy=True, member=SELECTED, script=_MINE),
    Situation("the same in a window without the focus", busy=True, member=SELECTED, script=_MINE + _UNFOCUSED),
    Situation("the same in a hidden tab", busy=True, member=SELECTED, script=_MINE, hidden=True),
)


def count(browser: Browser, page: str, situation: Situation, seconds: int) -> dict[str, Any]:
    """Return how many requests of each kind a tab sends in so many seconds."""
    engine = Engine()
    create_tables(engine)
    rng = Random(1)
    # The functions print their metrics.
    with redirect_stdout(StringIO()), running(engine, ManualClock(population.NOW), _BOARDS) as stack:
        for week in (1, 0):
            _score(stack, [population.member(number) for number in range(MEMBERS)], rng, f"{week}", week)
        tab = Tab(browser, stack, page, situation.script)
        tab.open(f"board={population.BOARD}&window={WINDOW}&member={situation.member}")
        # What is read once when a view opens, also a second after it.
        tab.pass_seconds(1)
        if situation.hidden:
            tab.page.evaluate(_HIDE)
        tab.asked.clear()

        def meanwhile(second: float) -> None:
            if situation.busy and second == int(second):
                _score(stack, [population.member(rng.randrange(MEMBERS))], rng, f"s{second}", 0)

        tab.pass_seconds(seconds, meanwhile)
        tab.close()
    return {"situation": situation.name, "requests": tab.asked.total(), "kinds": dict(sorted(tab.asked.items()))}


def _score(stack: Stack, members: list[str], rng: Random, name: str, weeks_ago: int) -> None:
    at = stack.clock() - weeks_ago * 7 * 86_400_000
    apply(
        stack,
        [
            {
                "id": f"{name}-{member}",
                "board": population.BOARD,
                "member": member,
                "at": instant(at),
                "metrics": {"points": rng.randint(1, 500)},
            }
            for member in members
        ],
    )


def measure(out: Output) -> dict[str, Any]:
    """Return the whole result; what the older page sent is that of the committed one."""
    metrics.namespace = "Standings"  # Powertools read the environment when it was imported
    committed = Output().result("tabs")
    page = document(REPOSITORY / "functions" / "query" / "page")
    with chromium() as browser:
        now = [count(browser, page, situation, 5 if out.small else SECONDS) for situation in SITUATIONS]
    print(*now, sep="\n", flush=True)
    return {"commit": committed["commit"], "seconds": SECONDS, "before": committed["before"], "now": now}


ALIKE: Final = ("nothing happens", "each second a score")
"""Situations that the table leaves out: a selected member adds nothing to them."""
TABS: Final = Table(
    "a tab on a weekly list, in a minute | requests | of these, pages",
    "{situation} | {requests} | {pages}",
    lambda result: (
        {**row, "pages": row["kinds"].get("page", 0)} for row in result["now"] if row["situation"] not in ALIKE
    ),
)
BENCHMARK: Final = Benchmark("tabs", measure, {"docs/performance-tables.md": {"tabs": TABS}}, unavailable=unavailable)
