"""Sends messages to a queue, several requests at a time, and keeps the order of each member's."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from math import inf
from queue import Empty, SimpleQueue
from threading import RLock, Thread
from typing import Any, Final, Generic, NamedTuple, TypeVar

from standings.aws.sqs import MAX_BYTES, MAX_ENTRIES, OutgoingMessage, size

SENDERS: Final = 8  # Requests that are under way at a time
MOST_HELD: Final = 320  # Things that wait, are under way, or are done before an earlier one. Whoever puts more waits
_LOOK_S: Final = 0.5  # On some systems a wait without an end cannot be interrupted
T = TypeVar("T")


class Sending(Generic[T]):
    """Sends the messages of things, up to ten with each request, on threads of its own. Threads may share it.

    Each request takes messages whose members are in no other request that is under way. So the messages of one member
    are sent in the order in which they are put. `send` sends one request, and returns the reasons for what the queue
    did not take, by position. Its error stops all: the things of its request wait again, and `results` raises it.
    """

    def __init__(self, send: Callable[[Sequence[OutgoingMessage]], Mapping[int, str]]) -> None:
        self._send = send
        # An interrupt may come between any two steps of Python, also within a Condition, which then stays locked. This
        # lock and the queue are C: they have no steps.
        self._lock = RLock()
        self._news = SimpleQueue[None]()  # Gets one thing, when a request has ended; then another takes its place
        self._numbers = count()
        self._held: dict[int, _Held] = {}  # What has no result yet, in order
        self._requests: list[list[int]] = []  # What is under way
        self._results: dict[int, tuple[T, str | None]] = {}
        self._due = 0.0  # Whatever has a smaller number is sent now, also if it is fewer than ten
        self._error: tuple[int, BaseException] | None = None  # With the first number of its request
        self._threads: list[Thread] = []

    def put(self, thing: T, message: OutgoingMessage, members: frozenset[str]) -> None:
        """Take a thing. It is sent together with others, as soon as they are ten, or when somebody waits for it."""
        held = _Held(thing, message, members, size(message.body, message.attributes))
        with self._lock:
            # If it is interrupted, a number may stay unused.
            self._held[next(self._numbers)] = held
            self._start()

    def results(self, *, until_sent: bool = False) -> Iterator[list[tuple[T, str | None]]]:
        """Yield the things that have a result, in the order in which they were put, each once, in lists.

        With each comes why the queue did not take it, or None. Waits while more than `MOST_HELD` are held; with
        `until_sent`, until all that were put before have a result. Raises an error of `send` when all before its
        request have one; then it may be called again, and sends that request again.
        """
        with self._lock:
            if until_sent:
                self._due = next(self._numbers)
            due = self._due
        while True:
            with self._lock:
                first = next(iter(self._held), inf)
                found = [self._results.pop(number) for number in sorted(self._results) if number < first]
                if not found:
                    self._raise()
                    if first >= due if until_sent else len(self._held) + len(self._results) <= MOST_HELD:
                        return
                    # All others may wait for the result of the first one.
                    self._due = max(self._due, first + 1)
                    self._start()
                news = self._news
            if found:
                yield found
            else:
                _wait(news)

    def end(self) -> None:
        """Wait for the threads to end, if all has been sent."""
        with self._lock:
            threads = [] if self._held else self._threads[:]
        for thread in threads:
            if thread.is_alive():
                thread.join()

    def stop(self) -> None:
        """Begin no further request."""
        with self._lock:
            self._held.clear()

    def _raise(self) -> None:
        """Raise the error of a request, if no earlier one is under way."""
        if self._error is None or any(request[0] < self._error[0] for request in self._requests):
            return
        error, self._error = self._error[1], None
        raise error

    def _start(self) -> None:
        """Start a thread if a request may begin. The thread starts the next one."""
        if not self._next():
            return
        thread = Thread(target=self._work, name="standings-sender", daemon=True)
        self._threads = [*(one for one in self._threads if one.is_alive()), thread]
        try:
            thread.start()
        except RuntimeError:
            # The interpreter exits, or the machine has no more threads: then the caller sends.
            self._threads.remove(thread)
            self._work()

    def _work(self) -> None:
        while True:
            with self._lock:
                request = self._next()
                if not request:
                    return
                self._requests.append(request)
                messages = [self._held[number].message for number in request]
                self._start()
            reasons, error = dict[int, str](), None
            try:
                reasons = dict(self._send(messages))
            except BaseException as raised:  # noqa: BLE001 - `results` raises it, to whoever posts
                error = raised
            with self._lock:
                self._settle(request, reasons, error)

    def _settle(self, request: list[int], reasons: Mapping[int, str], error: BaseException | None) -> None:
        self._requests.remove(request)
        if error is None:
            for position, number in enumerate(request):
                if number in self._held:
                    self._results[number] = self._held.pop(number).thing, reasons.get(position)
        elif self._error is None or request[0] < self._error[0]:
            self._error = request[0], error
        news, self._news = self._news, SimpleQueue()
        news.put(None)

    def _next(self) -> list[int]:
        """The numbers of the next request; none if it may not begin now, or has too few."""
        if self._error is not None or len(self._requests) >= SENDERS:
            return []
        under_way = {number for request in self._requests for number in request}
        waiting = {number: held for number, held in self._held.items() if number not in under_way}
        if len(waiting) < MAX_ENTRIES and next(iter(waiting), self._due) >= self._due:
            return []
        busy = {member for number in under_way & self._held.keys() for member in self._held[number].members}
        request, filled = list[int](), 0
        for number in chain.from_iterable(_together(waiting, busy)):
            filled += waiting[number].size
            if len(request) == MAX_ENTRIES or (request and filled > MAX_BYTES):
                return request
            request.append(number)
        return request if len(request) == MAX_ENTRIES or min(request, default=self._due) < self._due else []


def _wait(news: SimpleQueue[None]) -> None:
    with suppress(Empty):
        # Whoever gets it gives it to the next one who waits.
        news.put(news.get(timeout=_LOOK_S))


class _Held(NamedTuple):
    thing: Any
    message: OutgoingMessage
    members: frozenset[str]
    size: int


def _together(waiting: Mapping[int, _Held], busy: set[str]) -> list[list[int]]:
    """The numbers of what may be sent now, in groups that have no member in common, each in order.

    A request that takes a whole group leaves the other members to other requests. What has a busy member waits for its
    turn, and so does what comes later and has a member in common with it.
    """
    groups = dict[int, list[int]]()  # By the first number
    group_of = dict[str, int]()  # By member
    for number, held in waiting.items():
        if not busy.isdisjoint(held.members):
            busy |= held.members
            continue
        first, *others = sorted({group_of[member] for member in held.members if member in group_of}) or [number]
        for other in others:
            groups[first] = sorted(groups[first] + groups.pop(other))
            group_of = {member: first if group == other else group for member, group in group_of.items()}
        groups.setdefault(first, []).append(number)
        group_of |= dict.fromkeys(held.members, first)
    return [*groups.values()]
