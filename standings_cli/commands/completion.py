"""`completion`: scripts with which a shell completes commands, options, choices and files."""

import argparse
from typing import Final

import shtab

from standings_cli.commands.options import Commands
from standings_cli.stack.connection import Connection
from standings_cli.terminal import OK

_EXPLANATION: Final = """
bash   echo 'eval "$(standings completion bash)"' >> ~/.bashrc
zsh    echo 'autoload -Uz compinit && compinit && eval "$(standings completion zsh)"' >> ~/.zshrc
fish   standings completion fish > ~/.config/fish/completions/standings.fish
"""


def add(commands: Commands) -> None:
    """Add `completion`."""
    parser = commands.add(
        "completion",
        epilog=_EXPLANATION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=["bash", "zsh", "fish"])
    parser.set_defaults(do=_completion, resumes=False)


def _completion(_: Connection, options: argparse.Namespace) -> int:
    from standings_cli.__main__ import parser  # noqa: PLC0415 - the parser of all commands, of which this is one

    print(shtab.complete(_offering_all(parser()), options.shell))
    return OK


def _offering_all(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Offer files where the metavar is FILE or DIR, and after a command the stack's options, which its help omits."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to read a parser
        if action.metavar in ("FILE", "DIR"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        if action.help == argparse.SUPPRESS:
            action.help = ""
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for summary in action._choices_actions:  # noqa: SLF001
                _offering_all(action.choices[summary.dest]).description = summary.help
    return parser
