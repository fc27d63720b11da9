"""Places members in rankings according to their current items: all members in a rebuild, one member in a replay."""

from collections.abc import Iterable
from functools import partial
from itertools import groupby

from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.members.rolling_sum import place
from standings.ports.errors import StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import Rankings
from standings.project.commit_moves import Outcome, RunParallel, commit_order, move_in_ranking, one_by_one
from standings.runtime.retry import Clock


def placings(image: Image, rankings: Iterable[Ranking]) -> list[Move]:
    """The moves that bring a member to its place in each ranking, or out of it, wherever it is counted now."""
    return [
        Move(ranking, image.member, None, place(image, ranking), image.version, image.written_at_ms)
        for ranking in rankings
    ]


class Backfill:
    """Moves members in many rankings at once, each ranking in transactions of its own."""

    def __init__(self, rankings: Rankings, pacing: Clock, run_parallel: RunParallel = one_by_one) -> None:
        self._rankings = rankings
        self._pacing = pacing
        self._run_parallel = run_parallel

    def place(self, moves: list[Move], deadline: float) -> None:
        """Commit all moves. Raise StoreUnavailableError if the deadline comes first, StoreRefusedError if refused."""
        for outcome in self.outcomes(moves, deadline):
            if outcome.failure is not None:
                raise StoreUnavailableError(outcome.failure)
            for move, reason in outcome.refused:
                raise StoreRefusedError(f"{move.member!r} cannot be placed in {move.ranking.key}: {reason}")

    def outcomes(self, moves: list[Move], deadline: float) -> Iterable[Outcome]:
        """Commit moves until the deadline, in seconds of the monotonic clock. Return an outcome for each ranking."""
        moves.sort(key=commit_order)
        return self._run_parallel(
            [
                partial(move_in_ranking, self._rankings, list(part), self._pacing.backoff(deadline), lambda: False)
                for _, part in groupby(moves, key=lambda move: move.ranking)
            ]
        )
