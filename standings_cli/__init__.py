"""The command line of a stack: `standings --help`."""

from typing import Final

VERSION: Final = "0.4.0"
