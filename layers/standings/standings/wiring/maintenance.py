"""Puts the services of upkeep together."""

from functools import cached_property
from typing import Any

from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads
from standings.aws.dynamodb.rankings.purge import DynamoPurging
from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.aws.dynamodb.scores.stream_records import decode_parked
from standings.aws.sqs.dead_letter_queue import DeadLetterQueue
from standings.aws.sqs.sender import Sender
from standings.catalog.board_catalog import BoardCatalog
from standings.maintain.audit.audit import Audits
from standings.maintain.failures.dead_letters import DeadLetterCare
from standings.maintain.failures.parked import ParkedCare
from standings.maintain.rebuild.rebuild import Rebuild
from standings.project.backfill import Backfill
from standings.runtime.environment import Config
from standings.runtime.logs import logger, stack_of
from standings.runtime.retry import Clock
from standings.wiring import building_blocks, projector


class Maintenance:
    """The services of upkeep, each made when it is first needed."""

    def __init__(self, config: Config, tools: Clock) -> None:
        self._config = config
        self._tools = tools

    @cached_property
    def _dynamodb(self) -> Any:
        return building_blocks.client("dynamodb")

    @cached_property
    def registry(self) -> BoardCatalog:
        """What is known of boards."""
        return building_blocks.registry(self._dynamodb, self._config, self._tools)

    @cached_property
    def _scores(self) -> DynamoScores:
        return DynamoScores(self._dynamodb, self._config.scores_table, self._config.receipts_table, self._tools)

    @cached_property
    def _backfill(self) -> Backfill:
        rankings = DynamoRankings(self._dynamodb, self._config.rankings_table, self._tools)
        return Backfill(rankings, self._tools, projector.run_parallel())

    @cached_property
    def rebuild(self) -> Rebuild:
        """Rebuilds boards, and deletes them."""
        purging = DynamoPurging(self._dynamodb, self._config.rankings_table, self._tools)
        return Rebuild(self.registry, self._scores, self._backfill, purging.purge, self._tools)

    @cached_property
    def audits(self) -> Audits:
        """Compares rankings with scores."""
        evidence = DynamoAuditReads(self._dynamodb, self._config.scores_table, self._config.rankings_table, self._tools)
        return Audits(self.registry, evidence, self._tools)

    @cached_property
    def dead_letters(self) -> DeadLetterCare:
        """Looks into the dead-letter queue, and replays what is there."""
        activity = Sender(lambda: building_blocks.client("sqs"), self._config.activity_queue_url)
        bucket = building_blocks.failure_bucket(self._config)
        queue = DeadLetterQueue(
            lambda: building_blocks.client("sqs"), self._config.dead_letter_queue_url, activity, bucket
        )
        return DeadLetterCare(queue, self._tools)

    @cached_property
    def parked(self) -> ParkedCare:
        """Looks into what is parked, and replays it."""
        registry = self.registry
        return ParkedCare(
            building_blocks.boards(),
            self._scores,
            self._backfill,
            building_blocks.failure_bucket(self._config),
            decode_parked,
            self._tools,
            report=_report,
            written=lambda board: registry.written([board])[board],
        )


def _report(bug: Exception) -> None:
    logger.error("parked record not read", exc_info=stack_of(bug))
