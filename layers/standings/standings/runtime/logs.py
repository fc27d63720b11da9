"""Logs and metrics. The service's name, the namespace and the log level come from Powertools' environment variables."""

from aws_lambda_powertools import Logger, Metrics

logger = Logger()
metrics = Metrics()


class InternalError(Exception):
    """Stands in the log for an error that is a bug of ours."""


def stack_of(error: BaseException) -> InternalError:
    """An error to log as `exc_info`: it has the stack and the type of a bug, but not its text.

    The text of an error, and of those that led to it, may quote what a producer sent.
    """
    return InternalError(type(error).__name__).with_traceback(error.__traceback__)
