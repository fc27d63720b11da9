"""The writer's services."""

from standings.aws.dynamodb.scores import Scores
from standings.aws.sqs import DeadLetters, Sender
from standings.runtime.clock import Clock
from standings.runtime.environment import required
from standings.wiring import building_blocks
from standings.write.writer import Writer


def writer(clock: Clock) -> Writer:
    """Create the service that applies events."""
    dynamodb = building_blocks.client("dynamodb")
    scores = Scores(dynamodb, required("SCORES_TABLE"), required("RECEIPTS_TABLE"), clock)
    return Writer(building_blocks.board_catalog(dynamodb, clock), scores, clock)


def dead_letters() -> DeadLetters:
    """Create the sender of refused messages."""
    sender = Sender(lambda: building_blocks.client("sqs"), required("DEAD_LETTER_QUEUE_URL"))
    return DeadLetters(sender, building_blocks.failure_bucket())
