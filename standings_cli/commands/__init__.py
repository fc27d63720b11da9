"""Every command, with its module and one line about it.

`standings --help` reads this alone. The module of a command is imported when the command runs.
"""

from typing import Final, NamedTuple


class Summary(NamedTuple):
    """The module of a command, below `standings_cli.commands`, and one line of help."""

    module: str
    help: str


COMMANDS: Final = {
    "post": Summary("post", "post one event, or the events of a file"),
    "correct": Summary("correct", "replace what an event counted, by its id"),
    "retract": Summary("correct", "take back what an event counted, by its id"),
    "top": Summary("rankings", "show the first entries of a ranking, or those from a rank on"),
    "rank": Summary("rankings", "show a member's rank, score and percentile, or the rank that a score would have"),
    "around": Summary("rankings", "show a member with its neighbours on both sides"),
    "history": Summary("rankings", "show a member's rank in each period that can be read, newest first"),
    "export": Summary("export", "write a whole list, as CSV or JSON lines"),
    "open": Summary("open", "open the live page in a browser"),
    "boards": Summary("boards", "list boards, show what one counts, check boards.toml"),
    "member": Summary("member", "show, register, hide, remove or merge members; erase a person"),
    "profiles": Summary("profiles", "write names, pictures and countries of members"),
    "audit": Summary("maintain", "compare rankings with scores"),
    "rebuild": Summary("maintain", "rebuild a board's rankings from its scores, while it stays in use"),
    "delete": Summary("maintain", "delete a board, its members and their scores"),
    "settle": Summary("maintain", "settle a final period: audit it, write its files, send events about prizes"),
    "results": Summary("maintain", "list the settled periods of a board, and their files"),
    "dlq": Summary("maintain", "list or replay refused messages"),
    "parked": Summary("maintain", "list or replay stream records that could not be applied"),
    "doctor": Summary("doctor", "check that the stack is deployed as it should be"),
    "completion": Summary("completion", "print the script for completion in a shell"),
}
