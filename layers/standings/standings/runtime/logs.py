"""Logs and metrics. Powertools reads the service, the namespace and the log level from environment variables."""

from aws_lambda_powertools import Logger, Metrics

logger = Logger()
metrics = Metrics()


class InternalError(Exception):
    """An internal error, logged without its message."""


def stack_of(error: BaseException) -> InternalError:
    """Return a bug's type and stack to log as `exc_info`, without messages: they may quote what a producer sent."""
    return InternalError(type(error).__name__).with_traceback(error.__traceback__)
