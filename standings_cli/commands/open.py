"""`open`: open the live page in a browser."""

import argparse
import webbrowser
from urllib.parse import quote, urlencode

from standings_cli.commands import values
from standings_cli.commands.options import Commands
from standings_cli.stack.connection import Connection
from standings_cli.terminal import DIFFERS, OK, say, shown


def add(commands: Commands) -> None:
    """Add `open`."""
    parser = commands.add(
        "open",
        description="Print the address of the live page, and open it in a browser. The stack has a page where reads "
        "are open (parameter OpenReads).",
        epilog="Exit status 1 if there is no browser here.",
    )
    parser.add_argument("board", nargs="?", type=values.board, help="the board to show (the page's first)")
    parser.add_argument("--metric", type=values.metric, help="the metric to show")
    parser.add_argument("--window", type=values.window, help="the window to show")
    parser.set_defaults(do=_open, resumes=False)


def _open(connection: Connection, options: argparse.Namespace) -> int:
    shows = {name: getattr(options, name) for name in ("board", "metric", "window")}
    query = urlencode({name: value for name, value in shows.items() if value is not None}, quote_via=quote)
    url = connection.function_url if options.function_url else connection.api_url
    address = f"{url.rstrip('/')}/{'?' if query else ''}{query}"
    print(shown(address), flush=True)
    if webbrowser.open(address):
        return OK
    say("standings: there is no browser here: open the address in one of yours")
    return DIFFERS
