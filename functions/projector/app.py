"""The projector: moves members in the rankings as the stream of Scores tells of changes."""

from datetime import UTC, datetime
from typing import Any

import orjson
from aws_lambda_powertools.metrics import MetricUnit

from standings.dynamodb.scores import decode_change
from standings.failures.bucket import FailureBucket
from standings.runtime import wiring
from standings.runtime.config import Config
from standings.runtime.observability import logger, metrics
from standings.services.projector import Record

_config = Config.from_environment()
_pacing = wiring.pacing()
_projector = wiring.projector(_config, _pacing)
_bucket = wiring.failure_bucket(_config)


class _Parking:
    """Parks records of one batch, whole."""

    def __init__(self, bucket: FailureBucket, records: list[dict[str, Any]]) -> None:
        self._bucket = bucket
        self._records = {_sequence(record): record for record in records}

    def park(self, sequence: str, reason: str) -> None:
        day = datetime.fromtimestamp(_pacing.now() / 1000, UTC).date().isoformat()
        content = orjson.dumps({"reason": reason, "record": self._records[sequence]})
        address = self._bucket.keep(f"parked/{day}/{sequence}.json", content)
        logger.error("record parked", extra={"sequence": sequence, "reason": reason, "kept": address})


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Answer a batch of the stream with the sequence number from which to deliver again, if any."""
    raw = event["Records"]
    projected = _projector.project(
        [_record(record) for record in raw],
        _Parking(_bucket, raw),
        wiring.deadline(context.get_remaining_time_in_millis()),
    )
    metrics.add_metric("Moves", MetricUnit.Count, projected.moves)
    metrics.add_metric("MovesKnown", MetricUnit.Count, projected.old_news)
    metrics.add_metric("GapsHealed", MetricUnit.Count, projected.gaps)
    metrics.add_metric("ProjectorConflicts", MetricUnit.Count, projected.conflicts)
    metrics.add_metric("RecordsParked", MetricUnit.Count, projected.parked)
    if projected.failed is not None:
        logger.error("batch to be delivered again", extra={"from": projected.failed, "reason": projected.why})
        return {"batchItemFailures": [{"itemIdentifier": projected.failed}]}
    if projected.stamps:
        lag = max(0, _pacing.now() - min(projected.stamps))
        metrics.add_metric("WriteToRank", MetricUnit.Milliseconds, lag)
    return {"batchItemFailures": []}


def _record(record: dict[str, Any]) -> Record:
    try:
        return Record(_sequence(record), decode_change(record["dynamodb"]))
    except (KeyError, ValueError, TypeError) as error:
        return Record(_sequence(record), None, f"no change of a member's item: {error!r}")


def _sequence(record: dict[str, Any]) -> str:
    return str(record["dynamodb"]["SequenceNumber"])
