import pytest

from tests.support.builders.redefining import live


@pytest.mark.parametrize("seed", range(1_000, 1_600))
def test_what_can_be_read_is_right_for_many_seeds(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    live(seed, monkeypatch)
