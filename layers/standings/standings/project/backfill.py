"""Places members as their items are now: what a rebuild does for everyone, and a replay for whom a record names."""

from collections.abc import Iterable
from functools import partial
from itertools import groupby

from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.members.rolling_sum import place
from standings.ports.errors import StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import Rankings
from standings.project.commit_moves import Job, Outcome, RunParallel, commit_order, move_in_ranking, one_by_one
from standings.runtime.retry import Clock


def placings(image: Image, rankings: Iterable[Ranking]) -> list[Move]:
    """The moves that bring a member to its place in each ranking, also to none.

    None is believed to be counted: where a row says otherwise, its move heals by that.
    """
    return [
        Move(ranking, image.member, None, place(image, ranking), image.version, image.written_at_ms)
        for ranking in rankings
    ]


class Backfill:
    """Moves members in many rankings, each in transactions of its own, side by side."""

    def __init__(self, rankings: Rankings, pacing: Clock, run_parallel: RunParallel = one_by_one) -> None:
        self._rankings = rankings
        self._pacing = pacing
        self._run_parallel = run_parallel

    def place(self, moves: list[Move], deadline: float) -> None:
        """Do moves; StoreUnavailableError where that is not possible by the deadline, StoreRefusedError for good."""
        for outcome in self.outcomes(moves, deadline):
            if outcome.failure is not None:
                raise StoreUnavailableError(outcome.failure)
            for move, reason in outcome.refused:
                raise StoreRefusedError(f"{move.member!r} cannot be placed in {move.ranking.key}: {reason}")

    def outcomes(self, moves: list[Move], deadline: float) -> Iterable[Outcome]:
        """Do moves as far as possible by the deadline: what became of them, ranking by ranking."""
        moves.sort(key=commit_order)
        jobs: list[Job] = [
            partial(move_in_ranking, self._rankings, list(part), self._pacing.backoff(deadline), lambda: False)
            for _, part in groupby(moves, key=lambda move: move.ranking)
        ]
        return self._run_parallel(jobs)
