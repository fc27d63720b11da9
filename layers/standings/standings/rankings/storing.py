"""Writes rankings: commits changes of members' places, and purges generations that nobody reads or writes any more."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Final, NamedTuple

from standings.aws.dynamodb import tables
from standings.aws.dynamodb.tables import DynamoDBClient, Item
from standings.domain.boards import Boards, Family, Ranking, generation_code, window_code
from standings.domain.members import Change, Image, Move, moves, place
from standings.domain.tiers import ROOT, Path, is_leaf
from standings.domain.windows import DAY, Timetable, Window, window_of
from standings.rankings import EXPIRY_MARGIN
from standings.rankings.calendar.pruning import Pruning
from standings.rankings.calendar.storing import MAX_LANES, CalendarStorage
from standings.rankings.commits import Outcome, RunAll, one_after_another
from standings.rankings.rolling import steps as rolling
from standings.rankings.rolling.steps import Shift
from standings.rankings.rolling.storing import RollingStorage, fold_deltas
from standings.runtime.clock import Clock
from standings.stores import StoreRefusedError, StoreUnavailableError

MAX_PLACEMENTS: Final = 5_000  # The most changes that are started before others are done: a few seconds of transactions

Placement = Move | Shift
"""A member's change of place in one ranking, or in all periods of a rolling window. `ranking` and `member` name it."""


class Rankings:
    """The rankings of a stack, as projectors and rebuilds write them. Rankings share no transaction.

    A commit may be repeated, cut again or replayed, and ends the same: a row only accepts a newer version, and counters
    move from where the row says.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        table: str,
        clock: Clock,
        *,
        run_parallel: RunAll = one_after_another,
        run_all: RunAll = one_after_another,
        pruning: Pruning | None = None,
        most_lanes: int = MAX_LANES,
    ) -> None:
        self.calendar = CalendarStorage(client, table, clock, most_lanes, pruning)
        self.rolling = RollingStorage(client, table, clock, run_all, most_lanes)
        self._clock = clock
        self._run_parallel = run_parallel

    def commit(
        self, placements: Iterable[Placement], deadline: float, *, stop_at_failure: bool = False
    ) -> list[Outcome]:
        """Commit changes until the deadline, in seconds of the monotonic clock. Returns an outcome for each ranking.

        With `stop_at_failure` no ranking goes on once another one has failed.
        """
        failed: list[Outcome] = []

        def commit_one(part: Sequence[Placement]) -> Outcome:
            backoff, stopped = self._clock.backoff(deadline), partial(bool, failed)
            # The changes of one ranking are all of one kind.
            if shifts := [one for one in part if isinstance(one, Shift)]:
                outcome = self.rolling.commit(shifts, backoff, stopped)
            else:
                outcome = self.calendar.commit([one for one in part if isinstance(one, Move)], backoff, stopped)
            failed.extend([outcome] if stop_at_failure and outcome.failure is not None else [])
            return outcome

        ordered = sorted(placements, key=attrgetter("ranking.key"))
        parts = [list(part) for _, part in groupby(ordered, key=attrgetter("ranking"))]
        return list(self._run_parallel([partial(commit_one, part) for part in parts]))

    def place(self, placements: Iterable[Placement], deadline: float) -> None:
        """Commit all changes. Raise StoreUnavailableError if the deadline comes first, StoreRefusedError if refused."""
        timed = copy(self)  # A commit that has begun goes on after the deadline; this one does not
        timed.rolling = self.rolling.until(deadline)
        for outcome in timed.commit(placements, deadline):
            if outcome.failure is not None:
                raise StoreUnavailableError(outcome.failure)
            for one, reason in outcome.refused:
                raise StoreRefusedError(f"{one.member!r} cannot be placed in {one.ranking.key}: {reason}")


def placements(
    boards: Boards, changes: Sequence[Change], generations: Sequence[int] = (0,), board_ends: int | None = None
) -> list[Placement]:
    """The changes of place of one member, from its first image to its last, in each generation.

    Their board ends at an instant (ms; None: never).
    """
    found: list[Placement] = [*moves(boards, changes, generations, board_ends)]
    family = boards.family(changes[0].new.board)
    if family is not None and any(window.rolling for metric in family.metrics.values() for window in metric.windows):
        found += rolling.shifts(boards, changes, generations, board_ends)
    return found


def placements_now(
    family: Family,
    image: Image,
    rankings: Iterable[Ranking],
    generation: int,
    now: int,
    *,
    rewrite_every_item: bool,
    board_ends: int | None = None,
) -> list[Placement]:
    """What brings a member to its place in some calendar rankings and in every rolling window, wherever it is counted.

    `rewrite_every_item`: other attempts may have written list items of rolling windows that are not known here. Without
    it, windows in which the member has no place are left out.
    """
    member, version, stamp = image.member, image.version, image.written_at_ms
    written = (ranking._replace(generation=generation, board_ends=board_ends) for ranking in rankings)
    found: list[Placement] = [Move(one, member, None, place(image, one), version, stamp) for one in written]
    for window in rolling.rolling_windows(family, image.board):
        steps = rolling.steps_of(image, window, max(now, stamp))
        if rewrite_every_item or steps.steps:
            of = window._replace(generation=generation, board_ends=board_ends)
            found.append(Shift(of, member, (), steps, version, stamp, rewrite_every_item))
    return found


MAX_DELETES: Final = 25
DELETE_PAGE_SIZE: Final = 500
REMEMBERED: Final = 20  # Lists that are purged before the progress is stored
# Rankings of older periods have expired: at most 400 days are kept, and a period is at most a year.
REACH: Final = 1_200 * DAY
HOURS_REACH: Final = 30 * DAY
_SLACK: Final = 7 * DAY  # DynamoDB deletes an item some days after it has expired
ALL_PERIODS: Final = range(10**9)
_UTC: Final = Timetable("UTC", 0)


class Purging:
    """Purges rankings: entries by the sorted index, then tiers from the leaves to the root, then a window's logs.

    The root goes last, and log 0 after it: while they exist, the ranking is not purged. Rows without a score are not
    indexed; they expire.
    """

    def __init__(self, client: DynamoDBClient, table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock

    def until(self, deadline: float) -> "Purging":
        """The same, for work that ends at a deadline of the monotonic clock: then StoreUnavailableError."""
        return Purging(self._client, self._table, self._clock.until(deadline))

    def purge(self, board: str, codes: Iterable[str], generation: int, over: Callable[[], bool]) -> bool:
        """Purge a generation of a board; False if `over` says that the time is over before the end."""
        check = partial(_check, over)
        try:
            for code in sorted(codes):
                keys = _Keys(board, code, generation)
                # The other windows have no lists in addition to their rankings.
                if keys.window.rolling:
                    self._purge_lists(keys, over, check)
                for ranking in self._rankings_of(keys):
                    check()
                    self._purge_ranking(ranking, check)
                self._purge_logs(keys)
        except _TimeIsOver:
            return False
        return True

    def delete_tops(self, board: str, codes: Iterable[str]) -> None:
        """Delete what was announced of a board. It has no generation, so `purge` leaves it."""
        for keys in (_Keys(board, code, 0) for code in sorted(codes)):
            # Nothing is announced of rolling windows.
            if not keys.window.rolling:
                self._delete(self._items(map(tables.top_key, self._rankings(keys))))

    def _purge_lists(self, keys: "_Keys", over: Callable[[], bool], check: Callable[[], None]) -> None:
        """Purge the lists of a rolling window, and the rows of its members."""
        log = self._item(tables.log_key(keys.of(), 0))
        # An item whose last period could be read so long ago has expired.
        periods = self._periods(keys, max(rolling.lates_ever(log), default=0) + EXPIRY_MARGIN + _SLACK)
        done = int(log["d"]["N"]) if "d" in log else periods.start
        blocks = sorted(rolling.blocks_within(keys.window, periods.start, periods.stop)) if log else []
        shards = range(max(tables.shards_ever(log)))
        looked = 0
        for first, beginning in groupby(blocks, key=attrgetter("first")):
            lists = [keys.of(block.code) for block in beginning if first >= done]
            partitions = [tables.index_key(key, shard) for key in lists for shard in shards]
            for partition in partitions:
                self._purge_entries(partition, check, keys.of())
            # Thousands of lists may be empty: a call after this one must not begin with the first of them again.
            looked += len(partitions)
            if partitions and (looked > REMEMBERED or over()):
                where = self._table, tables.log_key(keys.of(), 0)
                request = tables.update(*where, "SET d = :d", "attribute_exists(b)", tables.numbers(d=first + 1))
                self._clock.retry(tables.update_if, self._client, request)
                looked = 0
                check()

    def _purge_logs(self, keys: "_Keys") -> None:
        """Purge the logs of a rolling window, the first one last: it names the others.

        A fold that failed may have updated some nodes and not those above them. What is left in the logs names them.
        """
        first = self._item(tables.log_key(keys.of(), 0))
        logs = [tables.log_key(keys.of(), number) for number in reversed(range(rolling.log_count(first)))]
        for item in self._items(logs).values():
            try:
                nodes = fold_deltas(rolling.log_of(item).entries, ALL_PERIODS)
            except StoreRefusedError:
                continue  # It is damaged
            self._delete([tables.node_key(keys.of(period), path) for period, path in nodes])
        self._delete(logs if first else [])

    def _rankings_of(self, keys: "_Keys") -> list[str]:
        """The keys of a code's rankings: of a window with many, those that have a root."""
        rankings = self._rankings(keys)
        if keys.has_one_ranking:
            return rankings
        roots = self._items(tables.node_key(ranking, ROOT) for ranking in rankings)
        return [ranking for ranking in rankings if tables.node_key(ranking, ROOT) in roots]

    def _rankings(self, keys: "_Keys") -> list[str]:
        """The keys of all rankings that a code may have."""
        return [keys.of()] if keys.has_one_ranking else [keys.of(period) for period in self._periods(keys)]

    def _periods(self, keys: "_Keys", reach: int | None = None) -> range:
        """The periods of a window that ended less than `reach` ago, or that may have rows."""
        unit = keys.window.unit or "d"
        now = self._clock.now()
        if reach is None:
            reach = HOURS_REACH if unit == "h" else REACH
        # Periods in other time zones, or with other week starts, are at most one off.
        return range(_UTC.index(unit, now - reach) - 1, _UTC.index(unit, now) + keys.window.size + 2)

    def _purge_ranking(self, ranking: str, check: Callable[[], None]) -> None:
        root = self._item(tables.node_key(ranking, ROOT))
        for shard in range(max(tables.shards_ever(root))):
            self._purge_entries(tables.index_key(ranking, shard), check)
        self._purge_below(ranking, ROOT, tables.lane_count(root), check)

    def _purge_entries(self, partition: str, check: Callable[[], None], window: str | None = None) -> None:
        """Purge the entries in a partition of the index; those of a window's list with the rows of their members."""
        while keys := self._placed(partition):
            # The name of a board has no `#`, and neither has a ranking's code.
            members = dict.fromkeys(key.split("#", 2)[2] for key in keys if window is not None)
            self._delete([*keys, *(tables.entry_key(f"{window}", member) for member in members)])
            check()

    def _placed(self, partition: str) -> list[str]:
        request = tables.on_places(self._table, partition)
        items = self._clock.retry(tables.query_items, self._client, DELETE_PAGE_SIZE, **request)
        return [item["pk"]["S"] for item in items]

    def _purge_below(self, ranking: str, path: Path, lanes: int, check: Callable[[], None]) -> None:
        items = self._items(tables.node_key(ranking, path, lane) for lane in range(lanes))
        if not is_leaf(path, window_code(ranking.partition("#")[2])[1]):
            for digit in sorted({digit for item in items.values() for digit in tables.lane_of(item).counters}):
                check()
                self._purge_below(ranking, (*path, digit), lanes, check)
        self._delete(items)

    def _items(self, keys: Iterable[str]) -> dict[str, Item]:
        read = partial(tables.items_by_key, self._client, self._table, list(keys), self._clock, consistent=True)
        return self._clock.retry(read)

    def _item(self, key: str) -> Item:
        """An item; empty if it does not exist."""
        return self._items([key]).get(key, {})

    def _delete(self, keys: Iterable[str]) -> None:
        keys = list(keys)
        for start in range(0, len(keys), MAX_DELETES):
            self._clock.retry(tables.batch_delete, self._client, self._table, keys[start : start + MAX_DELETES])


class _TimeIsOver(Exception):
    """The rest of a purge is left to another call."""


def _check(over: Callable[[], bool]) -> None:
    if over():
        raise _TimeIsOver


class _Keys(NamedTuple):
    """The rankings of one code in one generation of a board."""

    board: str
    code: str
    generation: int

    def of(self, period: int | str = "") -> str:
        """The key of a period's ranking, of a block's list, or without one that which rows and logs have in theirs."""
        return f"{self.board}#{self.code}{period}{generation_code(self.generation)}"

    @property
    def has_one_ranking(self) -> bool:
        """Whether the window is `all` or a season."""
        return window_code(self.code)[0][0] in "as"

    @property
    def window(self) -> Window:
        """The window of the code."""
        window, _ = window_code(self.code)
        return window_of(window[0] if self.has_one_ranking else window)
