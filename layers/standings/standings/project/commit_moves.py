"""Moves members in one ranking: what stands in a transaction's way is believed, waited for, or put aside."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from standings.domain.members.moves import Move
from standings.domain.tiers.tier_path import ROOT, Path, path, prefixes
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS, MoveConflict, RankingRow, Rankings
from standings.runtime.retry import Backoff

MAX_MOVES: Final = 5_000
"""Moves that are begun before others are done: a few seconds' worth of transactions."""

AT_ONCE: Final = 3
"""Tries of moves on rows that turn out otherwise, before it is a matter of waiting as well."""


@dataclass(slots=True)
class Outcome:
    """What became of the moves of one ranking. `failure` says why some of them are left undone."""

    done: list[Move] = field(default_factory=list)
    moves: int = 0
    stale_moves: int = 0
    gaps: int = 0
    conflicts: int = 0
    refused: list[tuple[Move, str]] = field(default_factory=list)
    failure: str | None = None


Job = Callable[[], Outcome]
RunParallel = Callable[[Sequence[Job]], Iterable[Outcome]]


def one_by_one(jobs: Sequence[Job]) -> Iterable[Outcome]:
    """Do jobs in their order."""
    return (job() for job in jobs)


def commit_order(move: Move) -> tuple[str, int]:
    """What moves are sorted by: neighbours share tiers, so side by side they share transactions."""
    place = move.new or move.old
    return move.ranking.key, place.sort_value if place is not None else 0


def move_in_ranking(
    rankings: Rankings, found: Sequence[Move], backoff: Backoff, stopped: Callable[[], bool]
) -> Outcome:
    """Do the moves of one ranking, entries with the tiers that count them, until it is done, or stopped, or too late.

    This may run beside others, and touches nothing of theirs.
    """
    outcome = Outcome()
    work = deque(cut(found))
    hindered = 0
    while work and outcome.failure is None:
        if stopped() or backoff.expired:
            outcome.failure = "the function's time is over"
            break
        chunk = work.popleft()
        try:
            obstacles = rankings.commit(chunk[0].ranking, chunk)
        except StoreUnavailableError as error:
            work.appendleft(chunk)
            if not backoff.wait(error.wait):
                outcome.failure = str(error)
            continue
        except StoreRefusedError as error:
            work.extendleft(reversed(_apart(chunk, str(error), outcome)))
            continue
        if not obstacles:
            hindered = 0
            outcome.moves += len(chunk)
            outcome.done += chunk
            continue
        busy = any(obstacle.reason is CancelReason.BUSY for obstacle in obstacles)
        outcome.conflicts += busy
        left = _resolve(chunk, obstacles, outcome)
        work.extendleft(reversed(list(cut(left))))
        # What a row said settles its move at the next try, unless others move it all the while.
        hindered = hindered + 1 if len(left) == len(chunk) else 0
        if left and (busy or hindered > AT_ONCE) and not backoff.wait():
            outcome.failure = obstacles[0].message
    return outcome


def _resolve(chunk: Sequence[Move], obstacles: Sequence[MoveConflict], outcome: Outcome) -> list[Move]:
    """What is left of a chunk, knowing the rows that were found."""
    left = {id(move): move for move in chunk}
    for obstacle in obstacles:
        if obstacle.reason is CancelReason.BUSY or obstacle.position is None:
            continue
        move = chunk[obstacle.position]
        found = obstacle.found
        if obstacle.reason is CancelReason.INVALID:
            del left[id(move)]
            outcome.refused.append((move, obstacle.message))
        elif found is not None and found.version >= move.version:
            del left[id(move)]
            outcome.stale_moves += 1
            outcome.done.append(move)
        else:
            outcome.gaps += 1
            _believe(move, found)
    return list(left.values())


def _believe(move: Move, row: RankingRow | None) -> None:
    """Have a move begin where the row says that its member was counted."""
    move.old = row.place if row is not None else None


def _apart(chunk: Sequence[Move], reason: str, outcome: Outcome) -> list[list[Move]]:
    """The store says no to the whole and not which part: halve it until the part stands alone."""
    if len(chunk) == 1:
        outcome.refused.append((chunk[0], reason))
        return []
    middle = len(chunk) // 2
    return [list(chunk[:middle]), list(chunk[middle:])]


def cut(found: Sequence[Move]) -> Iterator[list[Move]]:
    """Moves in chunks of one ranking, each with its tiers within one transaction."""
    chunk: list[Move] = []
    tiers: set[Path] = set()
    for move in found:
        mine = _nodes(move)
        # In another lane than the first, that one's root comes on top while it does not name the shards.
        most = MAX_ACTIONS - (move.ranking.metric.shards > 1)
        if chunk and (chunk[0].ranking != move.ranking or len(chunk) + 1 + len(tiers | mine) > most):
            yield chunk
            chunk, tiers = [], set()
        chunk.append(move)
        tiers |= mine
    if chunk:
        yield chunk


def _nodes(move: Move) -> set[Path]:
    """The nodes that a move may write: of a ranking with several shards always the root, which names them."""
    nodes: set[Path] = {ROOT} if move.ranking.metric.shards > 1 else set()
    old, new = (place.sort_value if place is not None else None for place in (move.old, move.new))
    if old != new:
        nodes.update(node for number in (old, new) if number is not None for node in prefixes(path(number)))
    return nodes
