"""The boards that a member is in, by an index of Scores; with its ranks in one window of each."""

from collections.abc import Sequence
from typing import Any, Final

from standings.domain.boards import check_member
from standings.domain.errors import NotFoundError, bad_argument
from standings.domain.members import Image
from standings.domain.windows import parse_window
from standings.read import member_ranks
from standings.read.cursors import encode_name, read_name
from standings.read.session import ReadSession
from standings.stores import IndexNotBuiltError

MAX_RANKINGS: Final = 100  # Rankings after which a page with ranks ends: each is about as dear as a member of a group


def boards_of(
    session: ReadSession, *, member: str, limit: int, cursor: str | None, window: str | None = None
) -> dict[str, Any]:
    """The boards that a member is in, by name; with a `window` also its ranks in the current period of that.

    `{"member": "u7", "boards": [{"board": "berlin-2026", "hidden": False}], "next": None}`. With a window each board
    also has `metrics`, as on the member's card.

    The index says where to look, the items say what is there: each is read strongly consistently. So a page may have
    fewer boards than the index names, and a board may be missing to which the member has come within about a second.
    `next` is the cursor of the next page. Raises InvalidArgumentError, and NotFoundError as long as the index is built.
    """
    check_member("id", member)
    if window is not None:
        try:
            parse_window(window)
        except ValueError as error:
            raise bad_argument("window", str(error)) from error
    after = None if cursor is None else read_name(cursor, _list_of(member))
    try:
        named = session.retry(session.tables.scores.boards_of, member, after, limit + 1)
    except IndexNotBuiltError as error:
        detail = "the index of members' boards is being built, which may take hours after an upgrade: try again later"
        raise NotFoundError("not-built", "Index not built yet", detail) from error
    images, last = _on_page(session, named[:limit], member, window)
    is_last = last is None and len(named) <= limit
    if window is not None and images:
        found = member_ranks.cards(session, images, window)
    else:
        found = [{"board": image.board, "hidden": image.hidden} for image in images]
    return {
        "member": member,
        "boards": [{name: value for name, value in board.items() if name != "member"} for board in found],
        "next": None if is_last else encode_name(last or named[limit - 1], _list_of(member)),
    }


def _on_page(
    session: ReadSession, boards: Sequence[str], member: str, window: str | None
) -> tuple[list[Image], str | None]:
    """The member's items on boards that can be read, and the board after which the page ends early (None: it does not).

    With a window it ends before there are more than `MAX_RANKINGS`, but not before the first board that has some.
    """
    keys = [(board, member) for board in boards]
    found = session.retry(session.tables.scores.images, keys, consistent=True)
    records = session.records([board for board, member in keys if (board, member) in found])
    images: list[Image] = []
    rankings = 0
    for previous, key in zip([None, *boards], keys, strict=False):
        image, record = found.get(key), records.get(key[0])
        has_gone = record is not None and (record.is_being_deleted or record.has_ended(session.now))
        if image is None or image.removed or has_gone:
            continue
        more = len(member_ranks.rankings_in(session, image.board, window)) if window is not None else 0
        if rankings and rankings + more > MAX_RANKINGS:
            return images, previous
        rankings += more
        images.append(image)
    return images, None


def _list_of(member: str) -> str:
    """The name of the list of a member's boards, in cursors. No prefix of boards' names begins like that."""
    return f"/{member}"
