"""The command function's services."""

from collections.abc import Sequence

from standings.aws.dynamodb.profiles.profiles import DynamoProfiles
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.aws.sqs.messages import MAX_BODY_BYTES, Sender, message_of
from standings.ingest.post_events import Posted, Posting
from standings.members.change_profiles import ProfileAdmin
from standings.members.register_hide_remove import MemberAdmin
from standings.runtime.environment import required
from standings.runtime.logs import logger, stack_of
from standings.runtime.retry import Clock
from standings.wiring import building_blocks


def posting(clock: Clock) -> Posting:
    """Create the service that posts events."""
    queue = Sender(lambda: building_blocks.client("sqs"), required("ACTIVITY_QUEUE_URL"))

    def send(events: Sequence[Posted]) -> dict[int, str]:
        return queue.send([message_of(event) for event in events])

    return Posting(building_blocks.boards(), send, MAX_BODY_BYTES, clock, _report)


def members(clock: Clock) -> tuple[MemberAdmin, ProfileAdmin]:
    """Create the services that change members of boards and profiles. They share a client."""
    dynamodb = building_blocks.client("dynamodb")
    scores = DynamoScores(dynamodb, required("SCORES_TABLE"), required("RECEIPTS_TABLE"), clock)
    profiles = DynamoProfiles(dynamodb, required("PROFILES_TABLE"), clock)
    return MemberAdmin(building_blocks.board_catalog(dynamodb, clock), scores, clock), ProfileAdmin(profiles, clock)


def _report(bug: Exception) -> None:
    logger.error("event refused", extra={"rule": "internal"}, exc_info=stack_of(bug))
