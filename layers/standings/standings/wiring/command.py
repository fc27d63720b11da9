"""The command function's services."""

from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.aws.sqs.activity_queue import ActivityQueue
from standings.aws.sqs.sender import Sender
from standings.ingest.post_events import Posting
from standings.members.register_hide_remove import MemberAdmin
from standings.runtime.environment import required
from standings.runtime.logs import logger, stack_of
from standings.runtime.retry import Clock
from standings.wiring import building_blocks


def posting(clock: Clock) -> Posting:
    """Create the service that posts events."""
    queue = ActivityQueue(Sender(lambda: building_blocks.client("sqs"), required("ACTIVITY_QUEUE_URL")))
    return Posting(building_blocks.boards(), queue.send, queue.most_bytes, clock, _report)


def member_admin(clock: Clock) -> MemberAdmin:
    """Create the service that registers, hides and removes members."""
    dynamodb = building_blocks.client("dynamodb")
    scores = DynamoScores(dynamodb, required("SCORES_TABLE"), required("RECEIPTS_TABLE"), clock)
    return MemberAdmin(building_blocks.board_catalog(dynamodb, clock), scores, clock)


def _report(bug: Exception) -> None:
    logger.error("event refused", extra={"rule": "internal"}, exc_info=stack_of(bug))
