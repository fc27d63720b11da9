"""Sends the actions of a transaction as they were built, without botocore's work on each (docs/decisions/0013)."""

from base64 import b64encode
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, Final

import orjson
from botocore.exceptions import ParamValidationError

_HELD: Final = "standings.transaction"
_OK: Final = SimpleNamespace(status_code=200)


def send_as_built(client: Any) -> None:
    """Make a botocore client send the actions of a transaction as they are.

    botocore checks and copies every value of a request, which takes longer than all other work on an event. Our
    actions already have the form of the request, except for bytes. botocore still makes the request, of the first
    action, and checks it. If it does not make the JSON of it that we do, transactions go botocore's way: a runtime of
    AWS may bring a botocore that speaks another protocol.
    """
    _AsBuilt(client)


class _AsBuilt:
    def __init__(self, client: Any) -> None:
        self._client = client
        self._works = True
        client.meta.events.register("provide-client-params.dynamodb.TransactWriteItems", self._hold_back)
        client.meta.events.register("before-call.dynamodb.TransactWriteItems", self._put_in)

    def _hold_back(self, params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> dict[str, Any] | None:
        if not self._works:
            return None
        context[_HELD] = params
        # Twice: DynamoDB refuses two actions on one item, should a botocore ever send this as it is.
        return {**params, "TransactItems": params["TransactItems"][:1] * 2}

    def _put_in(self, params: dict[str, Any], context: Mapping[str, Any], **_: Any) -> tuple[Any, Any] | None:
        """Write the request's body again. A return value takes the place of botocore's own call."""
        if _HELD not in context:
            return None
        held = context[_HELD]
        try:
            request = _fields(params["body"], orjson.dumps(held["TransactItems"][:1], default=_base64))
            if request is None:
                self._works = False
                return _OK, self._client.transact_write_items(**held)
            # Keep the rest of the request: botocore has added a token.
            params["body"] = orjson.dumps({**request, "TransactItems": held["TransactItems"]}, default=_base64)
        except orjson.JSONEncodeError as error:
            raise ParamValidationError(report=str(error)) from error
        return None


def _fields(body: Any, first: bytes) -> dict[str, Any] | None:
    """Return botocore's request, or None if its action is not what `first` has in JSON, a list of one."""
    try:
        request = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    as_expected = isinstance(request, dict) and request.get("TransactItems") == orjson.loads(first) * 2
    return request if as_expected else None


def _base64(value: Any) -> str:
    if not isinstance(value, bytes):
        raise TypeError(f"expected bytes, got {type(value).__name__}")
    return b64encode(value).decode()
