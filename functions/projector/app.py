"""The projector: moves members in the rankings as the stream of Scores tells of changes."""

import json
import re
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, Final

from aws_lambda_powertools.metrics import MetricUnit

from standings.aws.dynamodb.scores.stream_records import decode_change
from standings.aws.s3.failure_bucket import FailureBucket
from standings.project.projector import Record
from standings.project.prune_tiers import PruneResult
from standings.runtime.environment import Config
from standings.runtime.logs import logger, metrics, stack_of
from standings.wiring import building_blocks, projector

_config = Config.from_environment()
_pacing = building_blocks.pacing()
_projector = projector.projectors(_config, _pacing)
_bucket = building_blocks.failure_bucket(_config)

_SEQUENCE: Final = re.compile("[0-9]{1,64}")


class _Parking:
    """Parks records of one batch, whole."""

    def __init__(self, bucket: FailureBucket, records: dict[str, Any]) -> None:
        self._bucket = bucket
        self._records = records

    def park(self, sequence: str, reason: str, bug: Exception | None = None) -> None:
        day = datetime.fromtimestamp(_pacing.now() / 1000, UTC).date().isoformat()
        content = {"reason": reason, "record": self._records[sequence]}
        address = self._bucket.keep(f"parked/{day}/{sequence}.json", content)
        particulars = {"sequence": sequence, "reason": reason, "kept": address}
        logger.error("record parked", extra=particulars, exc_info=stack_of(bug) if bug else None)


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Answer a batch of the stream with the sequence number from which to deliver again, if any."""
    named = _named(event["Records"])
    looks: list[PruneResult] = []
    projected = _projector(looks.append).project(
        [_record(name, record) for name, record in named.items()],
        _Parking(_bucket, named),
        building_blocks.deadline(context.get_remaining_time_in_millis()),
    )
    metrics.add_metric("Moves", MetricUnit.Count, projected.moves)
    metrics.add_metric("MovesKnown", MetricUnit.Count, projected.stale_moves)
    metrics.add_metric("GapsHealed", MetricUnit.Count, projected.gaps)
    metrics.add_metric("ProjectorConflicts", MetricUnit.Count, projected.conflicts)
    metrics.add_metric("TiersRemoved", MetricUnit.Count, _removed(looks))
    metrics.add_metric("RecordsParked", MetricUnit.Count, projected.parked)
    if projected.failed is not None:
        logger.error("batch to be delivered again", extra={"from": projected.failed, "reason": projected.why})
        # Without a number that Lambda knows, all of it is.
        return {"batchItemFailures": [{"itemIdentifier": projected.failed if projected.failed.isdecimal() else ""}]}
    if projected.stamps:
        lag = max(0, _pacing.now() - min(projected.stamps))
        metrics.add_metric("WriteToRank", MetricUnit.Milliseconds, lag)
    return {"batchItemFailures": []}


def _removed(looks: list[PruneResult]) -> int:
    """How many dead tiers a batch has removed; what kept others is no harm, but for what nothing will mend."""
    for look in looks:
        if look.unexpected:
            logger.error("dead tiers cannot be removed", extra={"reason": look.reason})
    return sum(look.removed for look in looks)


def _named(records: list[Any]) -> dict[str, Any]:
    """The records of a batch by sequence number; one that has none, or another's, by a name of its content."""
    named: dict[str, Any] = {}
    for record in records:
        sequence = _sequence(record)
        if sequence is None or sequence in named:
            sequence = f"x{blake2b(json.dumps(record).encode(), digest_size=16).hexdigest()}"
        named[sequence] = record
    return named


def _sequence(record: Any) -> str | None:
    try:
        sequence = record["dynamodb"]["SequenceNumber"]
    except (LookupError, TypeError):
        return None
    return sequence if isinstance(sequence, str) and _SEQUENCE.fullmatch(sequence) else None


def _record(name: str, record: Any) -> Record:
    try:
        return Record(name, decode_change(record["dynamodb"]))
    except (KeyError, TypeError, ValueError) as error:
        return Record(name, None, f"no change of a member's item: {error!r}")
    except Exception as error:  # noqa: BLE001 - whatever a record does to the decoder, its neighbours are projected
        return Record(name, None, f"cannot be read: {error!r}", error)
