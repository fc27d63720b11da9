"""Puts tables that a command has made into a page, between the marks that name the command."""

from collections.abc import Iterable
from pathlib import Path


def write(page: Path, name: str, command: str, lines: Iterable[str]) -> None:
    """Put lines between the marks of that name; LookupError for a page without them."""
    begin, end = f"<!-- {name}: written by `{command}` -->\n", f"<!-- /{name} -->"
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise LookupError(f"{page} has no place for {name}")
    page.write_text(before + begin + "\n".join(lines) + "\n" + end + after, encoding="utf-8")
