"""The projector: rankings end up as the items are, however records are delivered; a record that cannot be is parked."""

from collections import deque
from typing import Any

import orjson
import pytest

from standings.domain.boards_toml import parse_boards
from standings.domain.members import Change, Image
from standings.project.projector import Projector, ProjectResult, Record
from standings.rankings.storing import Rankings
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.builders.points import family
from tests.support.builders.stages.writers import catalog
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000
BOARDS = parse_boards("""
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
[boards."rolling"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-3-days"] }
""")


class Subject:
    def __init__(self, engine: Any) -> None:
        self.client = faulty_client.Faulty(engine)
        self.time = faulty_client.Time(NOW)
        clock = self.time.clock()
        rankings = Rankings(self.client, "Rankings", clock)  # type: ignore[arg-type]
        self.projector = Projector(catalog(BOARDS, engine, clock), rankings, clock, lambda _: {})
        self.parked: list[tuple[str, str]] = []

    def project(self, *records: Record, patience: float = 30.0) -> ProjectResult:
        def park(sequence: str, reason: str, _: Exception | None) -> None:
            self.parked.append((sequence, reason))

        return self.projector.project(records, park, self.time.monotonic() + patience)

    def scores(self, board: str = "b") -> dict[str, int]:
        """What `all` says of a board; its tiers are checked on the way."""
        assert_tiers_count_the_entries(self.client)
        code = family(board, BOARDS).metrics["points"].ranking_codes["all"]
        found = entries(self.client).get(f"{board}#{code}", {})
        return {member: -sort_value for member, sort_value in found.items()}

    def versions(self) -> set[int]:
        return {int(row["v"]["N"]) for row in rows(self.client, "Rankings") if "/" not in row["pk"]["S"]}


def image(member: str, version: int, points: int | None, board: str) -> Image:
    metric = family(board, BOARDS).metrics["points"]
    values = {metric.total(): points} if points is not None else {}
    if points is not None and "d" in metric.bucket_codes:
        values[metric.bucket("d", metric.timetable.index("d", NOW))] = points
    return Image(board, member, version, NOW + version, 0, hidden=False, values=values)


_sequence = iter(range(10**9))


def history(member: str, *points: int | None, board: str = "b") -> list[Record]:
    """Records of one item that took these values one after the other, from version 1."""
    images = [image(member, version, value, board) for version, value in enumerate(points, start=1)]
    return [Record(str(next(_sequence)), Change(*both)) for both in zip([None, *images], images, strict=False)]


@pytest.fixture
def subject(engine: Any) -> Subject:
    return Subject(engine)


@pytest.mark.parametrize(
    ("points", "deliveries", "last"),
    [
        ((10, 12), [[0, 1], [0, 1]], (0, 1, 0)),  # a batch again
        ((10, 12, 14), [[2, 0, 1]], (1, 0, 0)),  # a batch in another order
        ((10, 11, 12, 13), [[0, 1], [3], [2]], (0, 1, 0)),  # a late hand
        ((10, 400, 9, 8), [[0], [2, 3]], (1, 0, 1)),  # a missing record is healed by the next
        ((10, 12, 10), [[0], [1, 2], [1]], (0, 1, 0)),  # there and back in one batch takes the newest version
        ((5, None, 3), [[0, 1, 2], [2], [1], [0]], (0, 1, 0)),  # removed and back in one batch, then each again
    ],
    ids=str,
)
def test_rankings_are_those_of_the_last_record(
    subject: Subject, points: tuple[int | None, ...], deliveries: list[list[int]], last: tuple[int, int, int]
) -> None:
    """`last` are the moves of the last delivery that were made, were stale, and had a gap before them."""
    written = history("m", *points)
    for positions in deliveries:
        projected = subject.project(*(written[position] for position in positions))

    assert (projected.moves, projected.stale_moves, projected.gaps) == last
    assert subject.scores() == {"m": points[-1]}
    assert subject.versions() == {len(points)}


def test_a_batch_too_wide_for_its_time_begins_further_on(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standings.project.projector.MAX_PLACEMENTS", 20)

    def slow(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.time.sleep(1)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([slow] * 100)
    batch = [one for n in range(12) for one in history(f"m{n}", n, board="rolling")]
    begins = [0]
    moves = 0
    while (projected := subject.project(*batch[begins[-1] :], patience=4)).failed is not None:
        moves += projected.moves
        assert projected.why == "the function ran out of time"
        begins.append([one.sequence for one in batch].index(projected.failed))
        assert begins[-1] > begins[-2]
    assert len(begins) == 2
    assert subject.scores("rolling") == {f"m{n}": n for n in range(12)}
    again = subject.project(*batch)
    assert (again.moves, again.stale_moves) == (0, moves + projected.moves)


def test_a_log_stays_so_small_that_a_reader_pays_a_unit_for_it(subject: Subject) -> None:
    """The counts for which it has no room are in the tiers by then."""
    for records in zip(*(history(f"m{n}", *range(n, 20_000, 1_000), board="rolling") for n in range(40)), strict=True):
        subject.project(*records)
        (log,) = (row for row in rows(subject.client, "Rankings") if row["pk"]["S"].endswith("/log"))
        assert len(orjson.dumps(log, default=str)) <= 4_096


@pytest.mark.parametrize("damage", ["", "~", "P0", "OO", "MzzzzzzzzzzzP5m", "MTn"])
def test_a_member_whose_row_is_damaged_is_parked_and_holds_up_nobody(subject: Subject, damage: str) -> None:
    first, second = history("m", 10, 20)
    assert subject.project(first).failed is None
    (row,) = [row for row in rows(subject.client, "Rankings") if row["pk"]["S"].endswith("#m")]
    damaged = {**row, "s": {"S": damage}} if damage else {name: row[name] for name in row if name != "v"}
    subject.client.put_item(TableName="Rankings", Item=damaged)

    projected = subject.project(second, *history("n", 7))

    assert (projected.failed, projected.parked) == (None, 1)
    assert "damaged" in subject.parked[0][1]
    assert any(row["pk"]["S"].endswith("#n") for row in rows(subject.client, "Rankings"))


@pytest.mark.parametrize("board", ["b", "rolling"])
def test_what_the_store_refuses_is_parked_alone(subject: Subject, board: str) -> None:
    def refuses_poison(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        items = [action["Put"]["Item"]["pk"]["S"] for action in request["TransactItems"] if "Put" in action]
        is_poison = any(key.endswith("#m7") for key in items)
        return (faulty_client.error("ValidationException") if is_poison else faulty_client.passes)(client, request)

    subject.client.steps = deque([refuses_poison] * 1_000)
    batch = [one for n in range(20) for one in history(f"m{n}", n, n + 1, board=board)]
    projected = subject.project(*batch)

    assert projected.failed is None
    assert [sequence for sequence, _ in subject.parked] == [batch[14].sequence, batch[15].sequence]
    others = {f"m{n}": n + 1 for n in range(20) if n != 7}
    if board == "b":
        assert subject.scores() == others
    else:  # The projector writes list items before rows, so the list has the refused member too.
        placed = {row["pk"]["S"].rpartition("#")[2] for row in rows(subject.client, "Rankings") if "p" in row}
        assert placed == set(others)


def test_a_refused_move_beside_a_busy_one_is_no_failure_of_the_batch(subject: Subject) -> None:
    def one_refused_one_busy(_: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        codes = ["None"] * len(request["TransactItems"])
        ranking = request["TransactItems"][0]["Put"]["Item"]["pk"]["S"]
        codes[0] = "ValidationError" if "a#" in ranking else "TransactionConflict"
        raise faulty_client.cancelled(codes)

    subject.client.steps = deque([one_refused_one_busy] * 1_000)
    projected = subject.project(*history("m", 1, board="rolling"), patience=1)

    assert (projected.failed, projected.parked) == (None, 1)
