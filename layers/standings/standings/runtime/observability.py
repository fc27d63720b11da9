"""Logs and metrics. The service's name, the namespace and the log level come from Powertools' environment variables."""

from aws_lambda_powertools import Logger, Metrics

logger = Logger()
metrics = Metrics()
