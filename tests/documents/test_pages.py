"""README and docs name only make targets, `standings` commands and events that exist. `make docs` checks links."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from standings.domain.boards_toml import parse_boards
from standings.domain.events import RefusedEvent, parse_event
from standings.runtime.environment import BOARDS_FILE
from standings_cli.__main__ import parser
from tests.documents.test_reference import levels
from tests.support.documents.pages import DECISIONS, NEEDS_ACCOUNT, PAGES, PROJECT, blocks, in_text, programs

MAKEFILE: Final = (PROJECT / "Makefile").read_text(encoding="utf-8")
TARGETS: Final = set(re.findall(r"^([a-z.-]+):", MAKEFILE, re.MULTILINE))
COMMANDS: Final = dict(levels(parser()))
NOW: Final = 1_795_256_100_000


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the commands on a page, each as a list of words."""
    lines = [command for block in blocks(page) for command in block.commands]
    for line in (*lines, *in_text(page)):
        yield from programs(line)


@pytest.mark.parametrize("page", [*PAGES, *DECISIONS], ids=lambda page: page.name)
def test_every_command_exists(page: Path) -> None:
    for words in commands(page):
        if words[0] == "make":
            assert next(word for word in words[1:] if not word.startswith("-")) in TARGETS, words
        if words[0] == "standings":
            assert _known(words[1:]), words
        if words[0].endswith("python") and words[1] == "-m":
            assert (PROJECT / words[2].replace(".", "/")).with_suffix(".py").exists() or (
                PROJECT / words[2].replace(".", "/") / "__main__.py"
            ).exists(), words


def _known(words: list[str]) -> bool:
    """Return whether `standings` has this command with all of its options."""
    way: tuple[str, ...] = ()
    for word in words:
        way = (*way, word) if (*way, word) in COMMANDS else way
    options = {option for end in range(len(way) + 1) for option in COMMANDS[way[:end]]._option_string_actions}
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    return given <= options and (COMMANDS[way].get_default("do") is not None or len(words) == 1)


def test_blocks_that_need_an_aws_account_are_marked() -> None:
    for page in PAGES:
        for block in blocks(page):
            if block.needs != NEEDS_ACCOUNT:
                real = [line for line in block.commands if "--config-env trial" not in line]
                assert not [line for line in real if line.startswith(("aws ", "sam deploy", "sam delete"))]


def _fenced(language: str) -> list[str]:
    """Return the code blocks of a language on all pages."""
    fence = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [block for page in PAGES for block in fence.findall(page.read_text(encoding="utf-8"))]


def test_every_event_on_a_page_is_valid() -> None:
    boards = parse_boards(BOARDS_FILE.read_text(encoding="utf-8"))
    events = [text for text in _fenced("json") if '"metrics"' in text]
    assert events
    for text in events:
        parse_event(text, boards, NOW)


def test_every_family_on_a_page_is_valid() -> None:
    families = _fenced("toml")
    assert families
    for text in families:
        assert parse_boards(text).families


def test_every_event_posted_by_a_command_on_a_page_is_valid() -> None:
    """Events must fit the shipped boards or the families on the pages. One is wrong, so that a reader mends it."""
    boards = parse_boards("\n".join([BOARDS_FILE.read_text(encoding="utf-8"), *_fenced("toml")]))
    posted = [words for page in PAGES for words in commands(page) if words[0] == "standings" and "post" in words]
    arguments = [words[words.index("post") + 1 :] for words in posted]
    single = [words for words in arguments if words and not words[0].startswith("-")]
    assert len(single) >= 3
    refused = []
    for board, member, *rest in single:
        amounts = ", ".join(
            f'"{metric}": {amount}' for metric, _, amount in (word.partition("=") for word in rest) if amount
        )
        at = "2026-11-21T10:15:00Z"
        event = f'{{"id": "x", "board": "{board}", "member": "{member}", "at": "{at}", "metrics": {{{amounts}}}}}'
        try:
            parse_event(event, boards, NOW)
        except RefusedEvent:
            refused.append(amounts)
    assert refused == ['"poitns": 4']
