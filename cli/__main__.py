"""The command line of a stack: `standings --help`.

Results go to standard output, as JSON with `--json`; progress and errors go to standard error. What the exit status
means stands in `cli.status`.
"""

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from cli import load, posting, upkeep
from cli.api import ApiError
from cli.connection import Connection, StackError
from cli.maintenance import FunctionError
from cli.options import Commands, add_where
from cli.status import INTERRUPTED, UNREACHABLE, WRONG

_WRONG_BEFORE: Final = 500
"""Answers of HTTP with a status below this say that the question was wrong."""


def main(arguments: list[str] | None = None, connect: Callable[[argparse.Namespace], Any] = Connection) -> int:
    """Do what the command line says; the exit status."""
    given = parser().parse_args(arguments)
    try:
        status: int = given.do(connect(given), given)
    except ApiError as error:
        print(f"standings: {error}", file=sys.stderr)
        return WRONG if error.status < _WRONG_BEFORE else UNREACHABLE
    except (StackError, FunctionError, ClientError, BotoCoreError) as error:
        print(f"standings: {error}", file=sys.stderr)
        return UNREACHABLE
    except KeyboardInterrupt:
        print("stopped; the same command goes on with it", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read has had enough, such as `head`; what is left in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    return status


def run() -> None:
    """The console script."""
    sys.exit(main())


def parser() -> argparse.ArgumentParser:
    """What the command line knows."""
    top = argparse.ArgumentParser(prog="standings", description="Exact, live leaderboards on DynamoDB.")
    add_where(top, again=False)
    where = argparse.ArgumentParser(add_help=False)
    add_where(where, again=True)
    commands = Commands(top.add_subparsers(title="commands", required=True, metavar="COMMAND"), where)
    for module in (upkeep, posting, load):
        module.add(commands)
    return top


if __name__ == "__main__":
    run()
