"""Safeguards against outages: settings of the queue and of the stream's mapping, repairs, and reads of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from standings.maintain.failures.parked_objects import LAMBDA_PREFIX
from standings.ports.rankings import Span

from .replacing import Change, Safeguard, Setting, returns

if TYPE_CHECKING:
    from collections.abc import Callable

    from standings.ports.rankings import Entry


def _from_the_index(_: Callable[..., Any]) -> Callable[..., Any]:
    def entries(self: Any, wanted: Any) -> dict[Any, Entry]:
        listed = {(ranking, entry.member): entry for ranking, _ in wanted for entry in self._span(ranking, _ALL)}
        return {key: listed[key] for key in wanted if key in listed}

    return entries


def _none_of_lambda(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda key, content: ("by Lambda", []) if key.startswith(LAMBDA_PREFIX) else original(key, content)


_ALL: Final = Span(0, None, 1000)

OUTAGES: Final = (
    Safeguard(
        "the queue delivers a message 300 times",
        "an outage of a day moves every event to the dead-letter queue",
        (Setting("template.yaml:maxReceiveCount", "QUEUE", {"max_receive_count": 10}),),
        written="a_day_without_dynamodb",
    ),
    Safeguard(
        "Lambda tries a batch of the stream any number of times",
        "an outage of some hours parks every batch",
        (Setting("template.yaml:MaximumRetryAttempts", "STREAM", {"max_retries": 100}),),
        written="hours_without_rankings",
    ),
    Safeguard(
        "Lambda reads in the projector's answer which records failed",
        "records that failed count as done",
        (Setting("template.yaml:FunctionResponseTypes", "STREAM", {"reports": False}),),
        written="hours_without_rankings",
    ),
    Safeguard(
        "Lambda splits a batch that fails as a whole",
        "a batch that takes too long never finishes, and is parked in the end",
        (Setting("template.yaml:BisectBatchOnFunctionError", "STREAM", {"bisects": False}),),
        written="a_batch_that_is_too_much",
    ),
    Safeguard(
        "records that Lambda gives up go to the failure bucket",
        "an outage of more than twelve hours loses changes",
        (Setting("template.yaml:DestinationConfig", "STREAM", {"keeps_failures": False}),),
        written="longer_than_records_are_tried",
    ),
    Safeguard(
        "a replay also reads what Lambda has parked",
        "the changes of a mapping that was disabled are lost",
        (Change("maintain.failures.parked_objects:_records", _none_of_lambda),),
        written="disabled_for_most_of_a_day",
    ),
    Safeguard(
        "an audit looks for the entries of every member",
        "nobody notices a change that the stream has dropped",
        (Change("maintain.audit.audit:BoardAudit._members", returns(None)),),
        written="disabled_for_longer_than_a_day",
    ),
    Safeguard(
        "the entry of a member is read from the table",
        "a rank is as old as the sorted index",
        (Change("aws.dynamodb.rankings.ranking_reads:DynamoRankingsReader._entries", _from_the_index),),
        written="an_index_minutes_behind",
    ),
)
