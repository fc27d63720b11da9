"""The command function's services."""

from collections.abc import Sequence
from typing import NamedTuple

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import Scores
from standings.aws.sqs import MAX_BODY_BYTES, Sender, message_of
from standings.ingest import Posting
from standings.members import MemberAdmin, ProfileAdmin
from standings.runtime.clock import Clock
from standings.runtime.environment import required
from standings.runtime.logs import logger, stack_of
from standings.stores import Posted
from standings.wiring import building_blocks


def posting(clock: Clock) -> Posting:
    """Create the service that posts events."""
    queue = Sender(lambda: building_blocks.client("sqs"), required("ACTIVITY_QUEUE_URL"))

    def send(events: Sequence[Posted]) -> dict[int, str]:
        return queue.send([message_of(event) for event in events])

    return Posting(building_blocks.boards(), send, MAX_BODY_BYTES, clock, _report)


class Stored(NamedTuple):
    """The services that write to the tables, and the store that has the status of events."""

    members: MemberAdmin
    profiles: ProfileAdmin
    scores: Scores


def stored(clock: Clock) -> Stored:
    """Create the services that work on the tables. They share a client."""
    dynamodb = building_blocks.client("dynamodb")
    scores = Scores(dynamodb, required("SCORES_TABLE"), required("RECEIPTS_TABLE"), clock)
    members = MemberAdmin(building_blocks.board_catalog(dynamodb, clock), scores, clock)
    profiles = ProfileAdmin(Profiles(dynamodb, required("PROFILES_TABLE"), clock), clock)
    return Stored(members, profiles, scores)


def _report(bug: Exception) -> None:
    logger.error("event refused", extra={"rule": "internal"}, exc_info=stack_of(bug))
