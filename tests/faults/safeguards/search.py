"""Which schedules notice that a safeguard is missing, and the tables that say so."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from tests.faults.world import run, uncollected

from . import SAFEGUARDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.harness.results_file import Output

    from .replacing import Safeguard

NAME: Final = "safeguards"
PAGE: Final = "docs/safeguards.md"
COMMAND: Final = "make safeguards"
MOST: Final = {"full": 30, "small": 1}
"""Schedules that are tried until one notices."""
LEAST: Final = 20
"""Schedules that are tried at least."""


@dataclass
class Found:
    """How many schedules, from seed 0 on, were tried without a safeguard, and the first of how many to notice."""

    tried: int = 0
    noticed: int = 0
    first: int | None = None

    def search(self, safeguard: Safeguard, most: int) -> None:
        """Go on until enough is known."""
        with safeguard.removed(), uncollected():
            while self.tried < (most if self.first is None else min(LEAST, most)):
                if run(self.tried).differences:
                    self.noticed += 1
                    self.first = self.tried if self.first is None else self.first
                self.tried += 1


def read(out: Output) -> dict[str, Found]:
    """What was found, by the name of the safeguard."""
    return {name: Found(**each) for name, each in out.result(NAME).items()}


def write(found: Mapping[str, Found], out: Output) -> None:
    """Keep what was found, and put it in the page."""
    out.keep(NAME, {each.name: asdict(found[each.name]) for each in SAFEGUARDS if each.name in found})
    out.table(PAGE, "noticed", COMMAND, noticed(found))
    out.table(PAGE, "unneeded", COMMAND, unneeded(found))


def noticed(found: Mapping[str, Found]) -> Iterator[str]:
    """The table of what is noticed, and by what."""
    yield "| safeguard | without it | noticed by schedule | schedules that notice it | written for it | where |"
    yield "|---|---|---|---|---|---|"
    for each in SAFEGUARDS:
        if not each.unneeded:
            one = found.get(each.name, Found())
            first = "–" if one.first is None else one.first + 1
            schedule = f"`{each.written}`" if each.written else ""
            ways = _ways(each)
            yield (f"| {each.name} | {each.without} | {first} | {one.noticed} of {one.tried} | {schedule} | {ways} |")


def unneeded(found: Mapping[str, Found]) -> Iterator[str]:
    """The table of what nothing notices, and why."""
    yield "| rule | why all is right without it | schedules that were right | where |"
    yield "|---|---|---|---|"
    for each in SAFEGUARDS:
        if each.unneeded:
            ways = _ways(each)
            one = found.get(each.name, Found())
            yield f"| {each.name} | {each.unneeded} | {one.tried - one.noticed} of {one.tried} | {ways} |"


def _ways(safeguard: Safeguard) -> str:
    return ", ".join(f"`{change.where}`" for change in safeguard.changes)


def searched(name: str, most: int) -> Found:
    """What is found of a safeguard."""
    found = Found()
    found.search(next(each for each in SAFEGUARDS if each.name == name), most)
    return found
