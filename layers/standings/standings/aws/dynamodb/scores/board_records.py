"""The records of boards in DynamoDB, which are also the list of boards.

They stand in Scores, which nobody throws away: what is known of the rankings outlives Rankings.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from standings.aws.dynamodb.calls import Item, batch_get, put_if, query
from standings.aws.dynamodb.keys import BOARDS
from standings.domain.boards.coverage import BucketCoverage, Coverage
from standings.ports.board_records import BoardRecord, Job
from standings.runtime.retry import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient


class DynamoBoards:
    """Board records (`ports.board_records.BoardRecords`)."""

    def __init__(self, client: "DynamoDBClient", scores: str, pacing: Clock) -> None:
        self._client = client
        self._scores = scores
        self._pacing = pacing

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord]:
        return read_records(self._client, self._scores, list(boards), self._pacing)

    def names(self, after: str | None, limit: int) -> list[str]:
        return list_boards(self._client, self._scores, "", after, limit)

    def put(self, record: BoardRecord, seen: int | None) -> bool:
        request: dict[str, Any] = {
            "TableName": self._scores,
            "Item": encode_record(record),
            "ConditionExpression": "attribute_not_exists(pk)",
        }
        if seen is not None:
            request["ConditionExpression"] = "v = :v"
            request["ExpressionAttributeValues"] = {":v": {"N": str(seen)}}
        return put_if(self._client, request)


def read_records(client: "DynamoDBClient", scores: str, boards: Sequence[str], pacing: Clock) -> dict[str, BoardRecord]:
    """The records that there are of these boards, as of now."""
    keys = [_key(board) for board in boards]
    items = batch_get(client, scores, keys, pacing, consistent=True)
    return {item["sk"]["S"]: decode_record(item) for item in items}


def list_boards(client: "DynamoDBClient", scores: str, prefix: str, after: str | None, limit: int) -> list[str]:
    """The names of boards that begin with a prefix and follow a name, in order; not those that were deleted."""
    values: dict[str, Any] = {":p": {"S": BOARDS}}
    condition = "pk = :p"
    if after is not None and after >= prefix:
        # A sort key takes one condition: what follows the last of the prefix is cut off below.
        condition += " AND sk > :s"
        values[":s"] = {"S": after}
    elif prefix:
        condition += " AND begins_with(sk, :s)"
        values[":s"] = {"S": prefix}
    names: list[str] = []
    request: dict[str, Any] = {
        "TableName": scores,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
    }
    while len(names) < limit:
        wanted = limit - len(names)
        found = [item for answer in query(client, request, wanted) for item in answer["Items"]]
        mine = [item for item in found if item["sk"]["S"].startswith(prefix)]
        # Deleted boards are few: they are passed over here, and as many more are asked for.
        names += [item["sk"]["S"] for item in mine if "x" not in item]
        if len(mine) < wanted:
            break
        request["ExclusiveStartKey"] = _key(mine[-1]["sk"]["S"])
    return names


def _key(board: str) -> Item:
    return {"pk": {"S": BOARDS}, "sk": {"S": board}}


def encode_record(record: BoardRecord) -> dict[str, Any]:
    """The item of a record: a version, a mark on one that was deleted, and the rest as JSON, for people to read."""
    job = record.job
    content = {
        "coverage": _coverage(record.coverage),
        "codes": sorted(record.codes),
        "generation": record.generation,
        "written": record.written,
        "latest": record.latest,
        "stale": record.stale,
        "again": record.again,
        "renewed": record.renewed,
        "job": None if job is None else {**job._asdict(), "coverage": _coverage(job.coverage)},
    }
    item: dict[str, Any] = {
        **_key(record.board),
        "v": {"N": str(record.version)},
        "t": {"N": str(record.begun)},
        "d": {"S": orjson.dumps(content).decode()},
    }
    if record.deleted:
        item["x"] = {"BOOL": True}
    return item


def decode_record(item: Item) -> BoardRecord:
    """A record: the inverse of `encode_record`."""
    content = orjson.loads(item["d"]["S"])
    job = content["job"]
    return BoardRecord(
        board=item["sk"]["S"],
        version=int(item["v"]["N"]),
        begun=int(item["t"]["N"]),
        coverage=_read_coverage(content["coverage"]),
        codes=frozenset(content["codes"]),
        generation=content["generation"],
        written=tuple(content["written"]),
        latest=content["latest"],
        stale=tuple(content["stale"]),
        deleted="x" in item,
        again=content["again"],
        renewed=content["renewed"],
        job=None if job is None else Job(**{**job, "coverage": _read_coverage(job["coverage"])}),
    )


def _coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "rankings": sorted(coverage.rankings),
        "buckets": {
            code: {"windows": sorted(sorted(windows) for windows in kept.windows), "first": kept.first}
            for code, kept in sorted(coverage.buckets.items())
        },
        "late": coverage.late,
        "keep": coverage.keep,
    }


def _read_coverage(content: Mapping[str, Any]) -> Coverage:
    buckets = {
        code: BucketCoverage(frozenset(frozenset(windows) for windows in kept["windows"]), kept["first"])
        for code, kept in content["buckets"].items()
    }
    return Coverage(frozenset(content["rankings"]), buckets, content["late"], content["keep"])
