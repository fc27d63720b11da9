"""Parses a command line: how a command is added, options that commands share, suggestions for a mistyped word."""

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Final
from urllib.parse import urlsplit

from standings_cli.commands import COMMANDS
from standings_cli.terminal import shown

_MOST_SHOWN: Final = 80
_MOST_OF_MISTAKE: Final = 1_000  # Characters
_NUMBERS: Final = re.compile(r"-[0-9.][0-9.,:eE+-]*$", re.ASCII)
"""Words that begin with - and are no option: a number or a time, or several with a comma between."""
_LITERAL: Final = "\0"  # The beginning of a word that is no option: no shell can pass it


class Parser(argparse.ArgumentParser):
    """A parser that takes options anywhere, and suggests the word closest to a mistyped command or choice."""

    _is_mixing = False
    _help: str | None = None

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._negative_number_matcher = _NUMBERS

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]
        """Parse a command's words, with options before, between and behind the others.

        What follows `--` is no option: `rank b -- -m1` ranks the member `-m1`.
        """
        if self._subparsers is not None or self._is_mixing:
            return super().parse_known_args(args, namespace)
        words = sys.argv[1:] if args is None else args
        if any(word.startswith(("-h", "--h")) for word in words):
            self._help = self.format_help()  # While it looks for options, the other arguments have no defaults
        self._is_mixing = True
        try:
            # It calls this method, for the options and then for the rest. It would lose `--`.
            found, unknown = self.parse_known_intermixed_args(_literal(words), namespace)
        finally:
            self._is_mixing = False
        return found, [word.removeprefix(_LITERAL) for word in unknown]

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        return super()._get_value(action, arg_string.removeprefix(_LITERAL) if self._is_mixing else arg_string)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.option_strings and arg_strings == ["--"]:  # argparse would take it for no value
            raise argparse.ArgumentError(action, "expected a value, got '--'")
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        given = str(value)[:_MOST_SHOWN]
        close = get_close_matches(given, map(str, action.choices), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"expected one of {', '.join(map(str, action.choices))}"
        raise argparse.ArgumentError(action, f"there is no {given!r}: {hint}")

    def format_help(self) -> str:
        """Return the help of the whole command, also while it is being parsed."""
        return self._help or super().format_help()

    def error(self, message: str) -> Any:
        """Print the usage, the mistake and where help is, and end with status 2."""
        is_dashed = message.startswith("unrecognized arguments: -")
        hint = "; `--` stands before words that begin with - and are no options" if is_dashed else ""
        super().error(f"{shown(message[:_MOST_OF_MISTAKE])}{hint}\n`{self.prog} --help` says what is expected")


def _literal(words: Sequence[str]) -> list[str]:
    """Mark the words behind the first `--`, and leave that out. A mark that stands there already is doubled."""
    end = words.index("--") if "--" in words else len(words)
    marked = (re.sub(rf"^((--[a-z-]+=)?){_LITERAL}", rf"\1{_LITERAL * 2}", word) for word in words[:end])
    return [*marked, *(_LITERAL + word for word in words[end + 1 :])]


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
        parser = self._parsers.add_parser(name, parents=[self._stack_options], help=COMMANDS[name].help)
        return Commands(parser.add_subparsers(title="actions", required=True, metavar="ACTION"), self._stack_options)


def add_stack_options(parser: argparse.ArgumentParser, *, again: bool) -> None:
    """Add the options that name the stack. With `again`, after a command, a value given before it is kept."""

    def add(name: str, text: str, default: Any = None, **settings: Any) -> None:
        if again:
            default = text = argparse.SUPPRESS
        parser.add_argument(name, default=default, help=text, **settings)

    add("--stack", "the stack's name (standings)", "standings", type=_like(_STACK, "a stack's name or ARN"))
    add("--profile", "the profile of the AWS configuration", type=_like(_PROFILE, "a profile's name"))
    add("--region", "the stack's AWS region", type=_like(_REGION, "a region such as eu-central-1"))
    add("--endpoint-url", "the address of a local AWS", metavar="URL", type=_address)
    add("--local", "use the stack that `make serve` has started", default=False, action="store_true")
    add("--queue-url", "the queue of events (read from the stack)", metavar="URL", type=_address)
    add("--api-url", "the HTTP API (read from the stack)", metavar="URL", type=_address)
    add("--function-url", "read at the stack's function URL, not over its API", default=False, action="store_true")
    token = os.environ.get("STANDINGS_TOKEN") or None
    add("--token", "a JWT for the API (STANDINGS_TOKEN)", token, metavar="JWT", type=_token)
    add("--json", "print JSON, one answer to a line", default=False, action="store_true")


def add_csv(parser: argparse.ArgumentParser) -> None:
    """Add the option that prints a list as CSV."""
    parser.add_argument("--csv", action="store_true", help="print CSV with a header")


MOST: Final = 10**15 - 1
"""The greatest number that an option takes, where nothing else limits it."""
_WHOLE: Final = re.compile(r"-?[0-9]{1,15}", re.ASCII)


def whole_from(least: int, most: int = MOST) -> Callable[[str], int]:
    """Make an argument type: a whole number from `least` to `most`."""
    limits = f"of at least {least:,}" if most == MOST else f"from {least:,} to {most:,}"

    def read(text: str) -> int:
        if _WHOLE.fullmatch(text) and least <= int(text) <= most:
            return int(text)
        is_long = re.fullmatch("-?[0-9]{16,}", text, re.ASCII)
        expected = "of at most 15 digits" if is_long else limits
        raise argparse.ArgumentTypeError(f"expected a whole number {expected}, got {_cut(text)}")

    return read


def position(text: str) -> int:
    """Read a position of a list, counted from 1 on or from -1 back: an argument type."""
    if _WHOLE.fullmatch(text) and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"expected a position from 1 on, or from -1 back, got {_cut(text)}")


def _cut(text: str) -> str:
    return f"{text[:_MOST_SHOWN]!r}"


_STACK: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,127}|arn:[!-~]{1,2000}")
_PROFILE: Final = re.compile(r"[^\0-\x1f\x7f\ud800-\udfff]+")
_REGION: Final = re.compile(r"(?![0-9]+$)(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
_HOST: Final = re.compile(
    r"(?!.{254})([A-Za-z0-9_-]{1,63}\.)*[A-Za-z0-9_-]{1,63}\.?|[0-9a-f]*:[0-9a-f:.]*(%[a-z0-9]+)?"
)


def _like(pattern: re.Pattern[str], expected: str) -> Callable[[str], str]:
    """Make an argument type: a text that matches a pattern."""

    def read(text: str) -> str:
        if not pattern.fullmatch(text):
            raise argparse.ArgumentTypeError(f"expected {expected}, got {_cut(text)}")
        return text

    return read


def _token(text: str) -> str:
    if not text or not text.isascii() or any(character <= " " or character == "\x7f" for character in text):
        raise argparse.ArgumentTypeError("expected a JWT, got text with spaces or characters that no header can carry")
    return text


def _address(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_address = (
            re.fullmatch("[!-~]{1,2000}", text)
            and parts.scheme in ("http", "https")
            and _HOST.fullmatch(parts.hostname or "")
            and parts.port != 0
            and not (parts.query or parts.fragment)
        )
    except ValueError:
        is_address = False
    if not is_address:
        raise argparse.ArgumentTypeError(f"expected an address such as https://example.org, got {_cut(text)}")
    if "@" in parts.netloc:  # Errors name the address, and the password would be in them.
        raise argparse.ArgumentTypeError("expected no user and password in the address: use --profile or --token")
    return text
