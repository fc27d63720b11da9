"""The announcer's services."""

from standings.announce import Announcer
from standings.aws.dynamodb.scores import BoardRecords
from standings.aws.dynamodb.versioned_items import AnnouncedTops
from standings.aws.eventbridge import EventBus
from standings.aws.sqs import LookQueue
from standings.rankings.calendar.reading import TopReads
from standings.runtime.clock import Clock
from standings.runtime.environment import required
from standings.wiring import building_blocks


def announcer(clock: Clock) -> Announcer:
    """Create the service that announces tops."""
    dynamodb, rankings = building_blocks.client("dynamodb"), required("RANKINGS_TABLE")
    return Announcer(
        building_blocks.boards(),
        BoardRecords(dynamodb, required("SCORES_TABLE"), clock),
        AnnouncedTops(dynamodb, rankings),
        TopReads(dynamodb, rankings, clock),
        EventBus(lambda: building_blocks.client("events")),
        clock,
        required("STACK_NAME"),
    )


def looks() -> LookQueue:
    """Create the queue of looks."""
    return LookQueue(lambda: building_blocks.client("sqs"), required("LOOKS_QUEUE_URL"))
