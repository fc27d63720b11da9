"""Commits moves. If a transaction is cancelled: corrects the moves, waits, or refuses a move."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from standings.domain.boards.definitions import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.members.rolling_sum import place
from standings.domain.tiers.tier_path import ROOT, Path, path, prefixes
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS, MoveConflict, RankingRow, Rankings
from standings.project.outcome import AT_ONCE, Outcome
from standings.runtime.retry import Backoff

MAX_MOVES: Final = 5_000  # The most moves that are started before others are done: a few seconds of transactions


def move_in_ranking(
    rankings: Rankings, moves: Sequence[Move], backoff: Backoff, stopped: Callable[[], bool]
) -> Outcome:
    """Commit the moves of one ranking until stopped or too late. Jobs for other rankings may run in parallel."""
    outcome = Outcome()
    chunks = deque(cut(moves))
    fruitless = 0
    while chunks and outcome.failure is None:
        if stopped() or backoff.expired:
            outcome.failure = "the function ran out of time"
            break
        chunk = chunks.popleft()
        try:
            conflicts = rankings.commit(chunk[0].ranking, chunk)
        except StoreUnavailableError as error:
            chunks.appendleft(chunk)
            if not backoff.wait(error.wait):
                outcome.failure = str(error)
            continue
        except StoreRefusedError as error:
            if middle := len(chunk) // 2:
                chunks.extendleft((chunk[middle:], chunk[:middle]))
            else:
                outcome.refused.append((chunk[0], str(error)))
            continue
        if not conflicts:
            fruitless = 0
            outcome.moves += len(chunk)
            outcome.done += chunk
            continue
        busy = any(conflict.reason is CancelReason.BUSY for conflict in conflicts)
        outcome.conflicts += busy
        left = _resolve(chunk, conflicts, outcome)
        chunks.extendleft(reversed(list(cut(left))))
        # A corrected move succeeds at the next try, unless others keep moving its row.
        fruitless = fruitless + 1 if len(left) == len(chunk) else 0
        if left and (busy or fruitless > AT_ONCE) and not backoff.wait():
            outcome.failure = conflicts[0].message
    return outcome


def _resolve(chunk: Sequence[Move], conflicts: Sequence[MoveConflict], outcome: Outcome) -> list[Move]:
    """Refuse, drop or correct the moves that conflicted. Return the moves to try again."""
    left = dict(enumerate(chunk))
    for conflict in conflicts:
        if conflict.reason is CancelReason.BUSY or conflict.position is None:
            continue
        move, row = chunk[conflict.position], conflict.found
        if conflict.reason is CancelReason.INVALID:
            del left[conflict.position]
            outcome.refused.append((move, conflict.message))
        elif row is not None and row.version >= move.version:
            del left[conflict.position]
            outcome.stale_moves += 1
            outcome.done.append(move)
        else:
            outcome.gaps += 1
            _believe(move, row)
    return list(left.values())


def _believe(move: Move, row: RankingRow | None) -> None:
    move.old = row.place if row is not None else None


def cut(moves: Iterable[Move]) -> Iterator[list[Move]]:
    """Cut moves into chunks of one ranking, each small enough for one transaction with its tiers."""
    chunk: list[Move] = []
    tiers: set[Path] = set()
    for move in moves:
        nodes = _nodes(move)
        # If the ranking has shards and the moves count in another lane, the first lane's root may be written too.
        most = MAX_ACTIONS - (move.ranking.metric.shards > 1)
        if chunk and (chunk[0].ranking != move.ranking or len(chunk) + 1 + len(tiers | nodes) > most):
            yield chunk
            chunk, tiers = [], set()
        chunk.append(move)
        tiers |= nodes
    if chunk:
        yield chunk


def _nodes(move: Move) -> set[Path]:
    """The tree nodes that a move may write. With several shards the root, which names them, is always one."""
    nodes: set[Path] = {ROOT} if move.ranking.metric.shards > 1 else set()
    values = {each.sort_value if each is not None else None for each in (move.old, move.new)}
    if len(values) > 1:
        nodes.update(node for value in values if value is not None for node in prefixes(path(value)))
    return nodes


def placings(image: Image, rankings: Iterable[Ranking]) -> list[Move]:
    """The moves that bring a member to its place in each ranking, or out of it, wherever it is counted now.

    Rolling windows have shifts instead (`domain.rolling.shifts`).
    """
    return [
        Move(ranking, image.member, None, place(image, ranking), image.version, image.written_at_ms)
        for ranking in rankings
        if not ranking.window.rolling
    ]
