from pathlib import Path

from tests.integration.product import test_post_killed as killed


def test_every_row_counts_once_although_it_was_killed_twice(tmp_path: Path) -> None:
    killed.test_every_row_counts_once_although_it_was_killed_twice(50_000, tmp_path)
