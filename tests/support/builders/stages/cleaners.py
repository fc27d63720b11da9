"""Projectors' processes that count in lanes of tiers and take empty nodes out of them, one engine for all."""

import random
from dataclasses import replace
from typing import Any

from standings.aws.dynamodb.tables import DIGITS
from standings.domain.boards import Ranking
from standings.domain.members import Move
from standings.domain.scoring import Place
from standings.domain.tiers import Path
from standings.rankings.calendar.pruning import Pruning
from standings.rankings.calendar.storing import CalendarStorage
from standings.rankings.commits import Outcome, PruneResult
from standings.rankings.reading import RankingReads
from tests.support.builders.checks import nodes
from tests.support.builders.points import NOW, family
from tests.support.faults import faulty_client


def ranking(window: str = "all") -> Ranking:
    metric = family("b").metrics["points"]
    found = metric.window(window)
    assert found is not None
    return Ranking("b", metric, found, metric.timetable.current(found, NOW))


RANKING = ranking()


class Worker:
    """A projector's process: its lanes, its luck and its view of what went wrong."""

    def __init__(self, client: Any, seed: int = 1, chance: float = 1.0) -> None:
        self.client = faulty_client.Faulty(client)
        self.time = faulty_client.Time(NOW)
        self.tools = replace(self.time.clock(), random=random.Random(seed).random)
        self.looks: list[PruneResult] = []
        faulty: Any = self.client
        self.pruning = Pruning(faulty, "Rankings", self.tools, chance, worth=0)
        self.rankings = CalendarStorage(faulty, "Rankings", self.tools, pruning=self.pruning)

    def move(self, *moves: Move) -> Outcome:
        outcome = self.rankings.commit(moves, self.tools.backoff(1e9), lambda: False)
        assert outcome.failure is None
        self.looks += outcome.prunes
        return outcome


def reading(engine: Any, time: faulty_client.Time | None = None) -> RankingReads:
    """A reader with a clock of its own."""
    return RankingReads(engine, "Rankings", (time or faulty_client.Time(NOW)).clock())


def moved(member: str, old: int | None, new: int | None, version: int) -> Move:
    before, after = (None if sort_value is None else Place((sort_value,)) for sort_value in (old, new))
    return Move(RANKING, member, before, after, version, NOW)


def tier_conflict(_: faulty_client.Faulty, request: dict[str, Any]) -> Any:
    """Another transaction has a tier just now."""
    raise faulty_client.cancelled(
        ["TransactionConflict" if "Update" in action else "None" for action in request["TransactItems"]]
    )


def out_of_reach(engine: Any) -> set[Path]:
    """Nodes that no counter leads to."""
    found = list(nodes(engine))
    reached = {(*way, digit) for _, way, _, item in found for name in item if (digit := DIGITS.get(name)) is not None}
    return {way for _, way, _, _ in found if way and way not in reached}
