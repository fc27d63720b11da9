"""The gap to the next member is as exact as the scores are."""

from collections.abc import Callable

import pytest

from benchmarks.measure.live_page.tab import Tab

pytestmark = [pytest.mark.thorough]


@pytest.mark.parametrize(
    ("ahead", "behind", "precision", "said"),
    [
        (12345678.90, 12345678.12, 2, "0.78"),
        (9007199254740.91, 9007199254740.9, 2, "0.01"),
        (0.3, 0.1, 1, "0.2"),
        (-1.5, -3, 1, "1.5"),
        (9007199254740991, -9007199254740991, 0, "18,014,398,509,481,982"),
    ],
)
def test_it_has_the_decimals_of_the_scores(
    opened: Callable[..., Tab], ahead: float, behind: float, precision: int, said: str
) -> None:
    tab = opened("board=b&window=day", locale="en-US")
    gap = """([ahead, score, precision]) => {
        board.metrics[0].precision = precision;
        return gap({score, ahead: {score: ahead, member: "x", rank: 1}})[0];
    }"""
    assert tab.page.evaluate(gap, [ahead, behind, precision]) == f"{said} behind "
