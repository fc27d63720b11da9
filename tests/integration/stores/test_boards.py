"""Board records keep their contract on the engine, on DynamoDB Local and on moto."""

from dataclasses import replace

from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.domain.boards.coverage import BucketCoverage, coverage_of
from standings.ports.board_records import BoardRecord, Job
from tests.support.builders.points import NOW, family


def test_a_record_replaces_only_the_version_that_was_read(boards: DynamoBoards, reader: DynamoRankingsReader) -> None:
    coverage = coverage_of(family("c"), NOW)
    buckets = {
        code: BucketCoverage(bucket.windows, 20_778, frozenset({7, 9})) for code, bucket in coverage.buckets.items()
    }
    job = Job("rebuild", "placing", NOW, coverage, 7, "m", 400)
    record = BoardRecord("b", 1, NOW, coverage, coverage.rankings)
    later = replace(
        record,
        version=2,
        coverage=replace(coverage, buckets=buckets),
        generation=1,
        written=(1, 2),
        latest=3,
        stale=(2,),
        job=job,
    )

    assert reader.record("b") is None
    assert boards.put(record, None)
    assert not boards.put(record, None)
    assert not boards.put(later, 2)
    assert boards.put(later, 1)
    assert reader.record("b") == later
    assert boards.records(["b", "c"]) == {"b": later}


def test_names_of_boards_by_prefix(boards: DynamoBoards, reader: DynamoRankingsReader) -> None:
    coverage = coverage_of(family("c"), NOW)
    for name in ("a", "demo-1", "demo-2", "demo-2-gone", "demo-3", "z"):
        record = BoardRecord(name, 1, NOW, coverage, coverage.rankings, deleted=name.endswith("gone"))
        assert boards.put(record, None)

    assert reader.boards("", None, 10) == ["a", "demo-1", "demo-2", "demo-3", "z"]
    assert reader.boards("demo-", None, 2) == ["demo-1", "demo-2"]
    assert reader.boards("demo-", None, 3) == ["demo-1", "demo-2", "demo-3"]
    assert reader.boards("demo-", "demo-2", 2) == ["demo-3"]
    assert reader.boards("demo-", "a", 10) == ["demo-1", "demo-2", "demo-3"]
    assert reader.boards("demo-", "z", 10) == []
