"""Rebuilds and deletions of boards while others keep writing some of the members."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.coverage import coverage_of
from standings.domain.boards.definitions import Family, Ranking
from standings.domain.members.member_item import Image, new_image
from standings.domain.members.moves import Move
from standings.maintain.rebuild.phases import PLACING, REMOVING, Progress
from standings.maintain.rebuild.rebuild import Rebuild
from standings.maintain.rebuild.rebuilt_tops import RebuiltTops
from standings.ports.board_records import DELETE, REBUILD, BoardRecord, Job
from standings.ports.errors import CancelReason, StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS, MoveConflict
from standings.ports.scores import SLOTS, ItemConflict, MemberKey, Rewrite
from standings.project.backfill import Backfill
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000
BOARDS = parse_boards('[boards."b"]\nmembers = "registered"\nmetrics.points = { aggregate = "sum", windows = ["all"] }')
NAMES = [f"m{number:03}" for number in range(300)]
CALL = 0.01
"""Seconds of one call."""
ALWAYS = CALL / 2
"""Seconds between two writes of others: so often that no try succeeds."""


class Store:
    """Scores and a board's record. Others write the members in `busy`, each every so many seconds."""

    def __init__(self, time: faulty_client.Time) -> None:
        self.time = time
        self.items = {name: new_image("b", name, NOW) for name in NAMES}
        self.busy: dict[str, float] = {}
        self.reason = CancelReason.CONDITION
        self.record = BoardRecord("b", 1, NOW, coverage_of(_family(), NOW), _family().rankings())
        self.calls = 0
        self.placed: dict[str, int] = {}
        self.latest = math.inf

    def begin(self, task: str) -> None:
        phase = {DELETE: REMOVING, REBUILD: PLACING}[task]
        job = Job(task, phase, NOW, coverage_of(_family(), NOW))
        self.record = replace(self.record, latest=1, written=(0, 1), job=job)

    def members(self, board: str, slot: int, after: str | None, limit: int) -> list[Image]:
        assert board == "b"
        names = [name for name in NAMES if int(name[1:]) % SLOTS == slot and name > (after or "")]
        return [self._current(name) for name in names[:limit]]

    def image(self, key: MemberKey) -> Image | None:
        found = self._current(key[1])
        self._call()
        return found

    def apply(self, receipts: Sequence[object], changes: Sequence[Rewrite], now: int) -> list[ItemConflict]:
        assert not receipts
        assert now == NOW
        assert len(changes) <= MAX_ACTIONS
        self._call()
        current = [self._current(change.image.member) for change in changes]
        obstacles = [
            ItemConflict(
                position, self.reason, found if self.reason is CancelReason.CONDITION else None, "it is in the way"
            )
            for position, (change, found) in enumerate(zip(changes, current, strict=True))
            if found.version != change.seen
        ]
        if not obstacles:
            self.items.update((change.image.member, change.image) for change in changes)
        return obstacles

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord]:
        return dict.fromkeys(boards, self.record)

    def names(self, after: str | None, limit: int) -> list[str]:
        raise NotImplementedError

    def put(self, record: BoardRecord, seen: int | None) -> bool:
        assert seen == self.record.version
        self.record = record
        return True

    def commit(self, ranking: Ranking, moves: Sequence[Move]) -> list[MoveConflict]:
        assert ranking.generation == 1
        self.placed.update((move.member, move.version) for move in moves)
        return []

    def _call(self) -> None:
        self.calls += 1
        self.time.sleep(CALL)
        assert self.time.monotonic() < self.latest, "it goes on after the deadline"

    def _current(self, name: str) -> Image:
        """A member's item as it is now. Others leave it alone once it is removed or registered."""
        if name in self.busy:
            written = NOW + int(self.time.monotonic() / self.busy[name])
            item = self.items[name]
            if item.version < written and not is_done(item):
                self.items[name] = replace(item, version=written)
        return self.items[name]


def is_done(item: Image) -> bool:
    return item.removed or bool(item.values)


def _family() -> Family:
    family = BOARDS.family("b")
    assert family is not None
    return family


@pytest.fixture
def store() -> Store:
    return Store(faulty_client.Time(NOW))


def go_on(store: Store, task: str, seconds: float) -> Progress:
    """Continue a job for some seconds. A call that began in time may end later."""
    clock = store.time.clock()
    deadline = store.time.monotonic() + seconds
    store.latest = deadline + 2 * CALL
    catalog = BoardCatalog(BOARDS, store, clock)
    tops = RebuiltTops(None, _forget)
    service = Rebuild(catalog, store, Backfill(store, clock), lambda _: {}, _purge, clock, tops)  # type: ignore[arg-type]
    return service.go_on("b", task, deadline, begin=False)


def _purge(*_: object) -> bool:
    raise NotImplementedError


def _forget(*_: object) -> None:
    raise NotImplementedError


TASKS = pytest.mark.parametrize(("task", "after"), [(DELETE, "announced"), (REBUILD, "switched")])


@TASKS
def test_a_job_whose_members_are_all_busy_ends_at_its_deadline_and_goes_on_at_the_next_call(
    store: Store, task: str, after: str
) -> None:
    store.begin(task)
    store.busy = dict.fromkeys(NAMES, ALWAYS)

    with pytest.raises(StoreUnavailableError):
        go_on(store, task, 5)

    assert store.calls < 400
    assert len(store.time.slept) > store.calls, "it waits between its tries"
    assert not any(map(is_done, store.items.values()))

    store.busy.clear()
    assert go_on(store, task, 60).phase == after
    assert all(map(is_done, store.items.values()))


@TASKS
@pytest.mark.parametrize("reason", [CancelReason.CONDITION, CancelReason.BUSY])
def test_a_few_busy_members_hold_up_no_others(store: Store, task: str, after: str, reason: CancelReason) -> None:
    store.begin(task)
    store.reason = reason
    busy = {NAMES[0], NAMES[64], NAMES[150]}
    store.busy = dict.fromkeys(busy, ALWAYS)

    with pytest.raises(StoreUnavailableError):
        go_on(store, task, 60)

    assert {name for name, item in store.items.items() if not is_done(item)} == busy
    if task == REBUILD:
        assert set(NAMES) - store.placed.keys() == busy

    store.busy.clear()
    assert go_on(store, task, 60).phase == after
    assert all(map(is_done, store.items.values()))
    if task == REBUILD:
        assert store.placed == {name: item.version for name, item in store.items.items()}


@TASKS
def test_members_that_others_write_ten_times_a_second_are_done_in_one_call(store: Store, task: str, after: str) -> None:
    store.begin(task)
    store.busy = dict.fromkeys(NAMES[:250:25], 0.1)

    assert go_on(store, task, 60).phase == after

    assert all(map(is_done, store.items.values()))
