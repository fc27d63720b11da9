"""Names of boards and ids of members, and the family that a board belongs to."""

import re
from typing import Final

from standings.domain.boards.definitions import Boards, Family
from standings.domain.errors import bad_argument, not_found

BOARD_NAME: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
BOARD_NAME_RULE: Final = "1 to 128 of A-Z a-z 0-9 . _ : -, not . or .."
MAX_MEMBER_BYTES: Final = 256


def is_board_name(name: str) -> bool:
    """Whether a board can have this name. `.` and `..` mean something else in a path."""
    return BOARD_NAME.fullmatch(name) is not None and name not in (".", "..")


def family_of(boards: Boards, board: str) -> Family:
    """The family of a board; 404 for a name that no board can have, or that no family matches."""
    if not is_board_name(board):
        detail = f"expected a board name of {BOARD_NAME_RULE}, got {board[:80]!r}"
        raise not_found("no-such-board", "No such board", detail)
    family = boards.family(board)
    if family is None:
        raise not_found("no-such-board", "No such board", f"no family in boards.toml matches {board!r}")
    return family


def check_member(argument: str, member: str) -> None:
    """400 for a text that cannot be a member's id."""
    size = len(member.encode())
    if not 1 <= size <= MAX_MEMBER_BYTES:
        raise bad_argument(argument, f"expected 1 to {MAX_MEMBER_BYTES} bytes of UTF-8, got {size}")
