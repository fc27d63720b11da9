"""The command line of a stack: `standings --help`.

Results go to standard output, as JSON with `--json`. Progress and errors go to standard error. The exit statuses are
in `standings_cli.terminal`.
"""

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Final

from standings.client.errors import ApiError, NoAnswerError, StackError
from standings_cli import VERSION
from standings_cli.commands import COMMANDS
from standings_cli.commands.options import Commands, Parser, add_stack_options
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import UNRANKED, InputError, advice, unknown_board
from standings_cli.terminal import DIFFERS, INTERRUPTED, UNREACHABLE, WRONG, say

_STATUSES: Final = """\
exit status: 0 success; 1 done, but check the result (differences, refused events, a member that is not ranked, a board
that has had no event); 2 a mistake in the command or its input; 3 the stack could not be reached or failed;
130 interrupted"""


def main(arguments: list[str] | None = None, connect: Callable[[argparse.Namespace], Any] = Connection) -> int:
    """Run the command line and return its exit status."""
    names, _ = parser(()).parse_known_args(arguments)
    options = parser((names.command,)).parse_args(arguments)
    try:
        status = _do(connect(options), options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        resumes = getattr(options, "resumes", True)
        say("stopped; run the same command again to continue" if resumes else "stopped")
        return INTERRUPTED
    except _errors() as error:
        return _failed(error)
    except OSError as error:
        # Drop what is still in the buffer: Python would try to write it at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # The reader, such as `head`, has closed the pipe
            return INTERRUPTED
        say(f"standings: a file or the output cannot be used: {error}")
        return WRONG
    return status


def _do(connection: Any, options: argparse.Namespace) -> int:
    """Run the command. If a member is not ranked, report also if its board has had no event."""
    try:
        status: int = options.do(connection, options)
    except ApiError as error:
        board = getattr(options, "board", None)
        if error.kind not in UNRANKED or board is None:
            raise
        problem = unknown_board(connection.api, board) or f"{error}: `standings top {board}` shows who is ranked"
        raise ApiError(error.status, error.kind, problem) from error
    return status


def _failed(error: Exception) -> int:
    """Print what went wrong and what to do next; return the exit status."""
    text, status = str(error), UNREACHABLE
    if isinstance(error, ApiError):
        if not error.is_temporary:
            status = DIFFERS if error.kind in UNRANKED else WRONG
        else:
            text += ": run the same command again in a moment"
    elif isinstance(error, InputError):
        status = WRONG
    elif not isinstance(error, StackError):
        text = f"{text.removesuffix('.')}: {advice(error)}"
    say(f"standings: {text}")
    return status


def run() -> None:
    """Run the console script."""
    # SIGTERM ends the command like Ctrl-C, which restores the terminal. Characters that cannot be written are escaped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())


def parser(complete: Iterable[str] = COMMANDS) -> Parser:
    """Make the parser of all commands. Only those in `complete` have their options; the others have only a name."""
    top = Parser(
        prog="standings",
        description="Exact, live leaderboards on DynamoDB.",
        epilog=_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"standings {VERSION}", help="show the version and end")
    add_stack_options(top, again=False)
    stack_options = argparse.ArgumentParser(add_help=False)
    add_stack_options(stack_options, again=True)
    parsers = top.add_subparsers(title="commands", required=True, metavar="COMMAND", dest="command")
    modules = {COMMANDS[name].module for name in complete}
    commands = Commands(parsers, stack_options)
    for name, summary in COMMANDS.items():
        if summary.module not in modules:
            parsers.add_parser(name, help=summary.help, add_help=False)
        elif name not in parsers.choices:
            import_module(f"standings_cli.commands.{summary.module}").add(commands)
    return top


def _errors() -> tuple[type[Exception], ...]:
    """The errors of a stack; those of AWS's clients only if there are any, since their import takes so long."""
    ours = (ApiError, NoAnswerError, StackError, InputError)
    if "botocore" not in sys.modules:
        return ours
    from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - at first use

    return *ours, BotoCoreError, ClientError


if __name__ == "__main__":
    run()
