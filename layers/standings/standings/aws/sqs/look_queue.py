"""The queue of looks at the tops of rankings."""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

import orjson

from standings.aws.sdk_errors import errors_as_unavailable
from standings.aws.sqs.messages import MAX_ENTRIES, SQSClient, said_of
from standings.ports.announcements import Look, RankingName
from standings.ports.errors import StoreUnavailableError

_SQS_ERRORS: Final = errors_as_unavailable("SQS")


class LookQueue:
    """The queue of looks (`ports.announcements.Looks`). The first call makes the client."""

    def __init__(self, client: Callable[[], SQSClient], queue_url: str) -> None:
        self._sqs = cache(client)
        self._queue_url = queue_url

    def ask(self, looks: Iterable[tuple[Look, int]]) -> None:
        entries: list[Any] = [
            {"Id": str(number), "MessageBody": _encoded(look), "DelaySeconds": delay}
            for number, (look, delay) in enumerate(looks)
        ]
        for start in range(0, len(entries), MAX_ENTRIES):
            self._send(entries[start : start + MAX_ENTRIES])

    @_SQS_ERRORS
    def _send(self, entries: list[Any]) -> None:
        answer = self._sqs().send_message_batch(QueueUrl=self._queue_url, Entries=entries)
        for failed in answer.get("Failed", []):
            raise StoreUnavailableError(f"SQS: {said_of(failed)}")


def decode_look(body: str) -> Look:
    """The look of a message; ValueError if it is none."""
    try:
        content = orjson.loads(body)
        return Look(RankingName(*content["ranking"]), content["tries"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"expected a look such as {_encoded(Look(RankingName('b', 'points', 'all', 0)))}") from error


def _encoded(look: Look) -> str:
    return orjson.dumps({"ranking": [*look.name], "tries": look.tries}).decode()
