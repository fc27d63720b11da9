"""Checks a `boards.toml`: `python check_boards.py PATH`. Prints a mistake with its line."""

import sys
from pathlib import Path

from standings.domain.boards_toml import DefinitionError, parse_boards
from standings.runtime.environment import BOARDS_FILE


def main(arguments: list[str]) -> int:
    """Return 0 if the file can be deployed, 1 if not."""
    path = Path(arguments[0]) if arguments else BOARDS_FILE
    try:
        boards = parse_boards(path.read_text(encoding="utf-8"))
    except DefinitionError as error:
        print(f"{path.name}:{error.line}: {error.reason}", file=sys.stderr)
        return 1
    except (OSError, UnicodeDecodeError) as error:
        print(f"{path}: {error}", file=sys.stderr)
        return 1
    print(f"{path.name}: {len(boards.families)} families of boards")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
