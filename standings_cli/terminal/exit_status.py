"""The exit statuses of `standings`."""

from typing import Final

OK: Final = 0
"""Success."""

DIFFERS: Final = 1
"""Done, but check the result: the audit found differences, events were refused or skipped, a member is not ranked, or
`boards.toml` has a mistake."""

WRONG: Final = 2
"""A mistake in the command or its input."""

UNREACHABLE: Final = 3
"""The stack could not be reached, or it failed."""

INTERRUPTED: Final = 130
"""Ended by Ctrl-C. `watch` ends by Ctrl-C with 0."""
