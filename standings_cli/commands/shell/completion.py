"""`completion`: what makes a shell complete commands, options and choices."""

import argparse
from typing import Final

from standings_cli.commands.options import Commands
from standings_cli.stack.connection import Connection
from standings_cli.start.completion import bash, fish, zsh
from standings_cli.terminal.exit_status import OK

_SHELLS: Final = {"bash": bash, "zsh": zsh, "fish": fish}
_EXPLANATION: Final = """
bash   echo 'source <(standings completion bash)' >> ~/.bashrc
zsh    echo 'source <(standings completion zsh)' >> ~/.zshrc
fish   standings completion fish > ~/.config/fish/completions/standings.fish
"""


def add(commands: Commands) -> None:
    """Add `completion`."""
    parser = commands.add(
        "completion",
        epilog=_EXPLANATION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=_SHELLS)
    parser.set_defaults(do=_completion, resumes=False)


def _completion(_: Connection, options: argparse.Namespace) -> int:
    from standings_cli.__main__ import parser  # noqa: PLC0415 - the parser of all commands, of which this is one

    print(_SHELLS[options.shell](parser()), end="")
    return OK
