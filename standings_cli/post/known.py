"""Asks the API which events are known: they have counted, and would not count again."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from standings.aws.sqs import AT_FILLED_IN, OutgoingMessage
from standings.client.errors import ApiError, NoAnswerError, StackError

if TYPE_CHECKING:
    from standings.client.api import Api

MOST: Final = 100  # Events of one request
AHEAD: Final = 4  # Requests at a time
_MOST_BYTES: Final = 1_000_000
_FIRST_AT: Final = re.compile(r'\{"at":"[^"]*",')
T = TypeVar("T")


@dataclass
class Known:
    """Asks for a batch of events after the other: `Known(lambda: connection.api).of(messages)` is such as `{0, 7}`.

    Nobody has to ask: an event that is posted again counts once. If the API does not answer, `problem` says why, and it
    is not asked again. The first request is tried once, so an API that cannot be reached costs little time. Later ones
    are retried as usual.
    """

    api: "Callable[[], Api]"
    is_asked: bool = True
    problem: str = ""
    _has_answered: bool = False

    def of(self, messages: Sequence[OutgoingMessage]) -> set[int]:
        """The positions of the known events among these, which are at most `MOST`."""
        return {number for number, result in enumerate(self.results(messages)) if result["status"] == "known"}

    def results(self, messages: Sequence[OutgoingMessage]) -> list[Mapping[str, Any]]:
        """What would become of each event: `[{"status": "new", …}]`. It ends before the first without an answer."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - at first use

        if not self.is_asked or not messages:
            return []
        if len(messages) > 1 and sum(len(message.body) for message in messages) > _MOST_BYTES:
            half = len(messages) // 2
            return [*self.results(messages[:half]), *self.results(messages[half:])]
        try:
            body = f"[{','.join(map(_as_posted, messages))}]".encode()
            api = self.api() if self._has_answered else replace(self.api(), attempts=1)
            results = api.answer("POST", ["events"], {"dry_run": "true"}, body)["results"]
            found: list[Mapping[str, Any]] = [
                {"status": result["status"], "detail": result["detail"]} for result in results
            ]
        except (ApiError, NoAnswerError, StackError, BotoCoreError, ClientError) as error:
            self.is_asked, self.problem = False, str(error)
            return []
        except (KeyError, TypeError):
            self.is_asked, self.problem = False, "the answer is not that of a stack's API"
            return []
        self._has_answered = True
        return found

    def marked(
        self, things: Iterable[T], message: Callable[[T], OutgoingMessage], most: int, ahead: int
    ) -> Iterator[tuple[T, bool]]:
        """Yield things, `most` at a time, each with whether its message is that of a known event.

        Once the API has answered, it is asked about `ahead` more parts meanwhile: an answer takes longer than to post.
        """
        asked: deque[tuple[Sequence[T], Future[set[int]]]] = deque()
        rest = iter(things)
        threads = ThreadPoolExecutor(max(ahead, 1))
        try:
            while part := [*islice(rest, most)]:
                asked.append((part, threads.submit(self.of, [message(thing) for thing in part])))
                while asked and (not self._has_answered or len(asked) > ahead or asked[0][1].done()):
                    yield from _marked(*asked.popleft())
            for each in asked:
                yield from _marked(*each)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _marked(part: Sequence[T], known: "Future[set[int]]") -> Iterator[tuple[T, bool]]:
    found = known.result()
    yield from ((thing, number in found) for number, thing in enumerate(part))


def _as_posted(message: OutgoingMessage) -> str:
    """An event as it is in its receipt: without the `at` that was filled in, or with the one that it was made from."""
    given = message.attributes.get(AT_FILLED_IN, {}).get("StringValue")
    if given is None:
        return message.body
    return _FIRST_AT.sub("{" if given == "true" else f'{{"at":"{given}",', message.body, count=1)
