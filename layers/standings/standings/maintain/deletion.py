"""Deletes a board for somebody who does not wait: one call begins the deletion, and others bring it to its end."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from standings.catalog import BoardCatalog
from standings.domain.boards import family_of
from standings.domain.coverage import DELETE
from standings.domain.errors import NotFoundError, ended
from standings.domain.windows import instant
from standings.maintain.rebuild import Rebuild, being_left
from standings.runtime.clock import Clock
from standings.stores import StoreUnavailableError

MOST_CALLS: Final = 12
"""Calls of the maintenance function in a row that finish a deletion: some three hours. Lambda ends a chain of 16."""
CallLater = Callable[[Mapping[str, Any]], None]
"""Calls the maintenance function with an event, later: `call_later({"delete": {"board": "b", "calls": 12}})`."""


def request(catalog: BoardCatalog, clock: Clock, call_later: CallLater, board: str) -> dict[str, Any]:
    """Begin a deletion, or go on with one that has begun: `{"board": "b", "status": "deleting"}`.

    From now on the board's events are refused, and nothing of it is read. Raises NotFoundError for a board that has no
    event or member, or has ended, and StoreUnavailableError.
    """
    family = family_of(catalog.boards, board)

    def begin() -> None:
        record = catalog.current(board)
        if record is None or record.deleted:
            raise NotFoundError("no-such-board", "No such board", f"board {board!r} has neither events nor members")
        if record.has_ended(clock.now()):
            raise ended(board, instant(record.ends))
        if record.is_being_deleted:
            return
        if not catalog.records.put(being_left(record, family, clock.now()), record):
            raise StoreUnavailableError(f"others keep writing the record of board {board!r}")

    clock.retry(begin)
    # Lambda may call it twice, and long after. So it does not begin a deletion: events may begin the board again.
    clock.retry(call_later, {"delete": {"board": board, "begin": False, "calls": MOST_CALLS}})
    return {"board": board, "status": "deleting"}


def finish(rebuilds: Rebuild, clock: Clock, deadline: float, *, board: str, calls: int) -> dict[str, Any]:
    """Bring a deletion to its end until a deadline in seconds of the monotonic clock; then another call does.

    Most of that is waiting. The answer is that of `Rebuild.continue_job`. If it is not done, `again` is the event with
    which to call the function again, as `{"delete": {"board": "b", "begin": False, "calls": 11}}`. `calls` is how many
    calls there may be in all.
    RuntimeError: it is not done after so many.
    """
    answer: dict[str, Any] = {"board": board, "done": False}
    try:
        answer = rebuilds.continue_job(board, DELETE, deadline, begin=False)
        while not answer["done"] and clock.monotonic() + answer["wait"] < deadline:
            clock.sleep(answer["wait"])
            answer = rebuilds.continue_job(board, DELETE, deadline, begin=False)
    except StoreUnavailableError:  # It was tried until the deadline
        if calls <= 1:
            raise
    if not answer["done"]:
        if calls <= 1:
            raise RuntimeError(f"board {board!r} is not deleted yet: delete it again, which goes on")
        answer["again"] = {"delete": {"board": board, "begin": False, "calls": calls - 1}}
    return answer
