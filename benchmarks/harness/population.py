"""Loads a board with many members in one step, with items from the projector's own builders."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any, Final

from standings.aws.dynamodb.tables import COUNTERS, node_key
from standings.domain.boards import Boards, Family, Ranking
from standings.domain.boards_toml import parse_boards
from standings.domain.members import Move
from standings.domain.scoring import Place, SortValues, sort_value
from standings.domain.tiers import ROOT, Path, path
from standings.domain.windows import SECOND
from standings.rankings import EXPIRY_MARGIN
from standings.rankings.calendar.storing import entry_action
from tests.support.dynamodb.engine import Engine

NOW: Final = 1_795_256_100_000
BOARD: Final = "berlin-2026"
BOUND: Final = 2**28
Tree = Mapping[Path, Mapping[int, int]]
"""The counters of a ranking's nodes, by path and digit."""
BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }'


def boards() -> Boards:
    """Return boards that rank `all` alone."""
    return parse_boards(BOARDS)


def sharded(shards: int) -> str:
    """Return the same definition with so many shards."""
    return BOARDS.replace('"*"]\n', f'"*"]\nshards = {shards}\n')


def family(definition: str = BOARDS) -> Family:
    """Return the family of the benchmarks' board in a `boards.toml` of this text."""
    of_board = parse_boards(definition).family(BOARD)
    if of_board is None:
        raise LookupError(f"expected a family for {BOARD}, got none in {definition!r}")
    return of_board


def member(number: int) -> str:
    return f"member-{number:013}"


def lognormal(rng: Random, count: int) -> dict[str, int]:
    """Draw log-normal scores with a median of 400; many members share a score."""
    return {member(number): max(1, round(rng.lognormvariate(5.99, 1.2))) for number in range(count)}


def finegrained(rng: Random, count: int) -> dict[str, int]:
    """Draw log-normal scores with a median of 4,000,000, all below 2^28; few members share a score."""

    def score() -> int:
        while (drawn := max(1, round(rng.lognormvariate(15.2, 1.2)))) >= BOUND:
            pass
        return drawn

    return {member(number): score() for number in range(count)}


def ranking_of(board_family: Family) -> Ranking:
    """Return the ranking over `all` of the benchmarks' board."""
    metric = board_family.metrics["points"]
    return Ranking(BOARD, metric, metric.windows[0], 0)


def tree_of(scores: Iterable[int]) -> Tree:
    """The tree that counts these scores, the highest first."""
    return tree_of_places((sort_value(score, descending=True),) for score in scores)


def tree_of_places(places: Iterable[SortValues]) -> Tree:
    """The tree that counts these places."""
    nodes: defaultdict[Path, Counter[int]] = defaultdict(Counter)
    for values, count in Counter(places).items():
        digits = path(values)
        for length, digit in enumerate(digits):
            nodes[digits[:length]][digit] += count
    return nodes


def place_members(
    client: Engine,
    ranking: Ranking,
    scores: Mapping[str, int],
    *,
    entries: Collection[str] | None = None,
    lanes: int = 1,
) -> None:
    """Load the tiers that count all members, and the entries of all members, or of those in `entries` only.

    The members are divided equally among the lanes.
    """
    names, until = scores if entries is None else entries, ranking.readable_until
    places = ((name, Place((sort_value(scores[name], descending=True),))) for name in names)
    moves = (Move(ranking, name, None, place, 1, NOW) for name, place in places)
    client.load("Rankings", (entry(ranking, move, until) for move in moves))
    for lane in range(lanes):
        place_tree(client, ranking, tree_of(islice(scores.values(), lane, None, lanes)), lane, lanes)


def place_tree(client: Engine, ranking: Ranking, tree: Tree, lane: int = 0, lanes: int = 1) -> None:
    """Load the nodes of one lane. The root of the first lane names the shards, and the lanes, if there are several."""
    numbers = {"t": NOW, "v": NOW} | expiry_of(ranking.readable_until)
    more: dict[str, Any] = {"n": {"NS": [str(ranking.metric.shards)]}} if ranking.metric.shards > 1 else {}
    more |= {"l": {"N": str(lanes)}} if lanes > 1 else {}
    client.load("Rankings", nodes(ranking, tree, numbers, lane, of_root=more if lane == 0 else {}))


def nodes(
    ranking: Ranking, tree: Tree, numbers: Mapping[str, int], lane: int = 0, *, of_root: Mapping[str, Any] = {}
) -> Iterator[dict[str, Any]]:
    """Yield the items of a tree's nodes, each with its counters and these numbers."""
    shared = {name: {"N": str(number)} for name, number in numbers.items()}
    for node, counters in tree.items():
        counted = {COUNTERS[digit]: {"N": str(count)} for digit, count in counters.items()}
        named = of_root if node == ROOT else {}
        yield {"pk": {"S": node_key(ranking.key, node, lane)}, **shared, **named, **counted}


def expiry_of(readable_until: int | None) -> dict[str, int]:
    """Return the attribute with which TTL removes an item, in seconds; none if it stays: `{"e": 1795860900}`."""
    return {} if readable_until is None else {"e": (readable_until + EXPIRY_MARGIN) // SECOND}


def entry(ranking: Ranking, move: Move, readable_until: int | None) -> dict[str, Any]:
    """Return the item of a member's entry as the projector writes it."""
    item: dict[str, Any] = entry_action("Rankings", ranking, move, expiry_of(readable_until).get("e"))["Put"]["Item"]
    return item


def sample(rng: Random, names: Iterable[str], count: int) -> list[str]:
    return rng.sample(sorted(names), count)
