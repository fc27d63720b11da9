"""Rebuilds all boards whose names match a glob, side by side: most of a rebuild is waiting."""

from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from standings.maintain.rebuild.phases import Progress
from standings.maintain.rebuild.rebuild import Rebuild
from standings.ports.board_records import REBUILD
from standings.ports.errors import StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS
from standings.runtime.retry import with_retry


def rebuild_all(rebuild: Rebuild, pattern: str, cursor: int | None, deadline: float) -> dict[str, Any]:
    """Continue the rebuilds of all boards that match, until a deadline of the monotonic clock.

    `cursor` is that of the previous answer: boards whose rebuild began later are not rebuilt again. A board whose items
    cannot be read or written now is undone, and is named in `problems`.
    """
    since = rebuild.clock.now() if cursor is None else cursor
    backoff = rebuild.clock.backoff(deadline)
    boards, waits, problems = 0, list[float](), list[dict[str, str]]()
    after: str | None = None
    while names := with_retry(partial(rebuild.catalog.records.names, after, MAX_ACTIONS), backoff):
        after = names[-1]
        for name in names:
            if not fnmatchcase(name, pattern) or rebuild.catalog.boards.family(name) is None:
                continue
            boards += 1
            if backoff.expired:
                waits.append(0.0)
                continue
            try:
                progress = _go_on(rebuild, name, since, deadline)
            except StoreUnavailableError as error:
                waits.append(0.0)
                problems.append({"board": name, "why": str(error)})
            else:
                waits += [progress.wait] if progress is not None and not progress.done else []
    answer = {"boards": boards, "boards_done": boards - len(waits), "problems": problems[:MAX_ACTIONS]}
    return {"done": not waits, "cursor": since, **answer, "wait": min(waits, default=0.0)}


def _go_on(rebuild: Rebuild, board: str, since: int, deadline: float) -> Progress | None:
    """Continue the rebuild of a board for at most half of the time that is left; None if it is done."""
    now = rebuild.clock.monotonic()
    deadline = now + (deadline - now) / 2
    record = with_retry(lambda: rebuild.catalog.current(board), rebuild.clock.backoff(deadline))
    if record is None or (record.job is None and record.renewed >= since):
        return None
    return rebuild.go_on(board, REBUILD, deadline, begin=record.job is None)
