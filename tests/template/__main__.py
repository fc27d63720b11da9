"""`python -m tests.template [FILE]`: look through a template by all rules; the exit status says whether they hold."""

import sys
from pathlib import Path

from tests.template.expansion import TEMPLATE, expanded, source
from tests.template.rules import RULES, complaints


def main(arguments: list[str]) -> int:
    """Print what is wrong, a line for each."""
    path = Path(arguments[0]) if arguments else TEMPLATE
    found = complaints(expanded(source(path)))
    for rule, wrong in found:
        print(f"{rule}: {wrong}")
    print(f"{path.name}: {len(found)} complaints by {len(RULES)} rules")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
