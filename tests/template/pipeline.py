"""What must hold of the queue, the stream and what is kept of their failures."""

from collections.abc import Iterator
from typing import Any, Final

from standings.aws.dynamodb.scores.member_items import REMOVED_LIFETIME
from standings.aws.dynamodb.scores.scores import RECEIPT_LIFETIME
from standings.domain.windows.calendar import DAY
from standings.ports.board_records import MAX_ATTEMPT_S
from tests.template.expansion import Expanded, named

_SECOND: Final = 1000
_LEAST_RECEIVES: Final = 5
_MAX_RECEIVES: Final = 1000
_STREAM_SECONDS: Final = 86400
_DEFAULT_TIMEOUT: Final = 3


def a_message_stays_hidden_for_six_timeouts(template: Expanded) -> Iterator[str]:
    for name, mapping, queue in template.mappings("SQS::Queue"):
        timeout = int(template.properties(named(mapping["FunctionName"]))["Timeout"])
        window = int(mapping.get("MaximumBatchingWindowInSeconds", 0))
        hidden = int(template.properties(queue).get("VisibilityTimeout", 30))
        if hidden < 6 * timeout + window:
            yield f"{queue}: VisibilityTimeout {hidden} is less than 6 × {timeout} + {window}, what {name} may take"


def attempts_end_in_time(template: Expanded) -> Iterator[str]:
    """A rebuild or a deletion waits until no function goes by an older record of the board.

    The maintenance function may run longer: it bounds its own attempts (`maintain.failures.parked.ATTEMPT`).
    """
    for name, function in template.of("Lambda::Function"):
        timeout = int(function.get("Timeout", _DEFAULT_TIMEOUT))
        if name != "MaintenanceFunction" and timeout > MAX_ATTEMPT_S:
            yield f"{name}: expected a Timeout of at most {MAX_ATTEMPT_S} s, got {timeout}: a rebuild waits no longer"


def retries_are_finite(template: Expanded) -> Iterator[str]:
    for name, _, queue in template.mappings("SQS::Queue"):
        receives = template.properties(queue).get("RedrivePolicy", {}).get("maxReceiveCount")
        if receives is None or not _LEAST_RECEIVES <= int(receives) <= _MAX_RECEIVES:
            yield f"{queue}: {name} may try for ever, or too seldom: maxReceiveCount is {receives}"
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        for limit in ("MaximumRetryAttempts", "MaximumRecordAgeInSeconds"):
            if int(mapping.get(limit, -1)) < 0:
                yield f"{name}: {limit} is not set, one bad record would hold up its shard for a day"
        if not 0 <= int(mapping.get("MaximumRecordAgeInSeconds", -1)) < _STREAM_SECONDS:
            yield f"{name}: records would leave the stream before they are given up"
        if not mapping.get("BisectBatchOnFunctionError"):
            yield f"{name}: a batch that fails is not halved, its good records would be given up with the bad one"


def batches_fail_in_part(template: Expanded) -> Iterator[str]:
    for name, mapping in template.of("Lambda::EventSourceMapping"):
        if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []):
            yield f"{name}: what the function reports of single records is not listened to"


def what_fails_is_kept_whole(template: Expanded) -> Iterator[str]:
    buckets = {name for name, _ in template.of("S3::Bucket")}
    queues = dict(template.of("SQS::Queue"))
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        destination = named(mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination"))
        if destination not in buckets:
            yield f"{name}: no bucket keeps the records that it gives up; elsewhere only their position is kept"
    for _, _, queue in template.mappings("SQS::Queue"):
        dead = named(queues[queue].get("RedrivePolicy", {}).get("deadLetterTargetArn"))
        if dead not in queues:
            yield f"{queue}: no dead-letter queue takes what cannot be applied"
        elif _retention(queues[dead]) <= _retention(queues[queue]):
            yield f"{dead}: keeps messages no longer than {queue}"


def what_is_kept_goes_while_it_can_be_weighed(template: Expanded) -> Iterator[str]:
    """Parked records go before the versions of removed members do, and messages before their receipts."""
    for name, bucket in template.of("S3::Bucket"):
        rules = bucket.get("LifecycleConfiguration", {}).get("Rules", [])
        days = [int(rule["ExpirationInDays"]) for rule in rules if rule["Status"] == "Enabled"]
        if not days:
            yield f"{name}: what is parked never goes, but versions of removed members do"
            continue
        ages = [
            int(mapping.get("MaximumRecordAgeInSeconds", _STREAM_SECONDS)) * _SECOND
            for _, mapping, _ in template.mappings("DynamoDB::Table")
        ]
        # S3 expires objects at the midnight after, and lazily: a day for each.
        if (latest := min(days) * DAY + max(ages) + 2 * DAY) >= REMOVED_LIFETIME:
            yield (
                f"{name}: a record may be parked until {latest // DAY} days after it was written, "
                f"removed members' versions last {REMOVED_LIFETIME // DAY}"
            )
    for _, _, queue in template.mappings("SQS::Queue"):
        dead = named(template.properties(queue).get("RedrivePolicy", {}).get("deadLetterTargetArn"))
        waits = sum(_retention(template.properties(name)) for name in (queue, dead) if name)
        if waits * _SECOND >= RECEIPT_LIFETIME:
            yield f"{queue}: a message may wait for longer than receipts last, {RECEIPT_LIFETIME // DAY} days"


def _retention(queue: dict[str, Any]) -> int:
    return int(queue.get("MessageRetentionPeriod", 345600))
