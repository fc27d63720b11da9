"""What reads of rolling windows cost, at noon and in the first second of a period.

`make reads` (or `python -m benchmarks.measure.rolling_reads`) writes `benchmarks/results/rolling_reads.json`, a
table of `docs/reads.md`. It compares every answer with a sorted list.
"""

import gc
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Final

from benchmarks.harness.questions import Answer, Question
from benchmarks.harness.results_file import output
from benchmarks.measure.units import MONTH, SHIPPED, Windows
from benchmarks.members.histories import ONE_DAY, TWO_OF_SEVEN
from benchmarks.members.rolling_board import ENDED, NOON, SAMPLE, RollingBoard
from standings.domain.windows.calendar import DAY
from standings.read import member_ranks
from standings.read.member_ranks import MAX_MEMBERS
from standings.read.reader import Request

PAGE: Final = "docs/reads.md"
COMMAND: Final = "make reads"
SIZES: Final = (10_000, 1_000_000)
LARGEST: Final = 10_000_000
"""The members of one board more, which takes gigabytes and many minutes."""
SMALL: Final = (1_000,)
MIDNIGHT: Final = NOON + DAY // 2 + 500
"""In the first second of the next day. Nothing has been written since noon."""
SCENES: Final = ((SHIPPED, ONE_DAY), (SHIPPED, TWO_OF_SEVEN), (MONTH, TWO_OF_SEVEN))
KINDS: Final = {f"`{windows.names[-1]}`, {life}": (windows, life) for windows, life in SCENES}
"""The boards, by what a table calls them."""
LARGE: Final = list(KINDS)[1]
"""The board that is also measured with the most members."""
WHEN: Final = ("at noon", "in the first second")


def rolling(count: int, kind: str) -> Iterator[Answer]:
    """Measure reads of a rolling window on a board with so many members."""
    windows, life = KINDS[kind]
    of = RollingBoard(windows.definition, windows.names[-1], windows.days, life, count)
    noon, first_second = WHEN
    of.at(NOON)
    yield from _current(of, 0, noon)
    yield from _at_noon(of, windows)
    of.at(MIDNIGHT)
    yield from _current(of, 1, first_second)


def boards(*, small: bool) -> list[tuple[int, str]]:
    """Return the boards to measure: their members and their kinds."""
    if small:
        return list(product(SMALL, KINDS))
    return [*product(SIZES, KINDS), (LARGEST, LARGE)]


def measure(wanted: Iterable[tuple[int, str]]) -> Answer:
    """Return the whole result."""
    rows: list[Answer] = []
    for count, kind in wanted:
        for row in rolling(count, kind):
            print(f"{count:>10,} {kind}: {row['read']}: {row['read_units_most']} units", flush=True)
            rows.append({"members": count, "board": kind, **row})
        gc.collect()  # A board takes gigabytes
    return {"reads": rows, "answers_checked": sum(row["asked"] for row in rows)}


def table(result: Answer) -> Iterator[str]:
    """Return the table of all reads, by size and board."""
    columns = list(dict.fromkeys((row["board"], row["members"]) for row in result["reads"]))
    yield f"| read | {' | '.join(f'{kind}, {members:,}' for kind, members in columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    costs = {(row["read"], row["board"], row["members"]): _cost(row) for row in result["reads"]}
    names = dict.fromkeys(row["read"] for row in result["reads"])
    for read in sorted(names, key=lambda name: name.endswith(WHEN[-1])):
        yield f"| {read} | {' | '.join(costs.get((read, *column), '') for column in columns)} |"


def _cost(row: Answer) -> str:
    entries = f", {row['entries_most']:,}" if row["entries_most"] else ""
    return f"{row['read_units_most']:g} ({row['round_trips_most']}{entries})"


TABLES: Final = {"rolling": table}


def main(arguments: list[str]) -> int:
    """Measure, write the result and update the page."""
    out = output(arguments, __doc__)
    result = measure(boards(small=out.small))
    out.publish("rolling_reads", result, PAGE, COMMAND, TABLES)
    return 0


def _current(of: RollingBoard, offset: int, when: str) -> Iterator[Answer]:
    """Measure reads of the current period."""
    ask, truth = of.ask(offset), of.truths[offset]
    single, group = of.members[:SAMPLE], of.members[SAMPLE:]
    row = of.board.row
    yield row(f"rank of a member, {when}", map(ask.rank, single))
    yield row(f"top 100, {when}", [ask.page(1)])
    yield row(f"100 at the middle, {when}", [ask.at(truth.total // 2)])
    yield row(f"around a member, 5 on each side, {when}", map(ask.around, single))
    yield row(f"ranks of a group of {MAX_MEMBERS}, {when}", [ask.group(group)])
    yield row(f"rank of a member with the previous rank, {when}", (_previous(of, offset, name) for name in single))


def _at_noon(of: RollingBoard, windows: Windows) -> Iterator[Answer]:
    """Measure a card, and reads of an ended period."""
    if windows == SHIPPED:
        yield of.board.row(
            "a member's scores and ranks in 3 windows", (_card(of, name) for name in of.members[:SAMPLE])
        )
    ended = of.ask(ENDED, named=True)
    truth = of.truths[ENDED]
    if truth.total:
        ranked = [name for name in of.members[:SAMPLE] if name in truth.scores]
        yield of.board.row("rank of a member, ended period", map(ended.rank, ranked))
        yield of.board.row("top 100, ended period", [ended.page(1)])
        yield of.board.row("100 at the middle, ended period", [ended.at(truth.total // 2)])


def _previous(of: RollingBoard, offset: int, name: str) -> Question:
    now, before = of.truths[offset], of.truths[offset - 1]
    expected = (now.rank(name), before.rank(name) if name in before.scores else None)
    return (
        lambda: member_ranks.rank(of.board.about(of.window), member=name, previous=True),
        lambda answer: (answer["rank"], answer["previous_rank"]) == expected,
    )


def _card(of: RollingBoard, name: str) -> Question:
    truth = of.truths[0]
    expected = (truth.scores[name], truth.rank(name), truth.total)

    def is_right(answer: Answer) -> bool:
        (one,) = (one for one in answer["metrics"][0]["windows"] if one["window"] == of.window)
        return (one["score"], one["rank"], one["total"]) == expected

    return lambda: member_ranks.card(Request(of.board.reader), of.board.name, name, "competition"), is_right


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
