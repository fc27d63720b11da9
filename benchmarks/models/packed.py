"""Two numbers in one double, as sorted sets need them: how many pairs of members it confuses, and how many ranks.

`python -m benchmarks packed` writes the table into `docs/how-to/move-from-redis.md`. A pair is torn apart if both
numbers are equal and the doubles differ, and merged if the numbers differ and the doubles are equal.
"""

import csv
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from operator import itemgetter
from random import Random
from typing import Any, Final, NamedTuple

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.population import finegrained, lognormal
from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.pages.tables import Table

PAGE: Final = "docs/how-to/move-from-redis.md"
MEMBERS: Final = 200_000
SMALL: Final = 2_000
MATCHES: Final = REPOSITORY / "examples" / "tie-breaks" / "matches.csv"
MONTH_S: Final = 30 * 86_400
_BEGAN_S: Final = 1_793_491_200
_LAST_S: Final = 10**10 - 1


class Packed(NamedTuple):
    """A member's numbers, the better ones greater, and the double that stands for them: `((4, 0, 2), 4.0002)`."""

    numbers: tuple[int, ...]
    double: float


def measure(out: Output) -> dict[str, Any]:
    members = SMALL if out.small else MEMBERS
    return {"packed": [{"board": name, "as": recipe, **confused(made(members))} for name, recipe, made in _BOARDS]}


def confused(boards: Iterable[list[Packed]]) -> dict[str, int]:
    """Return what doubles confuse on boards, added up: `{"members": 36, "equal_pairs": 1, "torn_apart": 1, …}`."""
    found: Counter[str] = Counter(members=0, equal_pairs=0, torn_apart=0, merged=0, wrong_ranks=0)
    for board in boards:
        both = _pairs(board)
        equal, one_double = _pairs(one.numbers for one in board), _pairs(one.double for one in board)
        found += Counter(members=len(board), equal_pairs=equal, torn_apart=equal - both, merged=one_double - both)
        right, packed = (_ranks(board, key) for key in (itemgetter(0), itemgetter(1)))
        found += Counter(wrong_ranks=sum(rank != other for rank, other in zip(right, packed, strict=True)))
    return {name: found[name] for name in ("members", "equal_pairs", "torn_apart", "merged", "wrong_ranks")}


def _pairs(values: Iterable[Hashable]) -> int:
    """How many pairs of equal values there are."""
    return sum(count * (count - 1) // 2 for count in Counter(values).values())


def _ranks(board: list[Packed], key: Callable[[Packed], Any]) -> list[int]:
    """The competition rank of each member by a key, the greatest first."""
    counts = Counter(map(key, board))
    ahead, rank = 0, {}
    for value in sorted(counts, reverse=True):
        rank[value] = ahead + 1
        ahead += counts[value]
    return [rank[key(one)] for one in board]


def groups(_: int) -> Iterator[list[Packed]]:
    """Yield the groups of the football tournaments: what each match adds goes into a double, as `ZINCRBY` does it."""
    tables: dict[str, dict[str, Packed]] = {}
    with MATCHES.open(encoding="utf-8", newline="") as rows:
        for match in csv.DictReader(rows):
            home, away = int(match["home_goals"]), int(match["away_goals"])
            for team, scored, against in ((match["home"], home, away), (match["away"], away, home)):
                points, difference = 3 if scored > against else int(scored == against), scored - against
                table = tables.setdefault(match["board"], {})
                (before, *others), double = table.get(team, Packed((0, 0, 0), 0.0))
                numbers = (before + points, others[0] + difference, others[1] + scored)
                table[team] = Packed(numbers, double + (points + difference / 100 + scored / 10_000))
    return iter([list(table.values()) for table in tables.values()])


def contest(members: int) -> Iterator[list[Packed]]:
    """Yield a contest of 12 problems: each solved one adds 1 minus its penalty in minutes ÷ 10^6."""
    rng = Random(1)
    board = []
    for _ in range(members):
        penalties = [rng.randrange(5, 300) + 20 * rng.choice((0, 0, 0, 1, 2)) for _ in range(rng.randrange(13))]
        double = 0.0
        for penalty in penalties:
            double += 1 - penalty / 1_000_000
        board.append(Packed((len(penalties), -sum(penalties)), double))
    yield board


def times(draw: Callable[[Random, int], dict[str, int]], per_second: int) -> Callable[[int], Iterator[list[Packed]]]:
    """Make boards of points and the time at which they were reached, earlier ahead, as Redis's own page packs them."""

    def board(members: int) -> Iterator[list[Packed]]:
        rng = Random(1)
        points = list(draw(rng, members).values())
        left = [_LAST_S * per_second - rng.randrange(MONTH_S * per_second) - _BEGAN_S * per_second for _ in points]
        scale = (_LAST_S + 1) * per_second
        yield [Packed((one, time), float(one) * scale + time) for one, time in zip(points, left, strict=True)]

    return board


_BOARDS: Final = (
    ("groups of two World Cups", "points + difference ÷ 100 + goals ÷ 10⁴, added match by match", groups),
    ("a contest", "solved − penalty ÷ 10⁶, added problem by problem", contest),
    ("a game, points around 400", "points × 10¹⁰ + seconds left", times(lognormal, 1)),
    ("a game, points around 4,000,000", "points × 10¹³ + milliseconds left", times(finegrained, 1_000)),
)
TABLE: Final = Table(
    "board | members | packed as | equal pairs | of them torn apart | other pairs merged | wrong ranks",
    "{board} | {members:,} | {as} | {equal_pairs:,} | {torn_apart:,} | {merged:,} | {wrong_ranks:,}",
    "packed",
)


BENCHMARK: Final = Benchmark("packed", measure, {PAGE: {"packed": TABLE}})
