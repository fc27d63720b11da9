"""The projector: applies a batch of the Scores stream to Rankings."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import Any, Final

from aws_lambda_powertools.metrics import MetricUnit

from standings.aws.dynamodb.scores import DamagedItem, Scores, decode_change
from standings.domain.members import Image
from standings.project.projector import Projector, ProjectResult, Record
from standings.rankings.calendar.pruning import Pruning
from standings.runtime.environment import required
from standings.runtime.logs import logger, metrics, stack_of
from standings.stores import MemberKey, RankingName, StoreUnavailableError
from standings.wiring import building_blocks, rankings


def _read_images(keys: Sequence[MemberKey]) -> Mapping[MemberKey, Image | None]:
    """Read members' images, strongly consistently. Those that cannot be read are left out."""
    damaged: list[DamagedItem] = []
    images = _scores.images(keys, consistent=True, damaged=damaged)
    unread = {(item.board, item.member) for item in damaged}
    return {key: images.get(key) for key in keys if key not in unread}


_clock = building_blocks.real_clock()
_dynamodb = building_blocks.client("dynamodb")
_scores = Scores(_dynamodb, required("SCORES_TABLE"), "", _clock)  # It reads members alone, and no receipts
_projector = Projector(
    building_blocks.board_catalog(_dynamodb, _clock),
    rankings.store(_dynamodb, _clock, Pruning(_dynamodb, required("RANKINGS_TABLE"), _clock)),
    _clock,
    _read_images,
)
_looks = rankings.looks()
_bucket = building_blocks.failure_bucket()

_TTL: Final = "dynamodb.amazonaws.com"
"""Who deletes items that have expired. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html"""
_SEQUENCE: Final = re.compile("[0-9]{1,64}")


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Apply a batch, and return the sequence number from which Lambda must deliver again, if any."""
    records = _by_sequence(event["Records"])
    deadline = _clock.after(context.get_remaining_time_in_millis() / 1000 - building_blocks.REPORTING_RESERVE)
    projected = _projector.project(
        [_record(sequence, record) for sequence, record in records.items()], partial(_park, records), deadline
    )
    unrequested = _request_looks(projected.moved, deadline) if projected.moved else ""
    _emit(projected)
    if projected.problem:
        logger.error("log not folded", extra={"reason": projected.problem})
    if unrequested:
        # Its moves are done, and a retry from a later record would not find them. So the whole batch comes again.
        logger.error("batch to be delivered again", extra={"reason": unrequested})
        return _again(next(iter(records)))
    if projected.failed is not None:
        logger.error("batch to be delivered again", extra={"from": projected.failed, "reason": projected.why})
        return _again(projected.failed)
    if projected.stamps:
        lag = max(0, _clock.now() - min(projected.stamps))
        metrics.add_metric("WriteToRank", MetricUnit.Milliseconds, lag)
    return {"batchItemFailures": []}


def _emit(projected: ProjectResult) -> None:
    """Emit what the batch did, without counts of 0: a metric costs in each hour in which it has data."""
    metrics.add_metric("Moves", MetricUnit.Count, projected.moves)  # so that no run is without a metric
    if projected.stale_moves:
        metrics.add_metric("MovesKnown", MetricUnit.Count, projected.stale_moves)
    if projected.gaps:
        metrics.add_metric("GapsHealed", MetricUnit.Count, projected.gaps)
    if projected.conflicts:
        metrics.add_metric("ProjectorConflicts", MetricUnit.Count, projected.conflicts)
    if removed := sum(prune.removed for prune in projected.prunes):
        metrics.add_metric("TiersRemoved", MetricUnit.Count, removed)
    for prune in projected.prunes:
        if prune.unexpected:  # The next try will not fix it
            logger.error("empty tiers cannot be removed", extra={"reason": prune.reason})
    if projected.parked:
        metrics.add_metric("RecordsParked", MetricUnit.Count, projected.parked)


def _again(sequence: str) -> dict[str, list[dict[str, str]]]:
    """Return the answer for a batch to deliver again from a sequence number on."""
    # Lambda delivers the whole batch again if it does not know the number.
    return {"batchItemFailures": [{"itemIdentifier": sequence if sequence.isdecimal() else ""}]}


def _request_looks(moved: list[RankingName], deadline: float) -> str:
    """Request looks at the tops that may have changed. Returns why that failed, or ""."""
    if _looks is None:
        logger.warning(
            "boards.toml announces tops, and the stack has no announcer: deploy it with Announcements=true",
            extra={"boards": sorted({name.board for name in moved})},
        )
        return ""
    queue, backoff = _looks, _clock.backoff(deadline)
    try:
        backoff.check()
        backoff.retry(queue.send_now, moved)
    except StoreUnavailableError as error:
        return f"looks could not be queued: {error}"
    return ""


def _park(records: dict[str, Any], sequence: str, reason: str, bug: Exception | None) -> None:
    day = datetime.fromtimestamp(_clock.now() / 1000, UTC).date().isoformat()
    address = _bucket.keep(f"parked/{day}/{sequence}.json", {"reason": reason, "record": records[sequence]})
    extra = {"sequence": sequence, "reason": reason, "kept": address}
    logger.error("record parked", extra=extra, exc_info=stack_of(bug) if bug else None)


def _by_sequence(records: list[Any]) -> dict[str, Any]:
    """Return the records by sequence number. A record without one, or with a duplicate, gets a hash of its content."""
    by_sequence: dict[str, Any] = {}
    for record in records:
        sequence: Any = None
        with suppress(LookupError, TypeError):
            sequence = record["dynamodb"]["SequenceNumber"]
        if not isinstance(sequence, str) or not _SEQUENCE.fullmatch(sequence) or sequence in by_sequence:
            sequence = f"x{blake2b(json.dumps(record).encode(), digest_size=16).hexdigest()}"
        by_sequence[sequence] = record
    return by_sequence


def _record(sequence: str, record: Any) -> Record:
    """A record of the stream. One of an item that DynamoDB deleted, since it had expired, changes nothing."""
    identity = record.get("userIdentity") if isinstance(record, dict) else None
    if isinstance(identity, dict) and identity.get("principalId") == _TTL:
        return Record(sequence, None)
    try:
        return Record(sequence, decode_change(record["dynamodb"]))
    except (KeyError, TypeError, ValueError) as error:
        return Record(sequence, None, f"no change of a member's item: {error!r}")
    except Exception as error:  # noqa: BLE001 - one bad record must not stop the others
        return Record(sequence, None, f"cannot be read: {error!r}", error)
