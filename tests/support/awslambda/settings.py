"""The settings of the two event source mappings and of the queue, as template.yaml deploys them."""

from dataclasses import dataclass
from typing import Any, Final

from tests.support.dynamodb.tables import template


@dataclass(frozen=True)
class StreamSettings:
    """The mapping from the stream of Scores to the projector. Ages are in seconds; -1 means without limit."""

    max_record_age: int
    max_retries: int
    bisects: bool
    """Whether a batch is halved if the function fails as a whole."""
    reports: bool
    """Whether Lambda reads in the answer which records failed. Without this, any answer means that all are done."""
    keeps_failures: bool
    """Whether batches that are given up go to the failure bucket."""


@dataclass(frozen=True)
class QueueSettings:
    """The queue of events."""

    visibility: int
    """Seconds until a message that was received and not deleted is delivered again."""
    max_receive_count: int


def timeout(function: str) -> int:
    """Return the timeout of a function in seconds, by its logical id."""
    seconds: int = _resource(function)["Timeout"]
    return seconds


def _resource(name: str) -> dict[str, Any]:
    properties: dict[str, Any] = template()["Resources"][name]["Properties"]
    return properties


_MAPPING: Final = _resource("ProjectorFunction")["Events"]["Scores"]["Properties"]
STREAM: StreamSettings = StreamSettings(
    max_record_age=_MAPPING["MaximumRecordAgeInSeconds"],
    max_retries=_MAPPING["MaximumRetryAttempts"],
    bisects=_MAPPING["BisectBatchOnFunctionError"],
    reports="ReportBatchItemFailures" in _MAPPING["FunctionResponseTypes"],
    keeps_failures="OnFailure" in _MAPPING["DestinationConfig"],
)
_QUEUE: Final = _resource("ActivityQueue")
QUEUE: QueueSettings = QueueSettings(_QUEUE["VisibilityTimeout"], _QUEUE["RedrivePolicy"]["maxReceiveCount"])
