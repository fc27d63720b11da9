"""How many requests one tab of the live page sends in a minute.

`make bench` (or `python -m benchmarks.measure.live_page.tabs`) counts those of the page as it is and writes
`benchmarks/results/tabs.json` and its table in `docs/reads.md`. The page is open and its first answers are there when
the minute begins.

What an older page sent is kept in the result. It was counted by the same command: `--before page.html`, with the file
that `git show c5daf50:functions/query/page.html` prints.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any, Final

from playwright.sync_api import Browser

from benchmarks.harness import population
from benchmarks.harness.results_file import REPOSITORY, Output, output
from benchmarks.measure.live_page.tab import Tab
from standings.http.live_page import document
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.browser.chromium import chromium
from tests.support.builders.stages.streaming import apply
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

PAGE: Final = "docs/reads.md"
COMMAND: Final = "make bench"
BEFORE: Final = "c5daf50"
SECONDS: Final = 60
MEMBERS: Final = 200
SELECTED: Final = population.member(7)
OWN: Final = population.member(8)
WINDOW: Final = "week"
_BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "week"] }'
_COMMITTED: Final = REPOSITORY / "benchmarks" / "results" / "tabs.json"
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
                "at": _text(at),
                "metrics": {"points": rng.randint(1, 500)},
            }
            for member in members
        ],
    )


def _text(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


def of_tabs(result: dict[str, Any]) -> Iterator[str]:
    """Return the table of requests in a minute."""
    yield f"| a tab on a weekly list, in a minute | before (`{result['commit']}`) | now | of these, pages |"
    yield "|---|---|---|---|"
    for before, now in zip(result["before"], result["now"], strict=True):
        yield f"| {now['situation']} | {before['requests']} | {now['requests']} | {now['kinds'].get('page', 0)} |"


TABLES: Final = {"tabs": of_tabs}


def main(arguments: list[str]) -> int:
    """Count, write the result and update the page."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--before", type=Path)
    options, others = parser.parse_known_args(arguments)
    out: Output = output(others, __doc__)
    os.environ["POWERTOOLS_METRICS_NAMESPACE"] = "Standings"
    with chromium() as browser:

        def counted(page: str) -> list[dict[str, Any]]:
            seconds = 5 if out.small else SECONDS
            rows = [count(browser, page, situation, seconds) for situation in SITUATIONS]
            print(*rows, sep="\n", flush=True)
            return rows

        if options.before:
            before = counted(options.before.read_text(encoding="utf-8"))
        else:
            before = json.loads(_COMMITTED.read_text(encoding="utf-8"))["before"]
        now = counted(document(REPOSITORY / "functions" / "query" / "page"))
    out.publish("tabs", {"commit": BEFORE, "seconds": SECONDS, "before": before, "now": now}, PAGE, COMMAND, TABLES)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
