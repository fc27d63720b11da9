"""The billed amounts of traces, and of keys of KMS: what the parameters `Tracing` and `KmsKeyArn` add."""

from typing import Final

from benchmarks.models import assumed
from benchmarks.models.cost.prices import Bill
from benchmarks.models.cost.spending import Load, of_table_keys

SAMPLED: Final = 0.05
"""The share of a function's runs that Lambda traces, besides the first of each second.

https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html
"""


def traced(runs: float) -> float:
    """Return the traces a second of a function with so many runs a second."""
    return min(runs, 1.0) + SAMPLED * max(0.0, runs - 1.0)


def traces(load: Load) -> float:
    """Return the traces a second with `Tracing: Active`: of the writer, the projector and the query function."""
    batches = load.events_per_second / load.traffic.batch
    return 2 * traced(batches) + traced(load.reads_per_second)


def of_tracing(load: Load) -> Bill:
    """Return the amounts of a month with `Tracing: Active`."""
    return Bill(traces=traces(load) * assumed.MONTH)


def of_own_key() -> Bill:
    """Return the amounts of a month of a key of one's own: the key, and its use by tables and by the queue.

    SQS asks twice for each producer and once for each consumer in each period for which it reuses a data key.
    https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
    """
    asked = 2 * assumed.PRODUCERS + 1
    return Bill(key_months=1, key_requests=of_table_keys().key_requests + asked * assumed.MONTH / assumed.KEY_REUSED)
