"""Moves members in many rankings at once: each ranking, and each rolling window, in transactions of its own."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby

from standings.domain.members.moves import Move
from standings.domain.rolling.shifts import Shift
from standings.ports.errors import StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import Rankings
from standings.project.commit_moves import move_in_ranking
from standings.project.outcome import Outcome, RunParallel, one_by_one
from standings.project.shift_members import shift_in_window
from standings.runtime.retry import Backoff, Clock


def commit_order(move: Move | Shift) -> tuple[str, int]:
    """The sort key of moves. Neighbours in a ranking share tiers, so they should share transactions."""
    if isinstance(move, Shift):
        return move.ranking.key, 0
    target = move.new or move.old
    return move.ranking.key, target.sort_value if target is not None else 0


def jobs(
    rankings: Rankings,
    moves: Sequence[Move | Shift],
    new_backoff: Callable[[], Backoff],
    stopped: Callable[[], bool] = lambda: False,
) -> list[Callable[[], Outcome]]:
    """A job for each ranking and each rolling window. Jobs may run in parallel."""
    ordered = sorted(moves, key=commit_order)
    return [
        partial(_job, rankings, list(part), new_backoff, stopped)
        for _, part in groupby(ordered, key=lambda move: move.ranking)
    ]


def _job(
    rankings: Rankings,
    part: Sequence[Move | Shift],
    new_backoff: Callable[[], Backoff],
    stopped: Callable[[], bool],
) -> Outcome:
    shifts = [move for move in part if isinstance(move, Shift)]
    if shifts:
        return shift_in_window(rankings.rolling, shifts, new_backoff(), stopped)
    moves = [move for move in part if isinstance(move, Move)]
    return move_in_ranking(rankings, moves, new_backoff(), stopped)


class Backfill:
    """Places members where their items say, whatever brought them where they are."""

    def __init__(self, rankings: Rankings, clock: Clock, run_parallel: RunParallel = one_by_one) -> None:
        self._rankings = rankings
        self._clock = clock
        self._run_parallel = run_parallel

    def place(self, moves: Sequence[Move | Shift], deadline: float) -> None:
        """Commit all moves. Raise StoreUnavailableError if the deadline comes first, StoreRefusedError if refused."""
        for outcome in self.outcomes(moves, deadline):
            if outcome.failure is not None:
                raise StoreUnavailableError(outcome.failure)
            for move, reason in outcome.refused:
                raise StoreRefusedError(f"{move.member!r} cannot be placed in {move.ranking.key}: {reason}")

    def outcomes(self, moves: Sequence[Move | Shift], deadline: float) -> Iterable[Outcome]:
        """Commit moves until the deadline, in seconds of the monotonic clock. Return an outcome for each ranking."""
        return self._run_parallel(jobs(self._rankings, moves, lambda: self._clock.backoff(deadline)))
