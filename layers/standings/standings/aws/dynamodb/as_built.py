"""Sends transactions without the copy that botocore makes of them."""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any, Final

import orjson
from botocore.exceptions import ParamValidationError

_ACTIONS: Final = "standings.actions"


def send_as_built(client: Any) -> None:
    """Make a botocore client send the actions of a transaction as they are.

    botocore checks and copies every value of a request, which takes longer than all other work on an event. Our
    actions already have the form of the request, except for bytes. botocore still checks the first action.
    """
    client.meta.events.register("provide-client-params.dynamodb.TransactWriteItems", _hold_back)
    client.meta.events.register("before-call.dynamodb.TransactWriteItems", _put_in)


def _hold_back(params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> dict[str, Any]:
    context[_ACTIONS] = params["TransactItems"]
    return {**params, "TransactItems": params["TransactItems"][:1]}


def _put_in(params: dict[str, Any], context: Mapping[str, Any], **_: Any) -> None:
    try:
        # Keep the rest of the request: botocore has added a token.
        request = {**orjson.loads(params["body"]), "TransactItems": context[_ACTIONS]}
        params["body"] = orjson.dumps(request, default=_base64)
    except orjson.JSONEncodeError as error:
        raise ParamValidationError(report=str(error)) from error


def _base64(value: Any) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"expected bytes, got {type(value).__name__}")
    return b64encode(value).decode()
