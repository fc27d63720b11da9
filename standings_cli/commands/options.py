"""Parses a command line: how a command is added, options that commands share, suggestions for a mistyped word."""

import argparse
import math
import os
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from typing import Any
from urllib.parse import urlsplit

from standings_cli.commands import COMMANDS


class Parser(argparse.ArgumentParser):
    """A parser that suggests the word closest to a mistyped command or choice."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        close = get_close_matches(str(value), map(str, action.choices), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(map(str, action.choices))}"
        raise argparse.ArgumentError(action, f"there is no {value!r}: {hint}")

    def error(self, message: str) -> Any:
        """Print the usage, the mistake and where help is, and end with status 2."""
        super().error(f"{message}\n`{self.prog} --help` says what is expected")


class Commands:
    """Adds commands. Each accepts the stack's options, which may also stand before the command's name."""

    def __init__(self, parsers: Any, stack_options: argparse.ArgumentParser) -> None:
        self._parsers = parsers
        self._stack_options = stack_options

    def add(self, name: str, **settings: Any) -> argparse.ArgumentParser:
        """Add a command. Its parser's default `do` runs it; its description is its help unless it has its own."""
        text = settings.get("help") or COMMANDS[name].help
        settings = {"help": text, "description": f"{text[0].upper()}{text[1:]}.", **settings}
        parser: argparse.ArgumentParser = self._parsers.add_parser(name, parents=[self._stack_options], **settings)
        return parser

    def group(self, name: str) -> "Commands":
        """Add a command that has actions; add the actions, each with its help, to the result."""
        parser = self._parsers.add_parser(name, help=COMMANDS[name].help)
        return Commands(parser.add_subparsers(title="actions", required=True, metavar="ACTION"), self._stack_options)


def add_stack_options(parser: argparse.ArgumentParser, *, again: bool) -> None:
    """Add the options that name the stack. With `again`, after a command, a value given before it is kept."""

    def add(name: str, text: str, default: Any = None, **settings: Any) -> None:
        if again:
            default = text = argparse.SUPPRESS
        parser.add_argument(name, default=default, help=text, **settings)

    add("--stack", "the stack's name (standings)", "standings")
    add("--profile", "the profile of the AWS configuration")
    add("--region", "the stack's AWS region")
    add("--endpoint-url", "the address of a local AWS", metavar="URL", type=_address)
    add("--local", "use the stack that `make serve` has started", default=False, action="store_true")
    add("--queue-url", "the queue of events (read from the stack)", metavar="URL", type=_address)
    add("--api-url", "the HTTP API (read from the stack)", metavar="URL", type=_address)
    add("--token", "a JWT for the API (STANDINGS_TOKEN)", os.environ.get("STANDINGS_TOKEN"), metavar="JWT", type=_token)
    add("--json", "print JSON, one answer to a line", default=False, action="store_true")


def add_csv(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints a list as CSV."""
    parser.add_argument("--csv", action="store_true", help="print CSV with a header")


def whole_from(least: int, most: float = math.inf) -> Callable[[str], int]:
    """Make an argument type: a whole number from `least` to `most`."""
    limits = f"of at least {least:,}" if most == math.inf else f"from {least:,} to {most:,}"

    def read(text: str) -> int:
        with suppress(ValueError):
            value = int(text)
            if least <= value <= most:
                return value
        raise argparse.ArgumentTypeError(f"expected a whole number {limits}, got {text!r}")

    return read


def _token(text: str) -> str:
    if not text.isascii() or any(character <= " " or character == "\x7f" for character in text):
        raise argparse.ArgumentTypeError("expected a JWT, got text with spaces or characters that no header can carry")
    return text


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
    except ValueError:
        is_address = False
    if not is_address:
        raise argparse.ArgumentTypeError(f"expected an address such as https://example.org, got {text!r}")
    return text
