"""Posts an event and reads what came of it: python program.py ADDRESS BOARD MEMBER.

A type checker knows every argument and every field of an answer from `standings_client`, which openapi-python-client
makes.
"""

import os
import sys
import time
from datetime import UTC, datetime
from uuid import uuid4

from standings_client import AuthenticatedClient
from standings_client.api.events import post_events
from standings_client.api.lists import list_ranking
from standings_client.api.members import get_rank
from standings_client.api.numbers import get_distribution
from standings_client.models import (
    Amounts,
    Distribution,
    EventResults,
    Me,
    MemberRank,
    NotFound,
    Page,
    PlainEvent,
)

PATIENCE_S = 60


def main(address: str, board: str, member: str) -> None:
    """Post five points for a member, and print its rank, the first page and the distribution of scores."""
    # A stack that is open does not look at the token.
    api = AuthenticatedClient(address, token=os.environ.get("STANDINGS_TOKEN", "none"))

    # Retry with the same body: the id makes sure that the event counts once.
    event = PlainEvent(
        id=uuid4().hex, board=board, member=member, at=datetime.now(UTC), metrics=Amounts.from_dict({"points": 5})
    )
    posted = post_events.sync(client=api, body=event)
    if not isinstance(posted, EventResults):
        sys.exit(f"the event was not posted: {posted}")
    for result in posted.results:
        print(f"event {result.id}: {result.status} {result.detail or ''}")

    # An event is counted a moment after it was posted. Until then its member may be unknown.
    until = time.monotonic() + PATIENCE_S
    while not isinstance(rank := get_rank.sync(board, "points", "all", client=api, member=member), MemberRank):
        if not isinstance(rank, NotFound) or time.monotonic() > until:
            sys.exit(f"no rank: {rank}")
        time.sleep(0.5)
    print(f"{rank.member} is number {rank.rank} of {rank.total} with {rank.score}")

    page = list_ranking.sync(board, "points", "all", client=api, limit=10, me=member)
    if not isinstance(page, Page):
        sys.exit(f"no page: {page}")
    for entry in page.entries:
        print(f"{entry.rank}. {entry.member} {entry.score}")
    if isinstance(page.me, Me) and page.me.ahead:
        print(f"next: {page.me.ahead.member}")

    distribution = get_distribution.sync(board, "points", "all", client=api, buckets=5)
    if not isinstance(distribution, Distribution):
        sys.exit(f"no distribution: {distribution}")
    for bucket in distribution.buckets:
        print(f"{bucket.from_} to {bucket.to}: {bucket.members}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [address, board, member]:
            main(address, board, member)
        case _:
            sys.exit("expected the API's address, a board and a member: python program.py ADDRESS BOARD MEMBER")
