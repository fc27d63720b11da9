"""Puts together what writes over HTTP do."""

from functools import cached_property

from standings.dynamodb.scores import DynamoScores
from standings.runtime import wiring
from standings.runtime.config import Config
from standings.runtime.observability import logger, stack_of
from standings.services.care import Care
from standings.services.pacing import Pacing
from standings.services.posting import Posting
from standings.sqs.activity import ActivityQueue
from standings.sqs.sending import Sender


class Command:
    """The services of writes over HTTP, each made when it is first needed: many a process needs but one of them."""

    def __init__(self, config: Config, tools: Pacing) -> None:
        self._config = config
        self._tools = tools

    @cached_property
    def posting(self) -> Posting:
        """Posts events."""
        queue = ActivityQueue(Sender(lambda: wiring.client("sqs"), self._config.activity_queue_url))
        return Posting(wiring.boards(), queue, self._tools, _report)

    @cached_property
    def care(self) -> Care:
        """Changes members."""
        dynamodb = wiring.client("dynamodb")
        scores = DynamoScores(dynamodb, self._config.scores_table, self._config.receipts_table, self._tools)
        return Care(wiring.registry(dynamodb, self._config, self._tools), scores, self._tools)


def _report(bug: Exception) -> None:
    logger.error("event refused", extra={"rule": "internal"}, exc_info=stack_of(bug))
