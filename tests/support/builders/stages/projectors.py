"""A projector over the engine, with its faults and its time, and the records of members."""

from typing import Any

from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Change
from standings.ports.errors import StoreUnavailableError
from standings.project.projector import Projector, ProjectResult, Record
from tests.support.builders.catalogs import catalog
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000
BOARDS = parse_boards("""
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
[boards."rolling"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-3-days"] }
""")


class Parking:
    def __init__(self) -> None:
        self.parked: list[tuple[str, str]] = []
        self.broken = False

    def park(self, sequence: str, reason: str, bug: Exception | None) -> None:
        del bug
        if self.broken:
            raise StoreUnavailableError("no bucket")
        self.parked.append((sequence, reason))


class Subject:
    def __init__(self, engine: Any) -> None:
        self.client = faulty_client.Faulty(engine)
        self.time = faulty_client.Time(NOW)
        clock = self.time.clock()
        rankings = DynamoRankings(self.client, "Rankings", clock)  # type: ignore[arg-type]
        self.projector = Projector(catalog(BOARDS, engine, clock), rankings, clock)
        self.parking = Parking()

    def project(self, *records: Record, patience: float = 30.0) -> ProjectResult:
        return self.projector.project(records, self.parking.park, self.time.monotonic() + patience)

    def scores(self, board: str = "b") -> dict[str, int]:
        """What `all` says of a board; its tiers are checked on the way."""
        assert_tiers_count_the_entries(self.client)
        family = BOARDS.family(board)
        assert family is not None
        code = family.metrics["points"].ranking_codes["all"]
        found = entries(self.client).get(f"{board}#{code}a", {})
        return {member: -sort_value for member, sort_value in found.items()}

    def versions(self) -> set[int]:
        return {int(row["v"]["N"]) for row in rows(self.client, "Rankings") if "/" not in row["pk"]["S"]}


def image(member: str, version: int, points: int | None, *, board: str = "b", hidden: bool = False) -> Image:
    family = BOARDS.family(board)
    assert family is not None
    metric = family.metrics["points"]
    values = {metric.total(): points} if points is not None else {}
    if points is not None and "d" in metric.bucket_codes:
        values[metric.bucket("d", family.timetable.index("d", NOW))] = points
    return Image(board, member, version, NOW + version, 0, hidden, values)


_sequence = iter(range(10**9))


def record(old: Image | None, new: Image) -> Record:
    return Record(str(next(_sequence)), Change(old, new))


def history(member: str, *points: int | None, board: str = "b") -> list[Record]:
    """Records of one item that took these values one after the other, from version 1."""
    images = [image(member, version, value, board=board) for version, value in enumerate(points, start=1)]
    return [record(old, new) for old, new in zip([None, *images], images, strict=False)]
