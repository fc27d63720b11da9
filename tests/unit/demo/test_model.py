"""The demo's own model rounds as the API documents it."""

from fractions import Fraction

import pytest

from demo.model import Standing, percentile


@pytest.mark.parametrize(("rank", "total", "expected"), [(32, 32, 3.13), (28, 32, 15.63), (1, 32, 100), (2, 3, 66.67)])
def test_a_percentile_is_rounded_half_up(rank: int, total: int, expected: float) -> None:
    assert percentile(Standing(rank, "m", 0), total) == expected


def test_no_percentile_is_off_by_more_than_half_a_hundredth() -> None:
    for total in range(1, 200):
        for rank in range(1, total + 1):
            off = Fraction(str(percentile(Standing(rank, "m", 0), total))) - Fraction(100 * (total - rank + 1), total)
            assert Fraction(-1, 200) < off <= Fraction(1, 200), (rank, total)
