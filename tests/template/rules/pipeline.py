"""Rules for the queue, the stream, and their failures."""

from collections.abc import Iterator
from typing import Any, Final

from standings.aws.dynamodb.scores.member_items import REMOVED_LIFETIME
from standings.aws.dynamodb.scores.scores import RECEIPT_LIFETIME
from standings.domain.windows.calendar import DAY
from standings.ports.board_records import MAX_ATTEMPT_S
from tests.template.expansion import Expanded, named

_SECOND: Final = 1000
_MAX_RECEIVES: Final = 1000
_RESULTS: Final = "ResultsBucket"  # Nothing in it is replayed
_LOOKS: Final = "LooksQueue"
"""Its messages are tried until they succeed or expire: they carry nothing that could be lost or be bad."""
_DAY_SECONDS: Final = 86400
"""How long a stream keeps its records, and how long an outage may last that dead-letters nothing."""
_DEFAULT_TIMEOUT: Final = 3


def a_message_stays_hidden_for_six_timeouts(template: Expanded) -> Iterator[str]:
    for name, mapping, queue in template.mappings("SQS::Queue"):
        timeout = int(template.properties(named(mapping["FunctionName"]))["Timeout"])
        window = int(mapping.get("MaximumBatchingWindowInSeconds", 0))
        hidden = int(template.properties(queue).get("VisibilityTimeout", 30))
        if hidden < 6 * timeout + window:
            yield f"{queue}: VisibilityTimeout {hidden} is less than 6 × {timeout} + {window} s, as {name} may need"


def attempts_end_in_time(template: Expanded) -> Iterator[str]:
    """A rebuild waits until no function uses an older record of the board: at most this long.

    The maintenance function may run longer, because it bounds its attempts (`maintain.failures.parked.ATTEMPT`).
    """
    for name, function in template.of("Lambda::Function"):
        timeout = int(function.get("Timeout", _DEFAULT_TIMEOUT))
        if name != "MaintenanceFunction" and timeout > MAX_ATTEMPT_S:
            yield f"{name}: expected a Timeout of at most {MAX_ATTEMPT_S} s, got {timeout}: a rebuild waits no longer"


def retries_are_finite(template: Expanded) -> Iterator[str]:
    for name, _, queue in _queues_of_events(template):
        receives = template.properties(queue).get("RedrivePolicy", {}).get("maxReceiveCount")
        if receives is None or int(receives) > _MAX_RECEIVES:
            yield f"{queue}: {name} expected a maxReceiveCount of at most {_MAX_RECEIVES}, got {receives}"
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        if not 0 <= int(mapping.get("MaximumRecordAgeInSeconds", -1)) < _DAY_SECONDS:
            yield f"{name}: records expire in the stream before Lambda gives them up"
        if not mapping.get("BisectBatchOnFunctionError"):
            yield f"{name}: BisectBatchOnFunctionError is not set: good records would be given up with a bad one"


def an_outage_of_a_day_costs_nothing(template: Expanded) -> Iterator[str]:
    """Tries alone never end what another try could still save: age does."""
    for _, _, queue in template.mappings("SQS::Queue"):
        if _retention(template.properties(queue)) <= _DAY_SECONDS:
            yield f"{queue}: keeps messages for a day or less"
    for _, _, queue in _queues_of_events(template):
        properties = template.properties(queue)
        receives = int(properties.get("RedrivePolicy", {}).get("maxReceiveCount", 0))
        lasts = receives * int(properties.get("VisibilityTimeout", 30))
        if receives and lasts < _DAY_SECONDS:
            yield f"{queue}: an outage of {lasts // 60} minutes dead-letters every message: raise maxReceiveCount"
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        if (tries := int(mapping.get("MaximumRetryAttempts", -1))) >= 0:
            yield f"{name}: gives records up after {tries} tries, whatever their age: expected -1"


def batches_fail_in_part(template: Expanded) -> Iterator[str]:
    for name, mapping in template.of("Lambda::EventSourceMapping"):
        if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []):
            yield f"{name}: expected ReportBatchItemFailures: otherwise one failure repeats the whole batch"


def failures_are_kept_whole(template: Expanded) -> Iterator[str]:
    buckets = {name for name, _ in template.of("S3::Bucket")}
    queues = dict(template.of("SQS::Queue"))
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        destination = named(mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination"))
        if destination not in buckets:
            yield f"{name}: expected a bucket as OnFailure destination: any other keeps only the position of records"
    for _, _, queue in _queues_of_events(template):
        dead = named(queues[queue].get("RedrivePolicy", {}).get("deadLetterTargetArn"))
        if dead not in queues:
            yield f"{queue}: has no dead-letter queue"
        elif _retention(queues[dead]) <= _retention(queues[queue]):
            yield f"{dead}: keeps messages no longer than {queue}"


def nothing_is_kept_too_long_to_replay(template: Expanded) -> Iterator[str]:
    """Parked records expire before the versions of removed members, messages before the receipts of their events."""
    for name, bucket in template.of("S3::Bucket"):
        if name == _RESULTS:
            continue
        rules = bucket.get("LifecycleConfiguration", {}).get("Rules", [])
        days = [int(rule["ExpirationInDays"]) for rule in rules if rule["Status"] == "Enabled"]
        if not days:
            yield f"{name}: parked records never expire, but the versions of removed members do"
            continue
        ages = [
            int(mapping.get("MaximumRecordAgeInSeconds", _DAY_SECONDS)) * _SECOND
            for _, mapping, _ in template.mappings("DynamoDB::Table")
        ]
        # S3 rounds up to midnight, and deletes objects some time later: allow a day for each.
        if (latest := min(days) * DAY + max(ages) + 2 * DAY) >= REMOVED_LIFETIME:
            yield (
                f"{name}: a record may be parked until {latest // DAY} days after it was written, "
                f"but the versions of removed members last {REMOVED_LIFETIME // DAY}"
            )
    for _, _, queue in _queues_of_events(template):
        dead = named(template.properties(queue).get("RedrivePolicy", {}).get("deadLetterTargetArn"))
        waits = sum(_retention(template.properties(name)) for name in (queue, dead) if name)
        if waits * _SECOND >= RECEIPT_LIFETIME:
            yield f"{queue}: a message may wait longer than receipts last, {RECEIPT_LIFETIME // DAY} days"


def looks_are_tried_until_they_succeed(template: Expanded) -> Iterator[str]:
    """A look that was given up would leave a top unannounced until it changes again."""
    for _, _, queue in template.mappings("SQS::Queue"):
        if queue == _LOOKS and "RedrivePolicy" in template.properties(queue):
            yield f"{queue}: expected no RedrivePolicy: looks are tried until they succeed"


def _queues_of_events(template: Expanded) -> Iterator[tuple[str, dict[str, Any], str]]:
    return (mapping for mapping in template.mappings("SQS::Queue") if mapping[2] != _LOOKS)


def _retention(queue: dict[str, Any]) -> int:
    return int(queue.get("MessageRetentionPeriod", 345600))
