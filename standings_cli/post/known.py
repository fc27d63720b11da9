"""Asks the API what would become of events: which are known, for they have counted, and which are refused."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import chain, islice, repeat
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from standings.aws.sqs import AT_FILLED_IN, OutgoingMessage
from standings.client.errors import ApiError, NoAnswerError, StackError

if TYPE_CHECKING:
    from standings.client.api import Api

MOST: Final = 100  # Events of one request
AHEAD: Final = 4  # Requests at a time
_MOST_BYTES: Final = 1_000_000
_FIRST_AT: Final = re.compile(r'\{"at":"[^"]*",')
T = TypeVar("T")
Result = Mapping[str, Any]
"""What would become of an event: `{"status": "known", "detail": None}`. The status is `new`, `known` or `refused`."""
UNASKED: Final[Result] = {"status": "", "detail": None}
_MOST_BOARDS: Final = 10
_NO_FAMILY: Final = re.compile("board: no family in boards.toml matches '(.*)'")


@dataclass
class Known:
    """Asks for a batch of events after the other: `Known(lambda: connection.api).results(messages)`.

    Nobody has to ask: an event that is posted again counts once. If the API does not answer, `problem` says why, and it
    is not asked again. The first request is tried once, so an API that cannot be reached costs little time. Later ones
    are retried as usual.

    With `history` it also asks whether a known event counted without history, and so in too few periods. With
    `looks_at_boards` it also reads the first 10 boards of the events: one that has ended, or that somebody is
    deleting, refuses all of its events.
    """

    api: "Callable[[], Api]"
    is_asked: bool = True
    problem: str = ""
    history: bool = False
    looks_at_boards: bool = False
    _has_answered: bool = False
    _gone: dict[str, str] = field(default_factory=dict)  # By board why it takes no events, or nothing
    _similar: dict[str, str] = field(default_factory=dict)  # By the name of a board that has no family

    def results(self, messages: Sequence[OutgoingMessage]) -> list[Result]:
        """What would become of each event, of at most `MOST`. It ends before the first without an answer."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - at first use

        if not self.is_asked or not messages:
            return []
        if len(messages) > 1 and sum(len(message.body) for message in messages) > _MOST_BYTES:
            half = len(messages) // 2
            return [*self.results(messages[:half]), *self.results(messages[half:])]
        try:
            body = f"[{','.join(map(_as_posted, messages))}]".encode()
            api = self.api() if self._has_answered else replace(self.api(), attempts=1)
            asked = {"dry_run": "true", **({"history": "true"} if self.history else {})}
            results = api.answer("POST", ["events"], asked, body)["results"]
            found: list[Result] = [{"status": result["status"], "detail": result["detail"]} for result in results]
        except (ApiError, NoAnswerError, StackError, BotoCoreError, ClientError) as error:
            self.is_asked, self.problem = False, str(error)
            return []
        except (KeyError, TypeError):
            self.is_asked, self.problem = False, "the answer is not that of a stack's API"
            return []
        self._has_answered = True
        if not self.looks_at_boards:
            return found
        return [self._looked_at(message, result) for message, result in zip(messages, found, strict=False)]

    def _looked_at(self, message: OutgoingMessage, result: Result) -> Result:
        """A result, refused if its board has gone, and with the board that is meant if there is none of its name."""
        if result["status"] == "refused" and (match := _NO_FAMILY.search(result["detail"])):
            return {**result, "detail": f"{result['detail']}{self._meant(match[1])}"}
        if result["status"] != "new":
            return result
        reason = next(filter(None, map(self._why_gone, _boards_of(message))), "")
        return {"status": "refused", "detail": reason} if reason else result

    def _why_gone(self, board: str) -> str:
        """Why a board takes no events; nothing if it does, or nobody knows."""
        if board not in self._gone and len(self._gone) < _MOST_BOARDS:
            self._gone[board] = ""
            try:
                self.api().read("boards", board)
            except ApiError as error:
                self._gone[board] = str(error) if error.kind in ("expired", "being-deleted") else ""
            except NoAnswerError:
                pass  # Who sends the event hears of it
        return self._gone.get(board, "")

    def _meant(self, board: str) -> str:
        """`: did you mean 'berlin-2026'?`, if there is a board of a similar name."""
        if board not in self._similar and len(self._similar) < _MOST_BOARDS:
            self._similar[board] = ""
            try:
                there = [one["board"] for one in self.api().read("boards", limit=1000)["boards"]]
            except (ApiError, NoAnswerError):
                there = []  # It may not ask: then nobody knows
            close = get_close_matches(board, there, 1)
            self._similar[board] = f": did you mean {close[0]!r}?" if close else ""
        return self._similar.get(board, "")

    def marked(
        self, things: Iterable[T], message: Callable[[T], OutgoingMessage], most: int, ahead: int
    ) -> Iterator[tuple[T, Result]]:
        """Yield things, `most` at a time, each with what would become of its message: `UNASKED` if nobody says it.

        Once the API has answered, it is asked about `ahead` more parts meanwhile: an answer takes longer than to post.
        """
        asked: deque[tuple[Sequence[T], Future[list[Result]]]] = deque()
        rest = iter(things)
        threads = ThreadPoolExecutor(max(ahead, 1))
        try:
            while part := [*islice(rest, most)]:
                asked.append((part, threads.submit(self.results, [message(thing) for thing in part])))
                while asked and (not self._has_answered or len(asked) > ahead or asked[0][1].done()):
                    yield from _marked(*asked.popleft())
            for each in asked:
                yield from _marked(*each)
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _marked(part: Sequence[T], asked: "Future[list[Result]]") -> Iterator[tuple[T, Result]]:
    yield from zip(part, chain(asked.result(), repeat(UNASKED)), strict=False)


def _boards_of(message: OutgoingMessage) -> Iterator[str]:
    event = orjson.loads(message.body)
    for part in event.get("updates", [event]):
        named = part.get("board")
        yield from named if isinstance(named, list) else [named] if isinstance(named, str) else ()


def _as_posted(message: OutgoingMessage) -> str:
    """An event as it is in its receipt: without the `at` that was filled in, or with the one that it was made from."""
    given = message.attributes.get(AT_FILLED_IN, {}).get("StringValue")
    if given is None:
        return message.body
    return _FIRST_AT.sub("{" if given == "true" else f'{{"at":"{given}",', message.body, count=1)
