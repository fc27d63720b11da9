"""The command line of a stack: `standings --help`.

Results go to standard output, as JSON with `--json`. Progress and errors go to standard error. The exit statuses are
in `standings_cli.terminal.exit_status`.
"""

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from standings_cli.commands import (
    boards,
    doctor,
    export,
    history,
    load,
    maintain,
    member,
    post,
    profiles,
    rankings,
    watch,
)
from standings_cli.commands.options import Commands, add_stack_options
from standings_cli.stack.api import UNRANKED, ApiError
from standings_cli.stack.connection import Connection, StackError
from standings_cli.stack.maintenance_function import FunctionError
from standings_cli.terminal.exit_status import DIFFERS, INTERRUPTED, UNREACHABLE, WRONG
from standings_cli.terminal.text import shown

_STATUSES: Final = """\
exit status: 0 success; 1 done, but check the result (differences, refused events, a member that is not ranked);
2 a mistake in the command or its input; 3 the stack could not be reached or failed; 130 interrupted"""


def main(arguments: list[str] | None = None, connect: Callable[[argparse.Namespace], Any] = Connection) -> int:
    """Run the command line and return its exit status."""
    options = parser().parse_args(arguments)
    try:
        status: int = options.do(connect(options), options)
    except (ApiError, StackError, FunctionError, ClientError, BotoCoreError) as error:
        print(f"standings: {shown(str(error))}", file=sys.stderr)
        if not isinstance(error, ApiError) or error.is_temporary:
            return UNREACHABLE
        return DIFFERS if error.kind in UNRANKED else WRONG
    except KeyboardInterrupt:
        resumes = getattr(options, "resumes", True)
        print("stopped; run the same command again to continue" if resumes else "stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, has closed the pipe: drop what is still in the buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    return status


def run() -> None:
    """Run the console script."""
    # SIGTERM ends the command like Ctrl-C, which restores the terminal. Characters that cannot be written are escaped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())


def parser() -> argparse.ArgumentParser:
    """Make the parser of all commands."""
    top = argparse.ArgumentParser(
        prog="standings",
        description="Exact, live leaderboards on DynamoDB.",
        epilog=_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"standings {version('standings')}")
    add_stack_options(top, again=False)
    stack_options = argparse.ArgumentParser(add_help=False)
    add_stack_options(stack_options, again=True)
    commands = Commands(top.add_subparsers(title="commands", required=True, metavar="COMMAND"), stack_options)
    for module in (post, rankings, history, export, watch, boards, member, profiles, load, maintain, doctor):
        module.add(commands)
    return top


if __name__ == "__main__":
    run()
