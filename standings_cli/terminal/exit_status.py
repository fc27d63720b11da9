"""Exit statuses: what a script can tell without reading."""

from typing import Final

OK: Final = 0
"""All that was asked for is done."""

DIFFERS: Final = 1
"""Done, and something is not as it should be: an audit found differences, events were refused or left, a member is not
ranked, `boards.toml` has a mistake."""

WRONG: Final = 2
"""A mistake in the command or in what it was given."""

UNREACHABLE: Final = 3
"""The stack cannot be reached, or it failed."""

INTERRUPTED: Final = 130
"""Ctrl-C; the same command goes on with it where the message says so. It is how `watch` ends well, with 0."""
