"""Reads a function's answer to a batch as Lambda does, with ReportBatchItemFailures.

https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
https://docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.awslambda.context import Context, Killed

Handler = Callable[[dict[str, Any], Any], Any]


class BadAnswerError(Exception):
    """The answer is invalid: Lambda treats the whole batch as failed."""


def failed_ids(answer: Any, known: set[str]) -> set[str]:
    """Return the ids that an answer reports as failed. An empty answer reports none."""
    try:
        json.dumps(answer)
    except (TypeError, ValueError) as error:
        raise BadAnswerError(f"expected an answer that can be written as JSON, got {answer!r}") from error
    if answer is None or answer == {}:
        return set()
    if not isinstance(answer, Mapping) or not answer.keys() >= {"batchItemFailures"}:
        raise BadAnswerError(f"expected an answer with batchItemFailures, got {answer!r}")
    failed = set()
    for failure in answer["batchItemFailures"] or ():
        identifier = failure.get("itemIdentifier") if isinstance(failure, Mapping) else None
        if not isinstance(identifier, str) or identifier not in known:
            raise BadAnswerError(f"expected the itemIdentifier of an item of this batch, got {failure!r}")
        failed.add(identifier)
    return failed


def invoke(
    handler: Handler, records: list[dict[str, Any]], context: Context, known: set[str]
) -> set[str] | BaseException:
    """Invoke a function with a batch. Return the ids that failed, or the exception if the whole batch failed."""
    try:
        return failed_ids(handler({"Records": records}, context), known)
    except (Exception, Killed) as error:  # noqa: BLE001 - Lambda does the same with every exception
        return error
