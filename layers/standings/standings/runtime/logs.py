"""Logs and metrics. Powertools reads the service, the namespace and the log level from environment variables."""

import logging
import os

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

logger = Logger()
metrics = Metrics()
# Powertools prefers Lambda's own level. That one is never above INFO, because metrics count as INFO for Lambda.
logging.getLogger(logger.service).setLevel(os.environ.get("POWERTOOLS_LOG_LEVEL", "INFO"))


def emit_counts(**counts: int) -> None:
    """Emit counts by the names of their metrics, but none of 0: a metric costs in each hour in which it has data."""
    for name, count in counts.items():
        if count:
            metrics.add_metric(name, MetricUnit.Count, count)


class InternalError(Exception):
    """An internal error, logged without its message."""


def stack_of(error: BaseException) -> InternalError:
    """Return a bug's type and stack to log as `exc_info`, without messages: they may quote what a producer sent."""
    return InternalError(type(error).__name__).with_traceback(error.__traceback__)
