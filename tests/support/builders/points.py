"""The time and the boards of tests of the adapters: one metric, in `all` and by day."""

from standings.domain.boards import Family
from standings.domain.boards_toml import parse_boards

NOW = 1_795_256_100_000
BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }')


def family(board: str) -> Family:
    family = BOARDS.family(board)
    assert family is not None
    return family
