"""Which settled files hold a member. Files are in the order of ranks, so every one of a board has to be read."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from standings.maintain.settle.files import board_prefix, is_json_part, keys_of
from standings.maintain.settle.lines import holds
from standings.ports.endings import Results
from standings.runtime.retry import READ_TIMEOUT_S, Clock, retrying


@dataclass(frozen=True)
class Mentions:
    """Looks for members in settled files."""

    results: Results
    clock: Clock

    def of(self, board: str, member: str, after: str) -> Iterator[tuple[str, bool]]:
        """Each file of JSON lines of a board whose key sorts after `after`, and whether it holds the member."""
        results = retrying(self.results, partial(self.clock.backoff_for, READ_TIMEOUT_S))
        prefix = board_prefix(board)
        for key in keys_of(results, prefix, after if after.startswith(prefix) else ""):
            if is_json_part(key):
                content = results.content(key)
                yield key, content is not None and holds(content, member)
