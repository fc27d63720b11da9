"""Parses a command line. What is mistyped is told with what comes closest to it."""

import argparse
from difflib import get_close_matches
from typing import Any


class Parser(argparse.ArgumentParser):
    """A parser that says what a mistyped command or choice comes close to."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        close = get_close_matches(str(value), map(str, action.choices), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(map(str, action.choices))}"
        raise argparse.ArgumentError(action, f"there is no {value!r}: {hint}")

    def error(self, message: str) -> Any:
        """Print the usage, the mistake and where help is, and end with status 2."""
        super().error(f"{message}\n`{self.prog} --help` says what is expected")
