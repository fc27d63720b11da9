"""What Lambda makes of a function's answer to a batch, where it reports failures by item.

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
    """An answer that Lambda takes for a failure of the whole batch."""


def failed_ids(answer: Any, known: set[str]) -> set[str]:
    """Return the ids that an answer reports; nothing at all reports none."""
    try:
        json.dumps(answer)
    except (TypeError, ValueError) as error:
        raise BadAnswerError(f"not JSON: {answer!r}") from error
    if answer is None or answer == {}:
        return set()
    if not isinstance(answer, Mapping) or not answer.keys() >= {"batchItemFailures"}:
        raise BadAnswerError(f"no batchItemFailures: {answer!r}")
    found = set()
    for failure in answer["batchItemFailures"] or ():
        identifier = failure.get("itemIdentifier") if isinstance(failure, Mapping) else None
        if not isinstance(identifier, str) or identifier not in known:
            raise BadAnswerError(f"an itemIdentifier that is not of this batch: {failure!r}")
        found.add(identifier)
    return found


def invoke(
    handler: Handler, records: list[dict[str, Any]], context: Context, known: set[str]
) -> set[str] | BaseException:
    """Invoke a function with a batch: the ids it reports, or why the whole batch has failed."""
    try:
        return failed_ids(handler({"Records": records}, context), known)
    except (Exception, Killed) as error:  # noqa: BLE001 - as Lambda does, whatever it is
        return error
