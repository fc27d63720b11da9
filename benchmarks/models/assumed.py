"""The assumptions of the models of cost and capacity; nothing here can measure them. Both pages state them."""

from math import ceil
from typing import Final

TRANSACTION: Final = 0.020
"""Seconds of a transaction of up to 100 actions, committed or cancelled."""

WRITE: Final = 0.005
"""Seconds of a write of one item outside a transaction."""

READ: Final = 0.005
"""Seconds of a read of up to 100 items."""

INVOCATION: Final = 0.010
"""Seconds of a run of a function besides its work: passing the batch, parsing it, reporting."""

EVENT: Final = 0.00015
"""CPU seconds of the writer per event, and of the projector per record, at 1,024 MB. More than `builds.json` has."""

MOVE: Final = 0.00015
"""CPU seconds of the projector per move, and per single write."""

ANSWER: Final = 0.012
"""Seconds of the query function for one answer: two rounds of reads, and its own work."""

WAITED: Final = 2 * READ
"""Seconds of those in which it waits for reads."""

SIDE_BY_SIDE: Final = 8
"""Transactions of different rankings that a projector has in flight at once (`wiring.rankings.MAX_CALLS`)."""

WRITES_SIDE_BY_SIDE: Final = 16
"""Single writes that a projector has in flight at once (`wiring.rankings.MAX_WRITES`)."""

MEMORY: Final = 1.024
"""Gigabytes of each function: the template's default.

Lambda gives processor in proportion to it, so with half as much a function's own work takes twice as long.
https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
"""

METRICS_LOGGED: Final = {"writer": 310, "projector": 295}
"""Bytes of the line of metrics that a run logs. The query function logs nothing for an answer that went well."""

SYSTEM_LOGGED: Final = 470
"""Bytes that Lambda logs of a run where `SystemLogLevel` is INFO: its start and its report."""

ACCESS_LOGGED: Final = 384
"""Bytes that the API logs of a request with `AccessLog`."""

LOG_EVENT: Final = 26
"""Bytes that CloudWatch Logs adds to each line; they are in the figures above.

https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
"""

METRICS: Final = 7
"""Custom metrics of a healthy stack: events, moves, their lags, and at some time removed tiers and two conflicts."""

ALARMS: Final = 23
"""Alarms of a stack whose parameters have their defaults, each of one metric."""

PER_ITEM: Final = 100
"""Bytes that DynamoDB adds to the storage of an item, and to that of an index row."""

POLLERS: Final = 5
"""Pollers that Lambda starts for a queue; each gathers batches of its own.

It may go down to `FEW_POLLERS` when there is little to do, but not for a queue with `MaximumConcurrency`.
https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
"""

FEW_POLLERS: Final = 2

LONG_POLL: Final = 20.0
"""Seconds of a long poll of an empty queue."""

KEY_REUSED: Final = 300.0
"""Seconds for which DynamoDB and SQS use a key before they ask KMS again.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.howitworks.html
"""

TABLE_READERS: Final = 8
"""Pairs of a role and a table or stream that it calls. DynamoDB keeps a table's key for each caller.

Writer: Scores, Receipts. Projector: Scores, its stream, Rankings. Query: Scores, Rankings. Command: Scores. AWS does
not say how many of its servers keep one: each further costs the same again.
"""

PRODUCERS: Final = 2
"""Roles that send to the queue of events: the command function, and a producer of yours."""

MONTH: Final = 730 * 3600.0
"""Seconds of a month in AWS's price pages."""


def single_writes(count: float, memory: float = MEMORY) -> float:
    """Return the seconds that a projector takes for single writes: its own work, and requests, some side by side."""
    return worked(count * MOVE, memory) + ceil(count / WRITES_SIDE_BY_SIDE) * WRITE


def worked(seconds: float, memory: float) -> float:
    """Return the seconds that a function of so many gigabytes takes for its own work."""
    return seconds * MEMORY / memory
