"""The time and the boards of tests of the adapters: one metric, in `all` and by day."""

from standings.domain.boards import Boards, Family, Metric
from standings.domain.boards_toml import parse_boards

NOW = 1_795_256_100_000
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }')


def family(board: str, boards: Boards | str = BOARDS) -> Family:
    """The family of a board, in boards or in a text of `boards.toml`."""
    found = (parse_boards(boards) if isinstance(boards, str) else boards).family(board)
    assert found is not None
    return found


def points(ties: str = "member") -> Metric:
    """A metric that orders equals in this way."""
    return family(
        "b", f'[boards."*"]\nmetrics.points = {{ aggregate = "sum", windows = ["all"], ties = "{ties}" }}'
    ).metrics["points"]
