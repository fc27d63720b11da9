"""Puts the services of upkeep together."""

from functools import cached_property
from typing import Any

from standings.dynamodb.inspection import DynamoInspection
from standings.dynamodb.purging import DynamoPurging
from standings.dynamodb.rankings import DynamoRankings
from standings.dynamodb.scores import DynamoScores, decode_parked
from standings.runtime import projecting, wiring
from standings.runtime.config import Config
from standings.runtime.observability import logger, stack_of
from standings.services.audit import Audits
from standings.services.dead_letters import DeadLetterCare
from standings.services.pacing import Pacing
from standings.services.parked import ParkedCare
from standings.services.placing import Placer
from standings.services.rebuild import Rebuild
from standings.services.registry import Registry
from standings.sqs.dead_letter_queue import DeadLetterQueue
from standings.sqs.sending import Sender


class Maintenance:
    """The services of upkeep, each made when it is first needed."""

    def __init__(self, config: Config, tools: Pacing) -> None:
        self._config = config
        self._tools = tools

    @cached_property
    def _dynamodb(self) -> Any:
        return wiring.client("dynamodb")

    @cached_property
    def registry(self) -> Registry:
        """What is known of boards."""
        return wiring.registry(self._dynamodb, self._config, self._tools)

    @cached_property
    def _scores(self) -> DynamoScores:
        return DynamoScores(self._dynamodb, self._config.scores_table, self._config.receipts_table, self._tools)

    @cached_property
    def _placer(self) -> Placer:
        rankings = DynamoRankings(self._dynamodb, self._config.rankings_table, self._tools)
        return Placer(rankings, self._tools, projecting.side_by_side())

    @cached_property
    def rebuild(self) -> Rebuild:
        """Rebuilds boards, and deletes them."""
        purging = DynamoPurging(self._dynamodb, self._config.rankings_table, self._tools)
        return Rebuild(self.registry, self._scores, self._placer, purging, self._tools)

    @cached_property
    def audits(self) -> Audits:
        """Compares rankings with scores."""
        evidence = DynamoInspection(self._dynamodb, self._config.scores_table, self._config.rankings_table, self._tools)
        return Audits(self.registry, evidence, self._tools)

    @cached_property
    def dead_letters(self) -> DeadLetterCare:
        """Looks into the dead-letter queue, and replays what is there."""
        activity = Sender(lambda: wiring.client("sqs"), self._config.activity_queue_url)
        bucket = wiring.failure_bucket(self._config)
        queue = DeadLetterQueue(lambda: wiring.client("sqs"), self._config.dead_letter_queue_url, activity, bucket)
        return DeadLetterCare(queue, self._tools)

    @cached_property
    def parked(self) -> ParkedCare:
        """Looks into what is parked, and replays it."""
        registry = self.registry
        return ParkedCare(
            wiring.boards(),
            self._scores,
            self._placer,
            wiring.failure_bucket(self._config),
            decode_parked,
            self._tools,
            report=_report,
            written=lambda board: registry.written([board])[board],
        )


def _report(bug: Exception) -> None:
    logger.error("parked record not read", exc_info=stack_of(bug))
