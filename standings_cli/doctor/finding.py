"""What a check found."""

from enum import StrEnum
from typing import NamedTuple, Protocol


class Verdict(StrEnum):
    """How a check ended. A note is what a parameter or a local AWS explains; only `failed` asks for something."""

    OK = "ok"
    NOTE = "note"
    FAILED = "failed"


class Place(Protocol):
    """Where a check looks."""

    @property
    def is_local(self) -> bool:
        """Whether an emulator plays AWS."""


class Finding(NamedTuple):
    """What a check found about a part of the stack, and what to do about it."""

    verdict: Verdict
    about: str
    detail: str


def ok(about: str, detail: str) -> Finding:
    """A finding that all is well."""
    return Finding(Verdict.OK, about, detail)


def note(about: str, detail: str) -> Finding:
    """A finding that somebody may want to know."""
    return Finding(Verdict.NOTE, about, detail)


def failed(about: str, detail: str) -> Finding:
    """A finding that asks for something to be done."""
    return Finding(Verdict.FAILED, about, detail)


def failed_on_aws(where: Place, about: str, detail: str) -> Finding:
    """The same, or a note on a local AWS, which leaves out what the template asks for there."""
    return note(about, f"a local AWS may leave it out: {detail}") if where.is_local else failed(about, detail)
