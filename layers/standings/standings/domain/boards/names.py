"""Names of boards and ids of members, and the family that a board belongs to."""

import re
from typing import Final

from standings.domain.boards.definitions import Boards, Family
from standings.domain.errors import bad_argument, not_found

BOARD_NAME: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
MAX_MEMBER_BYTES: Final = 256


def family_of(boards: Boards, board: str) -> Family:
    """The family of a board; RequestError for a name that is none, or that no family matches."""
    if not BOARD_NAME.fullmatch(board) or board in (".", ".."):
        raise not_found("no-such-board", "No such board", f"{board[:80]!r} is no name of a board")
    family = boards.family(board)
    if family is None:
        raise not_found("no-such-board", "No such board", f"no family in boards.toml matches {board!r}")
    return family


def check_member(argument: str, member: str) -> None:
    """400 for a text that can be no member's id."""
    if not 1 <= len(member.encode()) <= MAX_MEMBER_BYTES:
        raise bad_argument(argument, f"must have 1 to {MAX_MEMBER_BYTES} bytes of UTF-8")
