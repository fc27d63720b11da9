"""The announcer's services."""

from standings.announce.announcer import Announcer
from standings.aws.dynamodb.announced_tops import DynamoAnnouncedTops
from standings.aws.dynamodb.rankings.top_reads import DynamoTopReads
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.eventbridge.event_bus import EventBus
from standings.aws.sqs.look_queue import LookQueue
from standings.runtime.environment import required
from standings.runtime.retry import Clock
from standings.wiring import building_blocks


def announcer(clock: Clock) -> Announcer:
    """Create the service that announces tops."""
    dynamodb, rankings = building_blocks.client("dynamodb"), required("RANKINGS_TABLE")
    return Announcer(
        building_blocks.boards(),
        DynamoBoards(dynamodb, required("SCORES_TABLE"), clock),
        DynamoAnnouncedTops(dynamodb, rankings),
        DynamoTopReads(dynamodb, rankings, clock),
        EventBus(lambda: building_blocks.client("events")),
        clock,
        required("STACK_NAME"),
    )


def looks() -> LookQueue:
    """Create the queue of looks."""
    return LookQueue(lambda: building_blocks.client("sqs"), required("LOOKS_QUEUE_URL"))
