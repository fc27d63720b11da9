"""What was last announced is read strongly consistently: an older top may be equal to the one of now."""

from typing import Any

from standings.aws.dynamodb.announced_tops import DynamoAnnouncedTops
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.ports.announcements import AnnouncedTop, Standing


def test_records_are_read_strongly_consistently_and_survive(engine: Any) -> None:
    requests: list[dict[str, Any]] = []

    class Watched:
        def get_item(self, **request: Any) -> Any:
            requests.append(request)
            return engine.get_item(**request)

        def put_item(self, **request: Any) -> Any:
            return engine.put_item(**request)

    client: Any = Watched()
    tops = DynamoAnnouncedTops(client, "Rankings")
    (family,) = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["day"] }').families
    metric = family.metrics["points"]
    ranking = Ranking("b", metric, metric.windows[0], 20_778, generation=3)
    assert tops.read(ranking) is None
    first = AnnouncedTop(1, 1, 5, [Standing("ü", -(2**53) + 1)], '{"id": "x"}')
    assert tops.put(ranking, first)
    assert not tops.put(ranking, first)
    assert tops.read(ranking._replace(generation=4)) == first
    assert tops.put(ranking, first._replace(version=2, unsent=None))
    assert not tops.put(ranking, first._replace(version=2, unsent=None))
    assert all(request["ConsistentRead"] for request in requests)
    assert "e" in engine.get_item(**requests[0])["Item"], "it goes with its period"


def test_a_season_keeps_its_numbers_as_long_as_a_later_season_can_make_it_readable(engine: Any) -> None:
    text = """
        [boards."*"]
        metrics.points = { aggregate = "sum", windows = ["season"] }
        [[boards."*".seasons]]
        name = "autumn"
        starts = "2026-09-01"
        ends = "2026-12-01"
    """
    later = """
        [[boards."*".seasons]]
        name = "summer"
        starts = "2027-06-01"
        ends = "2027-09-01"
    """
    rankings = []
    for toml in (text, text + later):
        (family,) = parse_boards(toml).families
        metric = family.metrics["points"]
        rankings.append(Ranking("b", metric, metric.windows[0], family.timetable.seasons.indexes[0]))
    before, after = rankings
    assert before.key == after.key
    tops = DynamoAnnouncedTops(engine, "Rankings")
    assert tops.put(before, AnnouncedTop(1, 1, 5, [Standing("ann", -1)], None))
    (item,) = engine.scan(TableName="Rankings")["Items"]
    assert after.readable_until is not None
    assert int(item["e"]["N"]) * 1000 >= after.readable_until
