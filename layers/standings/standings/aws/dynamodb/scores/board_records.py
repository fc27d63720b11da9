"""Reads and writes the records of boards. They are in Scores, because Rankings can be thrown away."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import orjson

from standings.aws.dynamodb.calls import DynamoDBClient, Item, batch_get, put_version, query_items
from standings.aws.dynamodb.keys import BOARDS
from standings.domain.boards.coverage import BucketCoverage, Coverage
from standings.ports.board_records import BoardRecord, Job
from standings.runtime.retry import Clock

_CONTENT: Final = ("coverage", "codes", "generation", "written", "latest", "stale", "again", "renewed", "job")


class DynamoBoards:
    """Board records (`ports.board_records.BoardRecords`)."""

    def __init__(self, client: DynamoDBClient, scores: str, clock: Clock) -> None:
        self._client = client
        self._scores = scores
        self._clock = clock

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord]:
        keys = [_key(board) for board in boards]
        items = batch_get(self._client, self._scores, keys, self._clock, consistent=True)
        return {item["sk"]["S"]: decode_record(item) for item in items}

    def names(self, after: str | None, limit: int, prefix: str = "") -> list[str]:
        """Names of boards with a prefix that sort after a name, in order. Deleted boards are left out."""
        values: dict[str, Any] = {":p": {"S": BOARDS}}
        condition = "pk = :p"
        if after is not None and after >= prefix:
            # A query takes one condition on the sort key. The loop below drops names beyond the prefix.
            condition += " AND sk > :s"
            values[":s"] = {"S": after}
        elif prefix:
            condition += " AND begins_with(sk, :s)"
            values[":s"] = {"S": prefix}
        start: dict[str, Any] = {}
        names: list[str] = []
        while len(names) < limit:
            page_size = limit - len(names)
            page = query_items(self._client, page_size, self._scores, condition, values, **start)
            page = [item for item in page if item["sk"]["S"].startswith(prefix)]
            # Deleted boards are few: skip them here, and read as many others.
            names += [item["sk"]["S"] for item in page if "x" not in item]
            if len(page) < page_size:
                break
            start["ExclusiveStartKey"] = _key(page[-1]["sk"]["S"])
        return names

    def put(self, record: BoardRecord, seen: int | None) -> bool:
        return put_version(self._client, self._scores, encode_record(record), seen)


def _key(board: str) -> Item:
    return {"pk": {"S": BOARDS}, "sk": {"S": board}}


def encode_record(record: BoardRecord) -> dict[str, Any]:
    """The item of a record. Most of it is one JSON text, for people to read."""
    job = record.job
    content = {name: getattr(record, name) for name in _CONTENT}
    content |= {"coverage": _encode_coverage(record.coverage), "codes": sorted(record.codes)}
    if job is not None:
        content["job"] = {**job._asdict(), "coverage": _encode_coverage(job.coverage)}
    item: dict[str, Any] = {
        **_key(record.board),
        "v": {"N": str(record.version)},
        "t": {"N": str(record.begun)},
        "d": {"S": orjson.dumps(content).decode()},
    }
    if record.deleted:
        item["x"] = {"BOOL": True}
    if job is not None:
        item["f"] = {"S": job.token}
    return item


def decode_record(item: Item) -> BoardRecord:
    """The record of an item: the inverse of `encode_record`."""
    content = orjson.loads(item["d"]["S"])
    fields = {name: content[name] for name in _CONTENT}
    fields |= {"coverage": _decode_coverage(content["coverage"]), "codes": frozenset(content["codes"])}
    fields |= {"written": tuple(content["written"]), "stale": tuple(content["stale"])}
    if (job := content["job"]) is not None:
        fields["job"] = Job(**{**job, "coverage": _decode_coverage(job["coverage"])})
    version, begun = int(item["v"]["N"]), int(item["t"]["N"])
    return BoardRecord(item["sk"]["S"], version, begun, deleted="x" in item, **fields)


def _encode_coverage(coverage: Coverage) -> dict[str, Any]:
    return {
        "rankings": sorted(coverage.rankings),
        "buckets": {
            code: {
                "windows": sorted(sorted(windows) for windows in bucket.windows),
                "first": bucket.first,
                **({"seasons": sorted(bucket.seasons)} if bucket.seasons else {}),
            }
            for code, bucket in sorted(coverage.buckets.items())
        },
        "late": coverage.late,
        "keep": coverage.keep,
        "totals": dict(sorted(coverage.totals.items())),
        "lost": sorted(coverage.lost),
    }


def _decode_coverage(content: Mapping[str, Any]) -> Coverage:
    buckets = {
        code: BucketCoverage(
            frozenset(map(frozenset, bucket["windows"])), bucket["first"], frozenset(bucket.get("seasons", ()))
        )
        for code, bucket in content["buckets"].items()
    }
    # Records of version 0.2 have neither totals nor lost ones.
    totals, lost = content.get("totals", {}), frozenset(content.get("lost", ()))
    return Coverage(frozenset(content["rankings"]), buckets, content["late"], content["keep"], totals, lost)
