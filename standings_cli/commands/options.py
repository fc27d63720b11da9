"""What all commands have in common: how they are added, and the options that say where a stack is."""

import argparse
import os
from typing import Any
from urllib.parse import urlsplit


class Commands:
    """Adds commands that take the options of where a stack is, before the command's name and after it alike."""

    def __init__(self, parsers: Any, where: argparse.ArgumentParser) -> None:
        self._parsers = parsers
        self._where = where

    def add(self, name: str, **settings: Any) -> argparse.ArgumentParser:
        """Add a command. `do`, a default of its parser, is what it does."""
        parser: argparse.ArgumentParser = self._parsers.add_parser(name, parents=[self._where], **settings)
        return parser

    def group(self, name: str, **settings: Any) -> "Commands":
        """Add a command that has actions; they are added to what is returned."""
        parser = self._parsers.add_parser(name, **settings)
        return Commands(parser.add_subparsers(title="actions", required=True, metavar="ACTION"), self._where)


def add_where(parser: argparse.ArgumentParser, *, again: bool) -> None:
    """The options of where a stack is. Given `again`, after a command, they keep what was said before."""

    def add(name: str, said: str, default: Any = None, **settings: Any) -> None:
        if again:
            parser.add_argument(name, default=argparse.SUPPRESS, help=argparse.SUPPRESS, **settings)
        else:
            parser.add_argument(name, default=default, help=said, **settings)

    add("--stack", "its name (standings)", "standings")
    add("--profile", "a profile of the AWS configuration")
    add("--region", "where the stack is")
    add("--endpoint-url", "where AWS is, for a local one", metavar="URL", type=_address)
    add("--local", "what `make serve` has started", default=False, action="store_true")
    add("--queue-url", "the queue of events, without asking the stack", metavar="URL", type=_address)
    add("--api-url", "the HTTP API, without asking the stack", metavar="URL", type=_address)
    add("--token", "for an API with a JWT issuer (STANDINGS_TOKEN)", os.environ.get("STANDINGS_TOKEN"), metavar="JWT")
    add("--json", "answers as JSON, one to a line", default=False, action="store_true")


def _address(text: str) -> str:
    """An address of HTTP, and no more than one."""
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
    except ValueError:
        known = False
    if not known:
        raise argparse.ArgumentTypeError(f"{text!r} is no address such as https://example.org")
    return text
