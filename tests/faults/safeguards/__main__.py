"""`make safeguards`: find the schedules that come out wrong without each safeguard, and write the page's tables."""

import argparse
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import Final

import tests.conftest  # noqa: F401 - sets the environment variables of the product
from benchmarks.harness.results_file import REPOSITORY, SIZES, Output
from tests.faults.world import Options, run

from . import SAFEGUARDS
from . import __doc__ as description

NAME: Final = "safeguards"
PAGE: Final = "docs/safeguards.md"
COMMAND: Final = "make safeguards"
MOST: Final = {"full": 30, "small": 1}
"""Give up on a safeguard after this many schedules. A small run tries one safeguard of ten."""
LEAST: Final = 20
"""Try at least this many schedules, even if one has noticed already."""


@dataclass
class Found:
    """How many schedules, from seed 0 on, ran without a safeguard, how many came out wrong, and the first of those."""

    tried: int = 0
    noticed: int = 0
    first: int | None = None


def read(out: Output) -> dict[str, Found]:
    return {name: Found(**each) for name, each in out.result(NAME).items()}


def write(findings: Mapping[str, Found], out: Output) -> None:
    out.keep(NAME, {name: asdict(findings[name]) for name in SAFEGUARDS if name in findings})
    out.table(PAGE, "noticed", COMMAND, noticed(findings))


def noticed(findings: Mapping[str, Found]) -> Iterator[str]:
    """Yield the table of the page. What it says in the first two columns stays."""
    lines = (REPOSITORY / PAGE).read_text("utf-8").splitlines()
    without = dict(line.removeprefix("| ").split(" | ")[:2] for line in lines if line.startswith("| "))
    yield "| safeguard | without it | first schedule that fails | schedules that fail | written for it | replaced |"
    yield "|---|---|---|---|---|---|"
    for name in sorted(SAFEGUARDS, key=[*without].index):
        each, found = SAFEGUARDS[name], findings.get(name, Found())
        first = "–" if found.first is None else found.first + 1
        schedule = f"`{each.written.__name__}`" if each.written else ""
        replaced = ", ".join(f"`{change.where}`" for change in each.changes)
        counts = f"{first} | {f'{found.noticed} of {found.tried}' if found.tried else '–'}"
        yield f"| {name} | {without[name]} | {counts} | {schedule} | {replaced} |"


def searched(name: str, most: int) -> Found:
    """Run schedules without a safeguard, given by name, until enough of them have noticed."""
    found = Found()
    with SAFEGUARDS[name].removed():
        while found.tried < (most if found.first is None else min(LEAST, most)):
            if run(found.tried, Options(**SAFEGUARDS[name].options)).differences:
                found.noticed += 1
                found.first = found.tried if found.first is None else found.first
            found.tried += 1
    return found


def main() -> None:
    """Search for schedules that notice each safeguard, or each one named."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=description)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--most", type=int, help="give up on a safeguard after this many schedules (30)")
    parser.add_argument("--size", choices=SIZES, default=SIZES[0], help="small writes to .local/bench only")
    options = parser.parse_args()
    out = Output(small=options.size == "small")
    names = options.names or [name for name, one in SAFEGUARDS.items() if one.searched][:: 10 if out.small else 1]
    findings = read(out) if options.names else {}
    with ProcessPoolExecutor() as pool:
        searches = {pool.submit(searched, name, options.most or MOST[options.size]): name for name in names}
        for search in as_completed(searches):
            findings[searches[search]] = search.result()
            print(searches[search], search.result(), flush=True)
    write(findings, out)


if __name__ == "__main__":
    main()
