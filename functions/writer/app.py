"""The writer: applies a batch of messages from the queue, each event exactly once."""

from collections import Counter
from typing import Any

from aws_lambda_powertools import single_metric
from aws_lambda_powertools.metrics import MetricUnit

from standings.aws.dynamodb.scores import Scores
from standings.aws.sqs import DeadLetters, Sender, at_filled_in, is_history, refused_since, sent_at
from standings.runtime.environment import required
from standings.runtime.logs import logger, metrics, stack_of
from standings.wiring import building_blocks
from standings.write.corrections import Corrections
from standings.write.writer import QueueMessage, Writer, WriteResult

_clock = building_blocks.real_clock()
_dynamodb = building_blocks.client("dynamodb")
_scores = Scores(_dynamodb, required("SCORES_TABLE"), required("RECEIPTS_TABLE"), _clock)
_catalog = building_blocks.board_catalog(_dynamodb, _clock)
_writer = Writer(_catalog, _scores, _clock, Corrections(_catalog, _scores, _clock).apply)
_letters = Sender(lambda: building_blocks.client("sqs"), required("DEAD_LETTER_QUEUE_URL"))
_dead_letters = DeadLetters(_letters, building_blocks.failure_bucket())


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Apply an SQS batch, and return the ids of the messages that SQS must deliver again."""
    deadline = _clock.after(context.get_remaining_time_in_millis() / 1000 - building_blocks.REPORTING_RESERVE)
    records = {record["messageId"]: record for record in event["Records"]}
    written = _writer.write([_message(record) for record in records.values()], deadline)
    failed = dict(written.failed)
    for message_id, reason in written.waiting.items():
        logger.info("correction to be delivered again", extra={"message_id": message_id, "reason": reason})
    if refused := [(records[message.id], str(refusal)) for message, refusal in written.refused]:
        failed.update(_dead_letters.send(refused, lambda: _clock.monotonic() >= deadline))
    for message, refusal in written.refused:
        extra = {"message_id": message.id, "rule": refusal.rule, "reason": str(refusal)}
        if refusal.rule == "internal" and refusal.__cause__ is not None:
            logger.error("event refused", extra=extra, exc_info=stack_of(refusal.__cause__))
        else:
            logger.warning("event refused", extra=extra)
    for message_id, reason in failed.items():
        logger.error("message to be delivered again", extra={"message_id": message_id, "reason": reason})
    # CloudWatch does not add up over a dimension, so the sum of all rules is a metric of its own.
    for rule, count in Counter(refusal.rule for _, refusal in written.refused).items():
        with single_metric(name="EventsRefused", unit=MetricUnit.Count, value=count) as metric:
            metric.add_dimension(name="rule", value=rule)
    _emit(written, len(failed))
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in (*failed, *written.waiting)]}


def _emit(written: WriteResult, failed: int) -> None:
    """Emit what became of the events, without counts of 0: a metric costs in each hour in which it has data."""
    metrics.add_metric("EventsApplied", MetricUnit.Count, written.applied)  # so that no run is without a metric
    if written.refused:
        metrics.add_metric("EventsRefused", MetricUnit.Count, len(written.refused))
    if written.duplicates:
        metrics.add_metric("EventsDuplicate", MetricUnit.Count, written.duplicates)
    if failed:
        metrics.add_metric("EventsFailed", MetricUnit.Count, failed)
    if written.conflicts:
        metrics.add_metric("WriterConflicts", MetricUnit.Count, written.conflicts)
    if written.waited is not None:
        metrics.add_metric("QueueToScore", MetricUnit.Milliseconds, written.waited)


def _message(record: dict[str, Any]) -> QueueMessage:
    filled_in, refused, sent = at_filled_in(record), refused_since(record), sent_at(record)
    return QueueMessage(record["messageId"], record["body"], filled_in, refused, sent, is_history(record))
