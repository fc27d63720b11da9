"""The most work that one read may do, however many members there are, and wherever they were and will be."""

import re
from typing import Any, Final

from tests.support.dynamodb.requests import Requests

LIST: Final = 100
"""The entries of a page that does not say how many."""
BEYOND: Final = 12
"""Items that a page may read of each list beyond twice its entries."""
REQUESTS: Final = 24
"""Requests of a call beside those of lists: for nodes and rows of up to a hundred members or periods."""
ROLLING: Final = re.compile(r"last-([0-9]+)-(?:hours|days)")


def lists_of(window: str) -> int:
    """The lists that a page of a window may merge."""
    rolling = ROLLING.fullmatch(window)
    return 1 if rolling is None else 5 if int(rolling[1]) <= 10 else 9


def excess(window: str, arguments: dict[str, Any], requests: Requests, *, skipped: int) -> str:
    """Say what of a read's work is too much; nothing if it is within the bound.

    A page at a position may also read so many equals that it skips.
    """
    radius = arguments.get("radius")
    shown = int(arguments.get("limit") or LIST) if radius is None else 2 * int(radius) + 1
    listed = requests.listed
    most = 2 * shown + BEYOND + skipped
    stretches = 1 + ("around" in arguments) + ("me" in arguments)
    # An ordinal rank also counts the equals ahead, with a query for each list and shard. Their limit is the product's.
    other = requests.counts.total() - requests.counts["query", "places"]
    if arguments.get("method") == "dense":
        return "" if other <= REQUESTS else f"{other} requests"  # Its limits are those of `docs/reference/http.md`
    if len({key.partition("/")[0] for key in listed}) > lists_of(window):
        return f"the lists {sorted(listed)}"
    if max(listed.values(), default=0) > most:
        return f"more than {most} items of a list: {dict(listed)}"
    # Each stretch takes two rounds, and one more where a root names shards that were not known.
    if requests.spans > len(listed) * (2 * stretches + 1):
        return f"{requests.spans} queries of {len(listed)} partitions"
    return "" if other <= REQUESTS else f"{other} requests beside the lists: {dict(requests.counts)}"
