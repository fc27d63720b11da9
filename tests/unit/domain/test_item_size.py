"""Items with notes stay within a bound, which `boards.toml` is checked for."""

import pytest

from standings.domain.boards.boards_toml import DefinitionError, parse_boards
from standings.domain.boards.item_size import MAX_ITEM_BYTES, most_bytes


def family(windows: str, *, notes: bool = True, late: str = "7 days", keep: str = "35 days") -> str:
    return (
        f'[boards."*"]\nlate = "{late}"\nkeep = "{keep}"\n'
        f'metrics.best = {{ aggregate = "max", notes = {str(notes).lower()}, windows = [{windows}] }}\n'
    )


@pytest.mark.parametrize(
    ("aggregate", "notes", "reason"),
    [
        ("max", '"yes"', "notes: expected true or false, got 'yes'"),
        ("sum", "true", "notes: expected max, min or last"),
    ],
)
def test_a_mistake_is_told(aggregate: str, notes: str, reason: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_boards(f'[boards."*"]\nmetrics.best = {{ aggregate = "{aggregate}", notes = {notes} }}')

    assert reason in caught.value.reason
    assert caught.value.line == 2


def test_a_family_whose_items_could_grow_too_large_is_refused() -> None:
    large = family('"day", "last-90-days"', late="90 days", keep="90 days")

    with pytest.raises(
        DefinitionError, match=r"expected members' items of at most 100,000 bytes, got up to 1\d\d,\d{3}"
    ):
        parse_boards(large)
    parse_boards(large.replace("notes = true", "notes = false"))


def test_an_item_is_as_large_as_its_buckets_make_it() -> None:
    (without,) = parse_boards(family('"all", "day"', notes=False)).families
    (kept,) = parse_boards(family('"all", "day"')).families
    days = sum(len(name) > 3 for name in kept.metrics["best"].bucket_codes.values())

    assert days == 1
    assert most_bytes(without) < 3_000
    # Some 38 days and the total, each with a value, an event's id of up to 512 bytes, and a note.
    assert 30_000 < most_bytes(kept) < 40_000 < MAX_ITEM_BYTES


def test_an_item_holds_the_seasons_of_800_days() -> None:
    def bytes_with(*years: int) -> int:
        seasons = [f'{{ name = "s", starts = "{year}-01-01", ends = "{year}-07-01" }}' for year in years]
        named = ", ".join(season.replace('"s"', f'"s{number}"') for number, season in enumerate(seasons))
        (parsed,) = parse_boards(family('"all", "season"') + f"seasons = [{named}]").families
        return most_bytes(parsed)

    one = bytes_with(2026)
    assert bytes_with(2016, 2026, 2036) == one
    assert bytes_with(2026, 2027) > one
    assert bytes_with(*range(2000, 2090)) == bytes_with(2026, 2027, 2028)
