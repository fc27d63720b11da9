"""The names of faults and traps. The driver counts each when it happens, and the tests require that all happen.

A fault is something that the driver makes go wrong. A trap is a situation in which a wrong implementation would fail.
"""

from typing import Final

from .aws import FAULTS as OF_CALLS
from .aws import OTHERS

TRAPS: Final = {
    "done, not acknowledged, cut again": "an attempt updated some rankings and failed; its retry is another batch",
    "parked, replayed after newer": "a record was given up, and replayed after newer records of its member",
    "parked, replayed as the newest": "a record was given up, and replayed as the last one of its member",
    "parked by the projector": "only the newer of two definitions has the record's board",
    "there and back": "a score changed and changed back within one batch",
    "there and back, the middle late": "the change is delivered after the change back was projected",
    "a late hand": "two deliveries of one member's changes run at the same time",
    "delivered after newer": "a record is delivered after a newer one of its member was projected",
    "removed and back within seconds": "a member was removed and came back within a minute",
    "removed and back": "a member was removed and came back minutes to weeks later",
    "removed and back after its item has expired": "TTL deleted the item of a removed member before it came back",
    "counted again after a removal": "an event is sent again after all its members were removed",
    "from before a rebuild, of a member that is removed": "a record that no row of the new generation holds back",
    "deleted by hand": "somebody deleted a member's item in the table",
    "REMOVE record": "TTL deleted an item",
    "trimmed": "a writer removed the accumulators of ended periods from an item",
    "clocks: the item's stamp is ahead of the writer's": "the writer uses the timestamp in the item",
    "clocks: decided again": "a condition fails because the item has a later timestamp than the writer knew",
    "SDK retry": "the answer to a call was lost, and the SDK sent the call again",
    "minutes without the store": "the store throttled a writer and a projector, everything for ten minutes",
    "SDK gave up retries": "a process's client had used up its tokens, and tried once",
    "transaction in progress": "the SDK sent a transaction again while the first one was still running",
    "condition and conflict in one cancellation": "a cancelled transaction names both reasons",
    "definition changed between two images": "writers with different definitions wrote one item in turn",
    "half a transaction": "a read arrives while a transaction has written some of its items and others not",
    "two definitions at work": "functions with the old and the new definition run at the same time",
    "midnight": "a day begins in the board's time zone while events arrive",
    "clocks of a zone change": "daylight saving begins or ends on the day of some events",
    "late event": "an event counts in `all`, but is too late for its day or hour",
    "late event in a rolling window": "its day or hour has closed, and today's period of the window takes it",
    "late event beside a closed period": "so it does, and one that has closed and contains its day can still be read",
    "sent again weeks later": "a producer or a redrive sends an event again",
    "redriven": "a message comes back from the dead-letter queue",
    "unprocessed keys": "a batch read returned only some of the items",
    "stale read": "an eventually consistent read returned an old item",
    "bisected": "the poller halved a batch that failed as a whole",
    "split at the reported record": "the rest of a batch is delivered again as one batch, from the reported record on",
    "disabled for hours": "somebody disabled the mapping of the stream for 1 to 23 hours",
    "given up without a try": "a record was too old when its turn came",
    "ranks while the index is behind": "ranks are compared over HTTP while the sorted index lacks changes",
    "timed out": "an invocation reached its timeout",
    "given up, and goes on unseen": "the poller delivers records again while an attempt still works on them",
    "another lane": "projectors with too many conflicts count in different lanes of a tier",
    "cleaned": "a projector removes empty nodes from a tree",
    "rebuild beside events": "a board is rebuilt while events arrive",
    "audit beside events": "a board is audited while events arrive, without a false alarm",
    "read over HTTP": "the answers over HTTP are compared with the model",
    "delete beside events": "a board is deleted while events arrive",
    "writers meet on an item": "transactions of two writers conflict, for example on a clan",
    "projectors meet on an item": "transactions of two projectors conflict, for example on a tier",
}
OF_PEOPLE: Final = {"a member is merged into another one": "while events of both arrive"}
"""The traps of schedules in which members are merged."""
OF_ENDS: Final = {
    "a board ends": "while events of it arrive",
    "refused: the board has ended": "an event comes to a writer after the end",
    "known after the end": "an event that counted before the end is delivered again after it",
    "projected after the end": "a projector gets changes of a board that has ended",
    "TTL takes some items of a board": "that has ended, and leaves others",
    "a name is used again": "90 days after the end",
    "a member comes back in another life": "while the item of the first life is still there",
    "a task meets the end": "a rebuild or a deletion is under way when its board ends",
    "a period is settled": "of a board that ends",
}
"""The traps of schedules in which boards end."""

FAULTS: Final = frozenset(fault for faults in (*OF_CALLS.values(), OTHERS) for fault, *_ in faults) | {
    "a ranking is throttled",
    "batch delivered again",
    "batch delivered again from a record on",
    "delivered although deleted",
    "delivered by a poller that lost its shard",
    "duplicate delivery",
    "everything is throttled",
    "given up, and goes on unseen",
    "given up: too old",
    "id used for other content",
    "received too often",
    "replayed from an older checkpoint",
    "sent again days later",
    "sent twice",
    "timed out",
    "transaction conflict",
}
"""Everything that can go wrong, by the name under which the driver counts it."""
