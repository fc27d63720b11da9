"""The maintenance function's services."""

from functools import cache
from typing import NamedTuple

from standings.aws.dynamodb.profiles.profiles import DynamoProfiles
from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads
from standings.aws.dynamodb.rankings.purge import DynamoPurging
from standings.aws.dynamodb.scores.member_items import decode_parked
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.aws.dynamodb.turn_positions import DynamoAuditPositions, DynamoSettlePositions
from standings.aws.eventbridge.event_bus import EventBus
from standings.aws.s3.results_bucket import ResultsBucket
from standings.aws.sqs.dead_letter_queue import DeadLetterQueue
from standings.aws.sqs.messages import Sender
from standings.maintain.announced_families import AnnouncedFamilies
from standings.maintain.audit.audit import Audits
from standings.maintain.audit.scheduled import ScheduledAudits
from standings.maintain.erase import Erase
from standings.maintain.failures.dead_letters import DeadLetterCare
from standings.maintain.failures.parked import ParkedCare
from standings.maintain.rebuild.rebuild import Rebuild
from standings.maintain.rebuild.rebuilt_tops import RebuiltTops
from standings.maintain.settle.mentions import Mentions
from standings.maintain.settle.scheduled import ScheduledSettlements
from standings.maintain.settle.settlements import Place, Settlements
from standings.maintain.turns.lease import Lease
from standings.project.announced_rankings import AnnouncedRankings
from standings.project.backfill import Backfill
from standings.runtime.environment import given, required
from standings.runtime.logs import logger, stack_of
from standings.runtime.retry import Clock
from standings.wiring import building_blocks, projector


class Maintenance(NamedTuple):
    """The services of the function."""

    rebuilds: Rebuild
    audits: Audits
    scheduled_audits: ScheduledAudits
    erase: Erase
    dead_letters: DeadLetterCare
    parked: ParkedCare
    settlements: Settlements
    scheduled_settlements: ScheduledSettlements
    announced: AnnouncedFamilies


def maintenance(clock: Clock) -> Maintenance:
    """Create the services, which share clients and caches."""
    scores_table, rankings_table = required("SCORES_TABLE"), required("RANKINGS_TABLE")
    dynamodb, boards = building_blocks.client("dynamodb"), building_blocks.boards()
    catalog, bucket = building_blocks.board_catalog(dynamodb, clock), building_blocks.failure_bucket()
    scores = DynamoScores(dynamodb, scores_table, required("RECEIPTS_TABLE"), clock)
    profiles = DynamoProfiles(dynamodb, required("PROFILES_TABLE"), clock)
    rankings, run_parallel, looks = (
        projector.dynamo_rankings(dynamodb, clock),
        projector.run_parallel(),
        projector.looks(),
    )
    announced = AnnouncedRankings(rankings, boards)
    purging = DynamoPurging(dynamodb, rankings_table, clock)
    evidence = DynamoAuditReads(dynamodb, scores_table, rankings_table, clock)
    sqs = cache(lambda: building_blocks.client("sqs"))  # one client for both queues
    audits = Audits(catalog, evidence, clock)
    activity = Sender(sqs, required("ACTIVITY_QUEUE_URL"))

    def tell() -> None:
        if looks is not None:
            announced.tell(looks)

    def report(bug: Exception) -> None:
        logger.error("parked record not read", exc_info=stack_of(bug))

    def not_audited(board: str, tries: int) -> None:
        logger.error("board not audited", extra={"board": board, "tries": tries})

    def not_settled(board: str, tries: int) -> None:
        logger.error("board not settled", extra={"board": board, "tries": tries})

    def written(board: str) -> tuple[int, ...]:
        return catalog.written([board])[board]

    place = _place()
    lease = Lease(DynamoSettlePositions(dynamodb, rankings_table), clock, not_settled)
    settlements = Settlements(catalog, evidence, lease, clock, place)
    return Maintenance(
        Rebuild(
            catalog,
            scores,
            Backfill(rankings, clock, run_parallel),
            evidence.rows,
            purging.purge,
            clock,
            RebuiltTops(looks, purging.forget_tops),
        ),
        audits,
        ScheduledAudits(audits, Lease(DynamoAuditPositions(dynamodb, rankings_table), clock, not_audited)),
        Erase(catalog, scores, profiles.remove, clock, Mentions(place.results, clock) if place is not None else None),
        DeadLetterCare(DeadLetterQueue(sqs, required("DEAD_LETTER_QUEUE_URL"), activity, bucket), clock),
        ParkedCare(
            boards,
            scores,
            Backfill(announced, clock, run_parallel),
            bucket,
            decode_parked,
            clock,
            report,
            written,
            tell,
        ),
        settlements,
        ScheduledSettlements(settlements),
        AnnouncedFamilies(boards, announces=looks is not None),
    )


def _place() -> Place | None:
    """Where settlements go; None on a stack that settles nothing."""
    if not (bucket := given("RESULTS_BUCKET")):
        return None
    results = ResultsBucket(lambda: building_blocks.client("s3"), bucket)
    return Place(results, EventBus(lambda: building_blocks.client("events")), required("STACK_NAME"))
