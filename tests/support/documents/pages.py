"""Reads the commands of README and docs: in blocks of `sh` and in the text."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

PROJECT: Final = Path(__file__).parents[3]
PAGES: Final = (
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(page for page in (PROJECT / "docs").rglob("*.md") if page.parent.name != "decisions"),
)
DECISIONS: Final = tuple(sorted((PROJECT / "docs" / "decisions").glob("*.md")))
NEEDS_ACCOUNT: Final = "# needs an AWS account"
NEEDS_DOCKER: Final = "# needs Docker"
NEEDS_PACKAGES: Final = "# installs packages"
"""`make setup` installs what such a block does. `tests/e2e/clients` runs the other lines."""

_BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PRINTED: Final = re.compile(r"\bprints?\b[^\n]*:\n\n^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ANY_BLOCK: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_IN_TEXT: Final = re.compile(r"`((?:make|standings|sam|python) [^`]+)`")
_COMMENT: Final = re.compile(r"(^|\s+)#\s.*$")


class Block(NamedTuple):
    """A block of commands, one per line."""

    page: str
    commands: tuple[str, ...]
    needs: str | None
    """`NEEDS_ACCOUNT`, `NEEDS_DOCKER` or `NEEDS_PACKAGES` if the block contains that line, else None."""


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page in order."""
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        lines = block[1].replace("\\\n", " ").splitlines()
        needs = next((line for line in lines if line in (NEEDS_ACCOUNT, NEEDS_DOCKER, NEEDS_PACKAGES)), None)
        commands = [_COMMENT.sub("", line).strip() for line in lines]
        yield Block(page.name, tuple(command for command in commands if command), needs)


def printed(page: Path) -> list[str]:
    """Return the lines that the commands of a page print, as the page shows them."""
    return [line for block in _PRINTED.findall(page.read_text(encoding="utf-8")) for line in block.splitlines()]


def in_text(page: Path) -> list[str]:
    """Return the commands that a page names in its sentences and tables."""
    return _IN_TEXT.findall(_ANY_BLOCK.sub("", page.read_text(encoding="utf-8")))


def programs(command: str) -> list[list[str]]:
    """Return the words of each program that a line of shell starts. It splits text; it does not parse shell."""
    inner = re.sub(r"\$\((.*)\)", r"; \1", command)
    parts = re.split(r"&&|\|\||[;|]", inner)
    return [words for part in parts if (words := part.split())]
