"""How reads grow with the members of a board; every answer is compared with the sorted list."""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, Final

from benchmarks.harness import population, shapes
from benchmarks.harness.pipeline import still_clock
from benchmarks.harness.questions import Board, Question, Questions
from benchmarks.harness.shapes import SHAPES, Sorted
from benchmarks.harness.timing import median_seconds
from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.domain.errors import RequestError
from standings.read import member_ranks, pages
from standings.read.reader import Limits, Reader, Request

RANK: Final = "a rank"
TOP: Final = "top 100"
AROUND: Final = "around me"
DEEP: Final = "100 at the middle"
ON: Final = "100 after them, by cursor"
READS: Final = (RANK, TOP, AROUND, DEEP, ON)
SAMPLE: Final = 40
RADIUS: Final = 5
PAGE_SIZE: Final = 100
Row = dict[str, Any]


def reads(shape: str, count: int) -> Iterator[Row]:
    """Measure the reads of a board of a shape; its tiers count all members, its list has the entries that are read."""
    scores = SHAPES[shape](count)
    truth = Sorted(scores)
    board = Board(population.boards())
    middle = count // 2
    members = sorted({number * (count - 1) // (SAMPLE - 1) for number in range(SAMPLE)} | {middle})
    first = truth.ahead(scores[middle - 1])
    is_deep = middle - 1 - first <= Limits().equals
    listed: set[int] = set(range(min(count, PAGE_SIZE + 2)))
    for number in members:
        listed |= set(range(max(0, number - RADIUS - 2), min(count, number + RADIUS + 3)))
    listed |= set(range(first if is_deep else middle - 1, min(count, middle + 2 * PAGE_SIZE + RADIUS + 3)))
    shapes.place(board.client, board.ranking("all"), scores, listed)
    board.read_record()
    ask = Questions(board, truth, Random(1))
    names = [population.member(number) for number in members]
    name = population.member(middle)
    questions: dict[str, list[Question]] = {
        RANK: [ask.rank(one) for one in names],
        TOP: [ask.page(1, PAGE_SIZE)],
        AROUND: [ask.around(one, RADIUS) for one in names],
        DEEP: [ask.at(middle, PAGE_SIZE)] if is_deep else [],
        ON: [_next_page(board, ask, name, middle + 1)],
    }
    if not is_deep:
        _check_refused(board, middle)
    times = _times(board, name, middle, is_deep=is_deep)
    for read, several in questions.items():
        result: Row = {"shape": shape, "members": count, "read": read}
        if several:
            row = board.row(read, several)
            result |= {key: row[key] for key in ("asked", "read_units_mean", "read_units_most", "round_trips_most")}
            result["time_per_get_item"] = times[read]
        print(result, flush=True)
        yield result


def _next_page(board: Board, ask: Questions, name: str, position: int) -> Question:
    """Read the page after a member and its neighbours."""
    around = pages.page_around(board.about("all"), member=name, radius=RADIUS)
    return ask.page(position + RADIUS + 1, PAGE_SIZE, around["next"])


def _check_refused(board: Board, position: int) -> None:
    """Check that a position deep in a group of equals is refused."""
    try:
        pages.page_at(board.about("all"), rank=position, limit=PAGE_SIZE)
    except RequestError:
        return
    raise AssertionError(f"expected a refusal of position {position}, got a page")


def _times(board: Board, name: str, middle: int, *, is_deep: bool) -> dict[str, float]:
    """Return the time of each read, in GetItems of the same engine."""
    clock = still_clock()
    rankings = DynamoRankingsReader(board.client, "Rankings", "Scores", clock)  # type: ignore[arg-type]
    reader = Reader(board.boards, rankings, clock)
    about = Request(reader).question(board.name, "points", "all")
    after = pages.page_around(about, member=name, radius=RADIUS)["next"]
    calls: dict[str, Callable[[], Any]] = {
        RANK: lambda: member_ranks.rank(about, member=name),
        TOP: lambda: pages.page(about, limit=PAGE_SIZE, cursor=None),
        AROUND: lambda: pages.page_around(about, member=name, radius=RADIUS),
        ON: lambda: pages.page(about, limit=PAGE_SIZE, cursor=after),
    }
    if is_deep:
        calls[DEEP] = lambda: pages.page_at(about, rank=middle, limit=PAGE_SIZE)
    key = {"pk": {"S": f"{board.ranking('all').key}#{name}"}}
    item = median_seconds(lambda: board.client.get_item(TableName="Rankings", Key=key), 200)
    return {read: round(median_seconds(call, 30) / item, 1) for read, call in calls.items()}
