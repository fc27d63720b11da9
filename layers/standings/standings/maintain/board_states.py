"""How boards are: what is being done to them, when they were audited, and how much of them is settled."""

from collections.abc import Collection
from typing import Any, Final

from standings.catalog import BoardCatalog
from standings.domain.boards import Family
from standings.domain.coverage import BoardRecord
from standings.domain.windows import instant
from standings.maintain.audit import AuditPosition
from standings.maintain.turns import Lease
from standings.runtime.clock import Clock
from standings.stores import SLOTS

MAX_SHOWN: Final = 100  # Boards in one answer: so many records are one request


def show(
    catalog: BoardCatalog, audits: Lease[AuditPosition], clock: Clock, deadline: float, *, boards: Collection[str]
) -> dict[str, Any]:
    """How the first 100 of these boards are: `{"done": True, "boards": [{"board": "b", "state": "open", …}]}`.

    A state is `open`, `rebuild`, `delete` (both have a `job`), `deleted`, `ended`, `no-family` or `unused`: it has
    had no event. `audited` is the turn of audits that last looked at the board, with the differences of all its
    boards. `settled` counts the rankings that are settled, or being settled; None: that is not
    noted yet, or the board settles nothing. Nothing is changed. Raises StoreUnavailableError.
    """
    names = sorted(set(boards))[:MAX_SHOWN]
    backoff = clock.backoff(deadline)
    records = backoff.retry(catalog.records.records, filter(catalog.boards.family, names))
    position, now = backoff.retry(audits.read), clock.now()
    shown = [_shown(name, catalog.boards.family(name), records.get(name), position, now) for name in names]
    return {"done": True, "boards": shown}


def _shown(
    name: str, family: Family | None, record: BoardRecord | None, position: AuditPosition, now: int
) -> dict[str, Any]:
    shown = {"board": name, "family": None if family is None else family.pattern}
    if record is None or record.is_gone(now) or family is None:
        return {**shown, "state": "no-family" if family is None else "unused"}
    job = None
    if record.job is not None:
        task, phase, since, _, slot, _, members = record.job
        job = {"task": task, "phase": phase, "since": instant(since), "members": members}
        job |= {"part": slot, "parts": SLOTS}
    return {
        **shown,
        "state": _state(record, now),
        "begun": instant(record.begun),
        "generation": record.generation,
        "job": job,
        "audited": _audited(name, record, position),
        "settled": None if record.settled is None else len(record.settled),
    }


def _state(record: BoardRecord, now: int) -> str:
    if record.deleted:
        return "deleted"
    if record.has_ended(now):
        return "ended"
    return "open" if record.job is None else record.job.task


def _audited(name: str, record: BoardRecord, position: AuditPosition) -> dict[str, Any] | None:
    """The turn of audits that last looked at a board; None if none has. A turn goes by the names of boards."""
    passed = position.turn if position.board is not None and name < position.board else None
    for turn in (passed, position.last):
        if turn is not None and (turn.until is None or record.begun <= turn.until):
            found = {"boards": turn.boards, "drift": turn.drift, "failed": name in turn.failed}
            return {"since": instant(turn.since), "until": instant(turn.until), **found}
    return None
