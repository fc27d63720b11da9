"""The announcer: looks at the rankings that a batch of messages names, and announces those whose top has changed."""

from dataclasses import replace
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit

from standings.announce import Announcer, merged_tries
from standings.aws.dynamodb.scores import BoardRecords
from standings.aws.dynamodb.versioned_items import AnnouncedTops
from standings.aws.eventbridge import EventBus
from standings.aws.sqs import Look, LookQueue, Sender, decode_look
from standings.rankings.reading import TopReads
from standings.runtime.environment import required
from standings.runtime.logs import logger, metrics, stack_of
from standings.stores import RankingName, StoreUnavailableError
from standings.wiring import building_blocks

_clock = building_blocks.real_clock()
_dynamodb, _rankings = building_blocks.client("dynamodb"), required("RANKINGS_TABLE")
_announcer = Announcer(
    building_blocks.boards(),
    BoardRecords(_dynamodb, required("SCORES_TABLE"), _clock),
    AnnouncedTops(_dynamodb, _rankings),
    TopReads(_dynamodb, _rankings, _clock),
    EventBus(lambda: building_blocks.client("events")),
    _clock,
    required("STACK_NAME"),
)
_looks = LookQueue(Sender(lambda: building_blocks.client("sqs"), required("LOOKS_QUEUE_URL")))


@metrics.log_metrics
def handler(event: dict[str, Any], context: Any) -> dict[str, list[dict[str, str]]]:
    """Look once at each ranking of an SQS batch. Returns the ids of the messages that SQS must deliver again."""
    # This leaves time to put the next looks on the queue.
    deadline = (
        _clock.after(context.get_remaining_time_in_millis() / 1000 - building_blocks.REPORTING_RESERVE)
        - building_blocks.MAX_CALL_S
    )
    looking = replace(_announcer, clock=_clock.until(deadline))
    messages: dict[RankingName, dict[str, int]] = {}  # The tries of each message's look
    for record in event["Records"]:
        try:
            look = decode_look(record["body"])
        except ValueError as error:
            # Nobody but the stack's own functions may send to the queue, so this is no event of a user.
            logger.error("message dropped", extra={"message_id": record["messageId"], "reason": str(error)})
            continue
        messages.setdefault(look.name, {})[record["messageId"]] = look.tries
    failed: list[str] = []
    again: list[tuple[Look, int]] = []
    for name, tries in messages.items():
        if _clock.monotonic() >= deadline:
            failed += tries
            continue
        try:
            if (next_look := looking.look(Look(name, merged_tries(tries.values())))) is not None:
                again.append(next_look)
        except StoreUnavailableError as error:
            failed += tries
            logger.error("top not announced", extra={**name._asdict(), "reason": str(error)})
        except Exception as bug:  # noqa: BLE001 - a ranking that breaks the code must not stop the others
            failed += tries
            logger.error("top not announced", extra=name._asdict(), exc_info=stack_of(bug))
    try:
        _looks.send(again)
    except StoreUnavailableError as error:
        failed += [message for look, _ in again for message in messages[look.name]]
        logger.error("next looks not queued", extra={"reason": str(error)})
    metrics.add_metric("Looks", MetricUnit.Count, len(messages))
    metrics.add_metric("LooksRepeated", MetricUnit.Count, len(again))
    metrics.add_metric("LooksFailed", MetricUnit.Count, len(failed))
    return {"batchItemFailures": [{"itemIdentifier": message} for message in failed]}
