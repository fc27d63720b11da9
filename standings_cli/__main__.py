"""The command line of a stack: `standings --help`.

Results go to standard output, as JSON with `--json`; progress and errors go to standard error. What the exit status
means stands in `standings_cli.terminal.exit_status`.
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

from standings_cli.commands import boards, load, maintain, post, rankings, watch
from standings_cli.commands.options import Commands, add_where
from standings_cli.stack.api import ApiError
from standings_cli.stack.connection import Connection, StackError
from standings_cli.stack.maintenance_calls import FunctionError
from standings_cli.terminal.exit_status import DIFFERS, INTERRUPTED, UNREACHABLE, WRONG
from standings_cli.terminal.text import shown

_STATUSES: Final = """\
exit status: 0 all is well; 1 done, and something is not as it should be (differences, refused events, a member that
is not ranked); 2 a mistake in what was asked; 3 the stack cannot be reached or has failed; 130 interrupted"""
_UNRANKED: Final = frozenset({"no-such-member", "not-ranked"})
"""Kinds of problems that are an answer: nobody has made a mistake."""


def main(arguments: list[str] | None = None, connect: Callable[[argparse.Namespace], Any] = Connection) -> int:
    """Do what the command line says; the exit status."""
    given = parser().parse_args(arguments)
    try:
        status: int = given.do(connect(given), given)
    except ApiError as error:
        print(f"standings: {shown(str(error))}", file=sys.stderr)
        if error.passes:
            return UNREACHABLE
        return DIFFERS if error.kind in _UNRANKED else WRONG
    except (StackError, FunctionError, ClientError, BotoCoreError) as error:
        print(f"standings: {shown(str(error))}", file=sys.stderr)
        return UNREACHABLE
    except KeyboardInterrupt:
        resumes = getattr(given, "resumes", True)
        print("stopped; the same command goes on with it" if resumes else "stopped", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read has had enough, such as `head`; what is left in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    return status


def run() -> None:
    """The console script."""
    # Ended from outside as by Ctrl-C, so that the terminal is left as it was; and what cannot be written is escaped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())


def parser() -> argparse.ArgumentParser:
    """What the command line knows."""
    top = argparse.ArgumentParser(
        prog="standings",
        description="Exact, live leaderboards on DynamoDB.",
        epilog=_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"standings {version('standings')}")
    add_where(top, again=False)
    where = argparse.ArgumentParser(add_help=False)
    add_where(where, again=True)
    commands = Commands(top.add_subparsers(title="commands", required=True, metavar="COMMAND"), where)
    for module in (post, rankings, watch, boards, load, maintain):
        module.add(commands)
    return top


if __name__ == "__main__":
    run()
