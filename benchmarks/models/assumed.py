"""What the models of cost and capacity take as given: times that no engine here can tell. Stated in both pages."""

from typing import Final

TRANSACTION: Final = 0.020
"""Seconds of a transaction of up to 100 actions, done or cancelled."""

READ: Final = 0.005
"""Seconds of a read of up to 100 items."""

INVOCATION: Final = 0.010
"""Seconds that one run of a function takes beside its work: handing over the batch, parsing it, reporting."""

EVENT: Final = 0.0002
"""Seconds of processor that the writer takes for an event, and the projector for a record, at 1,024 MB."""

MOVE: Final = 0.0002
"""Seconds of processor that the projector takes for a move."""

ANSWER: Final = 0.015
"""Seconds of the query function for one answer: two rounds of reads, and its own work."""

SIDE_BY_SIDE: Final = 8
"""Rankings in which one projector has transactions under way at once (`wiring.building_blocks.MAX_CALLS`)."""

MEMORY: Final = 1.024
"""Gigabytes of each function: the template's default."""

LOGGED: Final = 1_200
"""Bytes that one run of a function logs: start, end, report, and its metrics."""

METRICS: Final = 13
"""Metrics of its own that a stack emits while all is well."""

PER_ITEM: Final = 100
"""Bytes that storage counts on top of an item, and of its entry in an index."""

POLLERS: Final = 5
"""Pollers among which a queue's messages are divided at first, each gathering a batch of its own.

https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html
"""

LONG_POLL: Final = 20.0
"""Seconds that a poller waits at an empty queue."""

MONTH: Final = 730 * 3600.0
"""Seconds of a month, as AWS counts it."""
