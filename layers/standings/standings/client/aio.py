"""The client for programs that use asyncio, such as a backend in FastAPI.

    from standings.client import aio

    async with aio.connect("standings") as standings:
        await standings.post("berlin-2026", "u123", points=3)
        await standings.board("berlin-2026").rank("u123", window="last-7-days")

Every call is that of `standings.client`, with the same arguments, answers and errors. It runs on a thread of the
client's own, so the loop goes on meanwhile. If a task is cancelled, its call may be done all the same.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, Self, TypeVar, Unpack

from standings.client import standings as client
from standings.client.posts import Batch as ClientBatch

if TYPE_CHECKING:
    from standings.client import answer_types

THREADS: Final = 16  # Calls of a client that run at a time; others wait for one of them to end
P = ParamSpec("P")
T = TypeVar("T")
Run = Callable[..., Coroutine[Any, Any, Any]]


class Calls:
    """A thing of the other client, whose calls are awaited here. `run` runs one on a thread."""

    def __init__(self, of: Any, run: Run) -> None:
        self._of = of
        self._run = run


def _awaited(call: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """The same call, to be awaited."""

    @wraps(call)
    async def awaited(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        found: T = await self._run(call, self._of, *args, **kwargs)
        return found

    return awaited


class Board(Calls):
    """The calls of one board; `Standings.board` makes one. Each raises what the same call of the other client does."""

    register = _awaited(client.Board.register)
    hide = _awaited(client.Board.hide)
    show = _awaited(client.Board.show)
    remove = _awaited(client.Board.remove)
    delete = _awaited(client.Board.delete)
    definition = _awaited(client.Board.definition)
    member = _awaited(client.Board.member)
    rank = _awaited(client.Board.rank)
    rank_of_score = _awaited(client.Board.rank_of_score)
    ranks = _awaited(client.Board.ranks)
    top = _awaited(client.Board.top)
    page = _awaited(client.Board.page)
    around = _awaited(client.Board.around)
    history = _awaited(client.Board.history)
    percentile = _awaited(client.Board.percentile)
    distribution = _awaited(client.Board.distribution)

    @property
    def name(self) -> str:
        """The board's name, such as `berlin-2026`."""
        return str(self._of.name)

    async def pages(self, limit: int = 100, **ranking: Unpack[client.Shown]) -> "AsyncIterator[answer_types.Page]":
        """The whole list, page by page: `async for page in board.pages(): …`."""
        pages = self._of.pages(limit, **ranking)
        while (page := await self._run(next, pages, None)) is not None:
            yield page


class Batch(Calls):
    """Events that are sent many at a time; `Standings.batch` makes one. Await each call, to keep the order of a member.

    The end of `async with` waits until all are on the queue, and raises PostError if some are not.
    """

    post = _awaited(ClientBatch.post)
    correct = _awaited(ClientBatch.correct)
    retract = _awaited(ClientBatch.retract)
    post_event = _awaited(ClientBatch.post_event)
    flush = _awaited(ClientBatch.flush)

    async def __aenter__(self) -> Self:
        self._of.__enter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._run(self._of.__exit__, *raised)


class Standings(Calls):
    """A client of a stack; `connect` makes one. The end of `async with`, or `close`, ends its threads."""

    post = _awaited(client.Standings.post)
    correct = _awaited(client.Standings.correct)
    retract = _awaited(client.Standings.retract)
    post_event = _awaited(client.Standings.post_event)
    event = _awaited(client.Standings.event)
    about = _awaited(client.Standings.about)
    boards = _awaited(client.Standings.boards)
    member_boards = _awaited(client.Standings.member_boards)
    profile = _awaited(client.Standings.profile)
    put_profile = _awaited(client.Standings.put_profile)
    search = _awaited(client.Standings.search)

    def __init__(self, of: client.Standings) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="standings")
        super().__init__(of, self._on_a_thread)

    def board(self, name: str) -> Board:
        """A board, whose rankings can be read. This sends no request."""
        return Board(self._of.board(name), self._run)

    def batch(self, total: int | None = None, *, progress: bool = True) -> Batch:
        """Post many events: `async with standings.batch() as batch: await batch.post("berlin-2026", "u7", km=1)`."""
        return Batch(self._of.batch(total, progress=progress), self._run)

    async def close(self) -> None:
        """Wait until the calls that run have ended, and end the threads."""
        await asyncio.to_thread(self._threads.shutdown)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _on_a_thread(self, call: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, copy_context().run, partial(call, *args, **kwargs))


def _opened(connect: Callable[P, client.Standings]) -> Callable[P, Standings]:
    return wraps(connect)(lambda *args, **kwargs: Standings(connect(*args, **kwargs)))


connect = _opened(client.connect)
