"""`python -m tests.template [FILE]`: check a template. Exit status 1 if it breaks a rule."""

import sys
from pathlib import Path

from tests.template.expansion import TEMPLATE, expanded, source
from tests.template.rules import RULES, complaints


def main(arguments: list[str]) -> int:
    """Print a line for each complaint."""
    path = Path(arguments[0]) if arguments else TEMPLATE
    found = complaints(expanded(source(path)))
    for rule, wrong in found:
        print(f"{rule}: {wrong}")
    print(f"{path.name}: {len(found)} complaints by {len(RULES)} rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
