"""Sends transactions as they were built, without botocore's copy."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

import orjson
from botocore.exceptions import ParamValidationError

_ACTIONS: Final = "standings.actions"


def send_as_built(client: Any) -> None:
    """Have a client of botocore put the actions of a transaction into its request as they are.

    botocore would look at every value of them and copy it, which takes longer than everything else that becomes of an
    event. They are built here, in the form in which they travel, all but bytes; the first one it still checks.
    """
    client.meta.events.register("provide-client-params.dynamodb.TransactWriteItems", _set_aside)
    client.meta.events.register("before-call.dynamodb.TransactWriteItems", _put_in)


def _set_aside(params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> dict[str, Any]:
    context[_ACTIONS] = params["TransactItems"]
    return {**params, "TransactItems": params["TransactItems"][:1]}


def _put_in(params: dict[str, Any], context: Mapping[str, Any], **_: Any) -> None:
    try:
        # What else there is in the request, a token for one, stays.
        request = {**orjson.loads(params["body"]), "TransactItems": context[_ACTIONS]}
        params["body"] = orjson.dumps(request, default=_written)
    except orjson.JSONEncodeError as error:
        raise ParamValidationError(report=str(error)) from error


def _written(value: Any) -> str:
    if not isinstance(value, bytes):
        raise TypeError(type(value))
    return b64encode(value).decode()
