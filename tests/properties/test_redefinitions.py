"""Definitions that change and change back, two of them at work at once, rebuilds: what can be read is right."""

import pytest

from tests.support.builders import redefining_seasons
from tests.support.builders.redefining import live
from tests.support.thoroughness import seeds


@pytest.mark.parametrize("seed", seeds(5, 25))
def test_what_can_be_read_is_right_whatever_definitions_there_were(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert live(seed, monkeypatch) > 5  # it is not all refused


@pytest.mark.parametrize("seed", seeds(5, 40))
def test_seasons_that_can_be_read_are_right_and_those_added_in_time_can_be(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, readable = redefining_seasons.live(seed, monkeypatch)

    assert readable > 5
