"""What every kind of read costs, at ten thousand members and at a million: read units, round trips, entries read.

`make reads` (or `python -m benchmarks.measure.reads`) writes `benchmarks/results/reads.json` and tables of
`docs/reads.md`. It compares every answer with a sorted list.
"""

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from benchmarks.harness import population
from benchmarks.harness.pipeline import event
from benchmarks.harness.questions import SAMPLE, Answer, Board, Draw, Question, Questions, placed
from benchmarks.harness.results_file import output
from benchmarks.harness.truth import Truth
from benchmarks.measure.other_reads import EQUALS, directory, equals
from standings.domain.boards.boards_toml import parse_boards
from standings.read import member_ranks
from standings.read.member_ranks import MAX_MEMBERS
from standings.read.reader import Request

PAGE: Final = "docs/reads.md"
COMMAND: Final = "make reads"
SIZES: Final = (10_000, 1_000_000)
SMALL: Final = (2_500, 10_000)
GROUPS: Final = 5
SHARDS: Final = 10
DENSE: Final = (1_000, 10_000, 100_000)
FEW: Final = "few equals"
MANY: Final = "many equals"
DEPTHS: Final = ("first", "at_1000", "at_middle")
POPULATIONS: Final[dict[str, Draw]] = {FEW: population.finegrained, MANY: population.lognormal}


def usual(board: Board, truth: Truth) -> Iterator[Answer]:
    """Measure the reads of a ranking."""
    ask = Questions(board, truth, Random(1))
    middle = truth.total // 2
    yield board.row("top 100", [ask.page(1)])
    yield board.row("top 1,000", [ask.page(1, limit=1_000)])
    yield board.row("next page of 100", [ask.turned(first, back=False) for first in (1, 1_000, middle)])
    yield board.row("page of 100 back", [ask.turned(first, back=True) for first in (101, 1_000, middle)])
    yield board.row("100 at position 1,000", [ask.at(1_000)])
    yield board.row("100 at the middle", [ask.at(middle)])
    yield board.row("around a member, 5 on each side", map(ask.around, ask.sample()))
    yield board.row("rank of a member", map(ask.rank, ask.sample()))
    yield board.row("rank of a member, ordinal", (ask.rank(member, "ordinal") for member in ask.sample()))
    yield board.row("rank of a score", (ask.score(truth.scores[member] + 1) for member in ask.sample()))
    for name, method in (("", "competition"), (", ordinal", "ordinal")):
        groups = (ask.group(ask.sample(MAX_MEMBERS), method) for _ in range(GROUPS))
        yield board.row(f"ranks of a group of {MAX_MEMBERS}{name}", groups)
    yield board.row("score at a percentile", map(ask.percentile, (1, 10, 50, 90, 99)))
    yield board.row("distribution, 50 buckets", [ask.distribution(50)])
    for count in DENSE:
        member = truth.with_distinct_ahead(count)
        if member is not None:
            yield board.row(f"rank of a member, dense, {count:,} different scores ahead", [ask.rank(member, "dense")])


def deep(board: Board, truth: Truth) -> Answer:
    """Measure a page of 100 at the top, at position 1,000 and at the middle."""
    ask = Questions(board, truth, Random(1))
    pages = zip(DEPTHS, (ask.page(1), ask.at(1_000), ask.at(truth.total // 2)), strict=True)
    costs: Answer = {"members": truth.total}
    for name, page in pages:
        row = board.row(name, [page])
        costs |= {f"{name}_{unit}": row[f"{unit}_most"] for unit in ("read_units", "entries", "round_trips")}
    return costs


def sharded(board: Board, truth: Truth) -> Iterator[Answer]:
    """Measure the reads of a board whose index has several shards."""
    ask = Questions(board, truth, Random(1))
    yield board.row("top 100", [ask.page(1)])
    yield board.row("top 1,000", [ask.page(1, limit=1_000)])
    yield board.row("next page of 100", [ask.turned(first, back=False) for first in (1, 1_000, truth.total // 2)])
    yield board.row("100 at the middle", [ask.at(truth.total // 2)])
    yield board.row("around a member, 5 on each side", map(ask.around, ask.sample()))
    yield board.row("rank of a member", map(ask.rank, ask.sample()))


def periods(count: int) -> Iterator[Answer]:
    """Measure reads of members on a board that ranks over `all` and `day`."""
    board = Board(parse_boards(population.BOARDS.replace('["all"]', '["all", "day"]')))
    rng = Random(count)
    scores = population.finegrained(rng, count)
    earlier = dict(zip(scores, rng.sample(list(scores.values()), count), strict=True))
    now, before = Truth(scores), Truth(earlier)
    members = rng.sample(now.order, SAMPLE)
    _load(board, members, scores, earlier)

    def rank(member: str) -> Question:
        expected = (now.rank(member), before.rank(member))
        return (
            lambda: member_ranks.rank(board.about("day"), member=member, previous=True),
            lambda answer: (answer["rank"], answer["previous_rank"]) == expected,
        )

    def card(member: str) -> Question:
        def is_right(answer: Answer) -> bool:
            windows = answer["metrics"][0]["windows"]
            return len(windows) == 2 and all(one["score"] == scores[member] for one in windows)

        return lambda: member_ranks.card(Request(board.reader), board.name, member, None), is_right

    group = members[:MAX_MEMBERS]
    ranks = [(now.rank(member), before.rank(member)) for member in group]
    yield board.row("rank of a member with the previous rank", map(rank, members))
    yield board.row(
        f"ranks of a group of {MAX_MEMBERS} with previous ranks",
        [
            (
                lambda: member_ranks.group(board.about("day"), members=group, previous=True),
                lambda answer: [(one["rank"], one["previous_rank"]) for one in answer["entries"]] == ranks,
            )
        ],
    )
    yield board.row("a member's scores", map(card, members))


def _load(board: Board, members: Sequence[str], scores: Mapping[str, int], earlier: Mapping[str, int]) -> None:
    """Load the current periods and the previous day; these members get entries and items."""
    for window in ("all", "day"):
        population.place_members(board.client, board.ranking(window), scores, entries=set(members))
    population.place_members(board.client, board.ranking("day", 1), earlier, entries=set(members))
    board.pipeline.write(event(name, board.name, name, {"points": scores[name]}) for name in members)
    board.read_record()


def measure(sizes: Sequence[int] = SIZES) -> Answer:
    """Return the whole result."""
    result: Answer = {"reads": [], "deep": []}

    def keep(kind: str, members: int, rows: Iterable[Answer]) -> None:
        for row in rows:
            print(f"{members:>9,} {kind:<12} {row['read']}: {row['read_units_most']} units", flush=True)
            result["reads"].append({"members": members, "board": kind, **row})

    for count in sizes:
        for kind, draw in POPULATIONS.items():
            board, truth = placed(count, draw)
            keep(kind, count, usual(board, truth))
            result["deep"].append({"board": kind, **deep(board, truth)})
            del board, truth
        board, truth = placed(count, POPULATIONS[MANY], SHARDS)
        keep(f"{SHARDS} shards", count, sharded(board, truth))
        del board, truth
        keep("`all` and `day`", count, periods(count))
    keep("equals", 2 * EQUALS, equals())
    keep("boards", 0, directory())
    return {**result, "answers_checked": sum(row["asked"] for row in result["reads"]), "answers_wrong": 0}


def by_population(result: Answer) -> Iterator[str]:
    """Return the table of the reads of a ranking, by size and population."""
    columns = list(dict.fromkeys((row["board"], row["members"]) for row in _of(result, POPULATIONS)))
    yield f"| read | {' | '.join(f'{kind}, {members:,}' for kind, members in columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    costs = {(row["read"], row["board"], row["members"]): _cost(row) for row in _of(result, POPULATIONS)}
    for read in dict.fromkeys(read for read, _, _ in costs):
        yield f"| {read} | {' | '.join(costs.get((read, *column), '') for column in columns)} |"


def by_board(result: Answer) -> Iterator[str]:
    """Return the table of the reads of other boards."""
    kinds = {row["board"]: None for row in result["reads"] if row["board"] not in POPULATIONS}
    yield "| board | read | members | units (round trips) | entries |"
    yield "|---|---|---|---|---|"
    for row in _of(result, kinds):
        yield f"| {row['board']} | {row['read']} | {row['members']:,} | {_cost(row)} | {row['entries_most']:,} |"


def at_depths(result: Answer) -> Iterator[str]:
    """Return the table of pages of 100 by depth."""
    yield "| board | members | first page | at position 1,000 | at the middle |"
    yield "|---|---|---|---|---|"
    for row in result["deep"]:
        cells = (f"{row[f'{at}_read_units']:g} ({row[f'{at}_entries']:,} entries)" for at in DEPTHS)
        yield f"| {row['board']} | {row['members']:,} | {' | '.join(cells)} |"


def _of(result: Answer, kinds: Iterable[str]) -> list[Answer]:
    return [row for kind in kinds for row in result["reads"] if row["board"] == kind]


def _cost(row: Answer) -> str:
    return f"{row['read_units_most']:,g} ({row['round_trips_most']})"


TABLES: Final = {"reads": by_population, "others": by_board, "depths": at_depths}


def main(arguments: list[str]) -> int:
    """Measure, write the result and update its page."""
    out = output(arguments, __doc__)
    gc.disable()  # it would search a million rows for cycles again and again
    result = measure(SMALL if out.small else SIZES)
    out.publish("reads", result, PAGE, COMMAND, TABLES)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
