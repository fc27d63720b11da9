"""How far off ranks are while events flow: of those who count on a schedule, and ours."""

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
"""Whose ranks are right at every moment."""
KINDS: Final = ("just moved", "others")
"""Who is asked for: members with an event in that second, and members drawn from all."""

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
        self._ours = pipeline.Pipeline(population.BOARDS, scores, range(len(scores)))
        self._rank = ours(self._ours.client)
        names = (WAITING, OURS, *(rival.name for rival in self._rivals))
        self.errors: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in KINDS} for name in names}
        self.most = dict.fromkeys(names, 0)

    def second(self, number: int) -> None:
        """One second's events, and now and then ranks."""
        if number % self._setting["refresh_every"] == 0:
            for rival in self._rivals:
                rival.refresh()
        added = self._add()
        asked = number % self._setting["asked_every"] == self._setting["asked_every"] - 1
        right = self._right(list(added)) if asked else {}
        self._note(WAITING, self._rank, right)
        self._ours.write(added)
        self._ours.project(self._setting["events_per_second"])
        self._note(OURS, self._rank, right)
        for rival in self._rivals:
            self._note(rival.name, rival.rank, right)

    def _add(self) -> dict[str, int]:
        """Points for some members, each once and never beyond the range; ours is not told yet."""
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
        """The true ranks of those who are asked for, half of each kind."""
        half = self._setting["asked"] // 2
        truth = Truth(self._scores)
        asked = (moved[:half], self._rng.sample(truth.order, half))
        return {kind: {name: truth.rank(name) for name in names} for kind, names in zip(KINDS, asked, strict=True)}

    def _note(self, method: str, rank: Rank, right: Mapping[str, Mapping[str, int]]) -> None:
        for kind, expected in right.items():
            off = [abs(rank(name) - known) for name, known in expected.items()]
            self.errors[method][kind].append(round(mean(off), 2))
            self.most[method] = max(self.most[method], *off)


def measure(*, small: bool) -> Row:
    """Errors of ranks over some minutes; AssertionError for one who claims to be right at every moment and is not.

    Schedules run every minute. Ours is asked twice: when a second's events were posted and none of them was counted,
    and when they were.
    """
    setting = SMALL if small else SETTING
    board = _Board(setting)
    for number in range(setting["seconds"]):
        board.second(number)
    for name in ALWAYS:
        if board.most[name]:
            raise AssertionError(f"{name} was off by {board.most[name]}")
    return {**setting, "mean_errors": board.errors, "error_most": board.most}


def table(result: Row) -> Iterator[str]:
    """The errors of a result, by method."""
    found = result["staleness"]
    yield (
        f"{found['events_per_second']} events a second on {found['members']:,} members (uniform scores, each event "
        f"another member and 1 to {found['most_points']:,} points), schedules every {found['refresh_every']} seconds; "
        f"every {found['asked_every']} seconds {found['asked']} members are asked for, half of whom just moved."
    )
    yield ""
    yield "| method | mean error of a rank: of members that just moved | of any members | most |"
    yield "|---" * 4 + "|"
    for name, errors in found["mean_errors"].items():
        means = " | ".join(f"{mean(errors[kind]):,.1f}" for kind in KINDS)
        yield f"| {name} | {means} | {found['error_most'][name]:,} |"


def lines(result: Row) -> dict[str, list[tuple[float, float]]]:
    """The errors of any members over time; who is right at every moment has no line."""
    found = result["staleness"]
    every = found["asked_every"]
    return {
        name: [(every * (number + 1), error) for number, error in enumerate(errors[KINDS[1]])]
        for name, errors in found["mean_errors"].items()
        if any(errors[KINDS[1]])
    }
