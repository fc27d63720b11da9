"""Logs and metrics. Powertools reads the service, the namespace and the log level from environment variables."""

import logging
import os

from aws_lambda_powertools import Logger, Metrics

logger = Logger()
metrics = Metrics()
# Powertools prefers Lambda's own level. That one is never above INFO, because metrics count as INFO for Lambda.
logging.getLogger(logger.service).setLevel(os.environ.get("POWERTOOLS_LOG_LEVEL", "INFO"))


class InternalError(Exception):
    """An internal error, logged without its message."""


def stack_of(error: BaseException) -> InternalError:
    """Return a bug's type and stack to log as `exc_info`, without messages: they may quote what a producer sent."""
    return InternalError(type(error).__name__).with_traceback(error.__traceback__)
