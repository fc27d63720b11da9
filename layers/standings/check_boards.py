"""Checks a `boards.toml`: `python check_boards.py PATH`. Prints the first mistake of each family with its line."""

import sys
from pathlib import Path

from standings.domain.boards_toml import DefinitionError, mistakes_in, parse_boards
from standings.runtime.environment import BOARDS_FILE


def main(arguments: list[str]) -> int:
    """Return 0 if the file can be deployed, 1 if not."""
    path = Path(arguments[0]) if arguments else BOARDS_FILE
    try:
        text = path.read_text(encoding="utf-8")
        boards = parse_boards(text)
    except DefinitionError:
        for mistake in mistakes_in(text):
            print(f"{path.name}:{mistake.line}: {mistake.reason}", file=sys.stderr)
        return 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 1
    print(f"{path.name}: {len(boards.families)} families of boards")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
