"""The maintenance function's services."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from standings.aws.dynamodb.audit_reads import AuditReads
from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.purge import Purging
from standings.aws.dynamodb.scores import Scores
from standings.aws.dynamodb.tables import AUDIT, SETTLE
from standings.aws.dynamodb.versioned_items import TurnRecord
from standings.aws.eventbridge import EventBus
from standings.aws.s3 import ResultsBucket
from standings.aws.sqs import DeadLetterQueue, Sender
from standings.maintain.audit import Audits, ScheduledAudits
from standings.maintain.erase import Erase
from standings.maintain.failures import DeadLetterTasks, ParkedRecords
from standings.maintain.rebuild import Rebuild
from standings.maintain.settlements import Destination, Settlements
from standings.maintain.turns import AuditPosition, Lease, Position
from standings.project.projector import Backfill
from standings.runtime.clock import Clock
from standings.runtime.environment import given, required
from standings.runtime.logs import logger, stack_of
from standings.stores import RankingName
from standings.wiring import building_blocks, projector


class Maintenance(NamedTuple):
    """The services of the function."""

    rebuilds: Rebuild
    audits: Audits
    scheduled_audits: ScheduledAudits
    erase: Erase
    dead_letters: DeadLetterTasks
    parked: ParkedRecords
    settlements: Settlements
    announced: Callable[[float], dict[str, Any]]


def maintenance(clock: Clock) -> Maintenance:
    """Create the services, which share clients and caches."""
    scores_table, rankings_table = required("SCORES_TABLE"), required("RANKINGS_TABLE")
    dynamodb, boards = building_blocks.client("dynamodb"), building_blocks.boards()
    catalog, bucket = building_blocks.board_catalog(dynamodb, clock), building_blocks.failure_bucket()
    scores = Scores(dynamodb, scores_table, required("RECEIPTS_TABLE"), clock)
    profiles = Profiles(dynamodb, required("PROFILES_TABLE"), clock)
    rankings, run_parallel, looks = (
        projector.dynamo_rankings(dynamodb, clock),
        projector.run_parallel(),
        projector.looks(),
    )
    purging = Purging(dynamodb, rankings_table, clock)
    evidence = AuditReads(dynamodb, scores_table, rankings_table, clock)
    sqs = cache(lambda: building_blocks.client("sqs"))  # one client for both queues
    audits = Audits(catalog, evidence, clock)
    activity = Sender(sqs, required("ACTIVITY_QUEUE_URL"))

    def request_looks(moved: Sequence[RankingName]) -> None:
        if looks is not None and moved:
            looks.send_now(moved)

    def report(bug: Exception) -> None:
        logger.error("parked record not read", exc_info=stack_of(bug))

    def not_audited(board: str, tries: int) -> None:
        logger.error("board not audited", extra={"board": board, "tries": tries})

    def not_settled(board: str, tries: int) -> None:
        logger.error("board not settled", extra={"board": board, "tries": tries})

    def announced(_: float) -> dict[str, Any]:
        """The patterns of the families that announce, and whether this stack does."""
        families = [family.pattern for family in boards.families if family.announce]
        return {"done": True, "families": families, "announces": looks is not None}

    destination = _destination()
    lease = Lease(TurnRecord(dynamodb, rankings_table, SETTLE), Position, clock, not_settled)
    settlements = Settlements(catalog, evidence, lease, clock, destination)
    return Maintenance(
        Rebuild(
            catalog,
            scores,
            Backfill(rankings, clock, run_parallel),
            evidence,
            purging,
            clock,
            looks,
        ),
        audits,
        ScheduledAudits(
            audits, Lease(TurnRecord(dynamodb, rankings_table, AUDIT), AuditPosition.decode, clock, not_audited)
        ),
        Erase(catalog, scores, profiles, clock, destination.results if destination is not None else None),
        DeadLetterTasks(DeadLetterQueue(sqs, required("DEAD_LETTER_QUEUE_URL"), activity, bucket), clock),
        ParkedRecords(catalog, scores, Backfill(rankings, clock, run_parallel), bucket, clock, report, request_looks),
        settlements,
        announced,
    )


def _destination() -> Destination | None:
    """Where settlements go; None on a stack that settles nothing."""
    if not (bucket := given("RESULTS_BUCKET")):
        return None
    results = ResultsBucket(lambda: building_blocks.client("s3"), bucket)
    return Destination(results, EventBus(lambda: building_blocks.client("events")), required("STACK_NAME"))
