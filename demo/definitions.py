"""Notices changes of `boards.toml` while a stack is up, and what is wrong with them."""

from pathlib import Path

from standings.domain.boards_toml import DefinitionError, mistakes_in, parse_boards


class WatchedBoards:
    """A `boards.toml` that somebody may change at any time.

    A change counts once the file is the same at two looks: an editor may be writing it at the first.
    """

    def __init__(self, path: Path, text: str) -> None:
        """Watch a file; `text` is what the functions have."""
        self._path = path
        self._known = text
        self._last = text

    def changed(self) -> str | None:
        """Return the text if it has changed since it was last returned; None if not, or if the file is not there."""
        try:
            text = self._path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
        seen_twice, self._last = text == self._last, text
        if not seen_twice or text == self._known:
            return None
        self._known = text
        return text


def mistakes(name: str, text: str) -> list[str]:
    """Return the first mistake of each family as `sam build` says it, such as `boards.toml:3: late: …`."""
    try:
        parse_boards(text)
    except DefinitionError:
        return [f"{name}:{mistake.line}: {mistake.reason}" for mistake in mistakes_in(text)]
    return []
