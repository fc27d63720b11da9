"""What reads in a large group of equals cost, and reads of the list of boards."""

from collections.abc import Iterator
from random import Random
from typing import Final

from benchmarks.harness import population
from benchmarks.harness.questions import Answer, Board, Question, Questions
from benchmarks.harness.truth import Truth
from standings.read import board_list
from standings.read.reader import Request

EQUALS: Final = 10_000


def equals() -> Iterator[Answer]:
    """Measure reads in a group of 10,000 equals, at its end and in its middle."""
    board = Board(population.boards())
    rng = Random(1)
    scores = {population.member(n): 500 if n < EQUALS else rng.randint(1, 1_000) for n in range(2 * EQUALS)}
    scores = {name: 501 if score == 500 and n >= EQUALS else score for n, (name, score) in enumerate(scores.items())}
    population.place_members(board.client, board.ranking("all"), scores)
    board.read_record()
    truth = Truth(scores)
    ask = Questions(board, truth, rng)
    last = truth.ahead(500) + EQUALS
    half = last - EQUALS // 2
    yield board.row("rank of a member", [ask.rank(truth.order[last - 1])])
    yield board.row(
        "rank of a member, ordinal, the last of 10,000 equals", [ask.rank(truth.order[last - 1], "ordinal")]
    )
    yield board.row(
        "rank of a member, ordinal, in the middle of 10,000 equals", [ask.rank(truth.order[half - 1], "ordinal")]
    )
    yield board.row("100 at the last position of 10,000 equals", [ask.at(last)])
    yield board.row("100 at the middle of 10,000 equals", [ask.at(half)])
    yield board.row("next page of 100, from the middle of 10,000 equals", [ask.turned(half, back=False)])


def directory() -> Iterator[Answer]:
    """Measure the list of boards and the description of one."""
    board = Board(population.boards())
    names = [f"board-{number:04}" for number in range(2_000)]
    board.pipeline.catalog.register(names)

    def boards(limit: int) -> Question:
        expected = [{"board": name} for name in names[:limit]]
        return (
            lambda: board_list.boards(Request(board.reader), prefix="board-", limit=limit, cursor=None),
            lambda answer: answer["boards"] == expected,
        )

    yield board.row("list of 100 boards", [boards(100)])
    yield board.row("list of 1,000 boards", [boards(1_000)])
    yield board.row(
        "a board",
        [
            (
                lambda: board_list.definition(Request(board.reader), board.name),
                lambda answer: answer["board"] == board.name,
            )
        ],
    )
