"""The errors of ranks while events flow: of methods that count on a schedule, and of ours."""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from statistics import mean
from typing import Any, Final

from benchmarks.harness import pipeline, population, shapes
from benchmarks.harness.truth import Truth
from benchmarks.rivals.board import OURS, RIVALS, Rival, ours, place
from tests.support.dynamodb.engine import Engine

SETTING: Final = {
    "members": 20_000,
    "events_per_second": 100,
    "most_points": 20_000,
    "seconds": 150,
    "refresh_every": 60,
    "asked_every": 5,
    "asked": 60,
}
SMALL: Final = {**SETTING, "members": 2_000, "seconds": 65, "asked": 20}
WAITING: Final = f"{OURS}, its newest second not yet counted"
ALWAYS: Final = (OURS, "count everyone above", "a count tree, a transaction each")
"""The methods whose ranks are always right."""
KINDS: Final = ("just moved", "others")
"""Whose ranks are compared: members with an event in that second, and members drawn from all."""

Row = dict[str, Any]
Rank = Callable[[str], int]


class _Board:
    """One stream of events for every method, second by second."""

    def __init__(self, setting: Mapping[str, int]) -> None:
        self._setting = setting
        self._rng = Random(1)
        scores = shapes.uniform(setting["members"])
        self._scores = {population.member(number): score for number, score in enumerate(scores)}
        client = Engine()
        place(client, scores, shapes.HIGHEST)
        self._rivals: list[Rival] = [kind(client, shapes.HIGHEST) for kind in RIVALS]
        self._ours = pipeline.ShapedPipeline(population.BOARDS, scores, range(len(scores)))
        self._rank = ours(self._ours.client)
        names = (WAITING, OURS, *(rival.name for rival in self._rivals))
        self.errors: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in KINDS} for name in names}
        self.most = dict.fromkeys(names, 0)

    def second(self, number: int) -> None:
        """Apply one second's events; compare ranks in some seconds."""
        if number % self._setting["refresh_every"] == 0:
            for rival in self._rivals:
                rival.refresh()
        added = self._add()
        compare = number % self._setting["asked_every"] == self._setting["asked_every"] - 1
        right = self._right(list(added)) if compare else {}
        self._note(WAITING, self._rank, right)
        self._ours.add(added)
        self._ours.project(self._setting["events_per_second"])
        self._note(OURS, self._rank, right)
        for rival in self._rivals:
            self._note(rival.name, rival.rank, right)

    def _add(self) -> dict[str, int]:
        """Add points to some members, each once and within the range; our own pipeline gets them later."""
        names = self._rng.sample(list(self._scores), self._setting["events_per_second"])
        most = self._setting["most_points"]
        added = {name: min(self._rng.randint(1, most), shapes.HIGHEST - self._scores[name]) for name in names}
        for name, points in added.items():
            old = self._scores[name]
            self._scores[name] = old + points
            for rival in self._rivals:
                rival.change(name, old, old + points)
        return added

    def _right(self, moved: list[str]) -> dict[str, dict[str, int]]:
        """Return the true ranks of the members to compare, half of each kind."""
        half = self._setting["asked"] // 2
        truth = Truth(self._scores)
        groups = (moved[:half], self._rng.sample(truth.order, half))
        return {kind: {name: truth.rank(name) for name in names} for kind, names in zip(KINDS, groups, strict=True)}

    def _note(self, method: str, rank: Rank, right: Mapping[str, Mapping[str, int]]) -> None:
        for kind, expected in right.items():
            off = [abs(rank(name) - true_rank) for name, true_rank in expected.items()]
            self.errors[method][kind].append(round(mean(off), 2))
            self.most[method] = max(self.most[method], *off)


def measure(*, small: bool) -> Row:
    """Measure the errors of ranks over some minutes; AssertionError if a method of `ALWAYS` is ever wrong.

    Schedules run every minute. Our ranks are compared twice: before a second's events are counted, and after.
    """
    setting = SMALL if small else SETTING
    board = _Board(setting)
    for number in range(setting["seconds"]):
        board.second(number)
    for name in ALWAYS:
        if board.most[name]:
            raise AssertionError(f"{name}: expected no wrong ranks, got an error of {board.most[name]}")
    return {**setting, "mean_errors": board.errors, "error_most": board.most}


def table(result: Row) -> Iterator[str]:
    """Return the table of errors by method."""
    staleness = result["staleness"]
    events, members, points = (staleness[name] for name in ("events_per_second", "members", "most_points"))
    yield (
        f"{events} events per second on {members:,} members with uniform scores; each event gives another member 1 to "
        f"{points:,} points. Schedules run every {staleness['refresh_every']} seconds. Every "
        f"{staleness['asked_every']} seconds the ranks of {staleness['asked']} members are compared; half of them have "
        f"just moved."
    )
    yield ""
    yield "| method | mean error of a rank: members that just moved | any members | largest error |"
    yield "|---" * 4 + "|"
    for name, errors in staleness["mean_errors"].items():
        means = " | ".join(f"{mean(errors[kind]):,.1f}" for kind in KINDS)
        yield f"| {name} | {means} | {staleness['error_most'][name]:,} |"


def lines(result: Row) -> dict[str, list[tuple[float, float]]]:
    """Return the mean errors of any members over time; a method that is always right has no line."""
    staleness = result["staleness"]
    every = staleness["asked_every"]
    return {
        name: [(every * (number + 1), error) for number, error in enumerate(errors[KINDS[1]])]
        for name, errors in staleness["mean_errors"].items()
        if any(errors[KINDS[1]])
    }
