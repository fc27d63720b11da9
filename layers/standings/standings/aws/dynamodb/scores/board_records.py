"""Reads and writes the records of boards. They are in Scores, because Rankings can be thrown away.

The record of a deleted board is kept as a tombstone: a board that comes back goes on with its versions and generations.
It is in a partition of its own, which no list reads. Version 0.2 left deleted boards among the others.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from standings.aws.dynamodb.calls import (
    DynamoDBClient,
    Item,
    batch_get,
    conditional,
    put_version,
    query_items,
    transact,
)
from standings.aws.dynamodb.keys import BOARDS, DELETED_BOARDS
from standings.domain.boards.coverage import BucketCoverage, Coverage
from standings.ports.board_records import BoardRecord, Job
from standings.ports.errors import CancelReason, StoreUnavailableError
from standings.runtime.retry import Clock

_CONTENT: Final = ("coverage", "codes", "generation", "written", "latest", "stale", "renewed", "job")


class DynamoBoards:
    """Board records (`ports.board_records.BoardRecords`)."""

    def __init__(self, client: DynamoDBClient, scores: str, clock: Clock) -> None:
        self._client = client
        self._scores = scores
        self._clock = clock

    def records(self, boards: Iterable[str]) -> dict[str, BoardRecord]:
        wanted = set(boards)
        found: dict[str, BoardRecord] = {}
        # In this order: a board that is deleted in between is found among the deleted ones.
        for partition in (BOARDS, DELETED_BOARDS):
            keys = [_key(board, partition) for board in sorted(wanted - found.keys())]
            items = batch_get(self._client, self._scores, keys, self._clock, consistent=True) if keys else []
            found |= {item["sk"]["S"]: decode_record(item) for item in items}
        return found

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
            # A board that is being deleted, or was by version 0.2.
            names += [item["sk"]["S"] for item in page if "x" not in item]
            if len(page) < page_size:
                break
            start["ExclusiveStartKey"] = _key(page[-1]["sk"]["S"])
        return names

    def put(self, record: BoardRecord, seen: BoardRecord | None) -> bool:
        version = None if seen is None else seen.version
        was_deleted, item = seen is not None and _is_done_with(seen), encode_record(record)
        if seen is None or was_deleted == _is_done_with(record):
            is_put = put_version(self._client, self._scores, item, version)
        else:
            move = self._bury if _is_done_with(record) else self._revive
            is_put = self._all_or_nothing(move(item, {":v": {"N": str(version)}}))
        # Version 0.2 left it among the others.
        return is_put or (
            was_deleted and put_version(self._client, self._scores, {**item, "pk": {"S": BOARDS}}, version)
        )

    def _bury(self, tombstone: Item, seen: Item) -> list[dict[str, Any]]:
        living = {**conditional(self._scores, "v = :v", seen), "Key": _key(tombstone["sk"]["S"])}
        return [{"Put": {"TableName": self._scores, "Item": tombstone}}, {"Delete": living}]

    def _revive(self, living: Item, seen: Item) -> list[dict[str, Any]]:
        tombstone = {**conditional(self._scores, "v = :v", seen), "Key": _key(living["sk"]["S"], DELETED_BOARDS)}
        put = {**conditional(self._scores, "attribute_not_exists(pk)"), "Item": living}
        return [{"Put": put}, {"ConditionCheck": tombstone}]

    def _all_or_nothing(self, actions: Sequence[dict[str, Any]]) -> bool:
        for _, reason, _, message in transact(self._client, actions):
            if reason is CancelReason.BUSY:
                raise StoreUnavailableError(message)
            return False
        return True


def _is_done_with(record: BoardRecord) -> bool:
    """Whether a board is deleted, and nothing is left to do."""
    return record.deleted and record.job is None


def _key(board: str, partition: str = BOARDS) -> Item:
    return {"pk": {"S": partition}, "sk": {"S": board}}


def encode_record(record: BoardRecord) -> dict[str, Any]:
    """The item of a record. Most of it is one JSON text, for people to read."""
    job = record.job
    content = {name: getattr(record, name) for name in _CONTENT}
    content |= {"coverage": _encode_coverage(record.coverage), "codes": sorted(record.codes)}
    content["again"] = False  # Version 0.2 reads it
    if job is not None:
        content["job"] = {**job._asdict(), "coverage": _encode_coverage(job.coverage)}
    item: dict[str, Any] = {
        **_key(record.board, DELETED_BOARDS if _is_done_with(record) else BOARDS),
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
