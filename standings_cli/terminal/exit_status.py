"""The exit statuses of `standings`."""

from typing import Final

OK: Final = 0
DIFFERS: Final = 1  # done, but check the result: differences, refused or skipped events, a member that is not ranked
WRONG: Final = 2  # a mistake in the command or its input
UNREACHABLE: Final = 3  # the stack could not be reached, or it failed
INTERRUPTED: Final = 130  # Ctrl-C
