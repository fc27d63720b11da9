"""Asks before something is gone for good."""

import sys


def is_confirmed(question: str, answer: str, unless: str) -> bool:
    """Ask, and return whether that is the answer. Without anybody to answer, say that `unless` is what happened."""
    try:
        given = input(question)
    except EOFError:
        print(f"\n{unless}: nobody answers here; use --yes", file=sys.stderr)
        return False
    if given != answer:
        print(unless, file=sys.stderr)
    return given == answer
