"""Writes a table into a page, between the marks that name the table and its command."""

from collections.abc import Iterable
from pathlib import Path


def write(page: Path, name: str, command: str, lines: Iterable[str]) -> None:
    """Write lines between the marks of that name; LookupError if the page has no such marks."""
    begin, end = _begin(name, command), f"<!-- /{name} -->"
    before, opened, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise LookupError(f"expected {begin.strip()} and {end} in {page}, found none")
    page.write_text(before + begin + "\n".join(lines) + "\n" + end + after, encoding="utf-8")


def named(page: Path, name: str, command: str) -> bool:
    """Return whether a page has a place for a table that it may leave out."""
    return _begin(name, command) in page.read_text(encoding="utf-8")


def _begin(name: str, command: str) -> str:
    return f"<!-- {name}: written by `{command}` -->\n"
