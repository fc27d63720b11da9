"""Puts together what writes over HTTP do."""

from functools import cached_property

from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.aws.sqs.activity_queue import ActivityQueue
from standings.aws.sqs.sender import Sender
from standings.ingest.post_events import Posting
from standings.members.register_hide_remove import MemberAdmin
from standings.runtime.environment import Config
from standings.runtime.logs import logger, stack_of
from standings.runtime.retry import Clock
from standings.wiring import building_blocks


class Command:
    """The services of writes over HTTP, each made when it is first needed: many a process needs but one of them."""

    def __init__(self, config: Config, tools: Clock) -> None:
        self._config = config
        self._tools = tools

    @cached_property
    def posting(self) -> Posting:
        """Posts events."""
        queue = ActivityQueue(Sender(lambda: building_blocks.client("sqs"), self._config.activity_queue_url))
        return Posting(building_blocks.boards(), queue.send, queue.most_bytes, self._tools, _report)

    @cached_property
    def care(self) -> MemberAdmin:
        """Changes members."""
        dynamodb = building_blocks.client("dynamodb")
        scores = DynamoScores(dynamodb, self._config.scores_table, self._config.receipts_table, self._tools)
        return MemberAdmin(building_blocks.registry(dynamodb, self._config, self._tools), scores, self._tools)


def _report(bug: Exception) -> None:
    logger.error("event refused", extra={"rule": "internal"}, exc_info=stack_of(bug))
