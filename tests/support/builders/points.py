"""The time and the boards of tests of the adapters: one metric, in `all` and by day."""

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Family

NOW = 1_795_256_100_000
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }')


def family(board: str) -> Family:
    family = BOARDS.family(board)
    assert family is not None
    return family
