"""The README is short. The API's description is the one that is made, and the reference says the same as it, as the
command line and as `boards.toml`."""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, Final

import pytest

from api import answer_types
from api.__main__ import FILE, text_of_file
from api.calls import OPERATIONS
from standings.calls import CALLS
from standings.domain.boards_toml import parse_boards
from standings.domain.events import RefusedEvent, parse_event
from standings.domain.windows import DAY
from standings.runtime.environment import BOARDS_FILE
from standings_cli.__main__ import parser
from standings_cli.post.cells import USUAL
from tests.support.documents.pages import DECISIONS, NEEDS_ACCOUNT, PAGES, PROJECT, blocks, in_text, programs

REFERENCE: Final = PROJECT / "docs" / "reference"
DESCRIPTION: Final = FILE.read_text(encoding="utf-8")
DESCRIBED: Final[dict[str, Any]] = json.loads(DESCRIPTION)
RANKING: Final = "/boards/<board>/<metric>/<window>"


@pytest.mark.parametrize(("page", "most"), [("README.md", 150), ("CONTRIBUTING.md", 110)])
def test_the_readme_fits_on_three_screens_and_contributing_on_two_pages(page: str, most: int) -> None:
    lines = (PROJECT / page).read_text(encoding="utf-8").splitlines()
    assert sum(1 if line.startswith("|") else len(wrap(line, 120)) or 1 for line in lines) <= most


_BREAKS: Final = re.compile(r"\s*([-*+] |\d+[.)] |#{1,6} |\||>|<|!!! |\[[^\]]+\]: )")
"""What begins a line: an item, a heading, a row of a table, a quotation, HTML, a note, the target of a link."""
PROSE: Final = sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")])


def going_on(text: str) -> list[str]:
    """The lines of a page that go on with the paragraph of the line before."""
    found: list[str] = []
    fence, is_html, is_prose = "", False, False
    for line in text.splitlines():
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence or mark or not line.strip():
            fence = "" if fence and line.strip() == fence else fence or (mark[1] if mark else "")
            is_html, is_prose = is_html and bool(line.strip()), False
            continue
        is_html = is_html or (line.startswith("<") and not is_prose)
        if is_prose and not is_html and not _BREAKS.match(line):
            found.append(line)
        is_code = line.startswith("    ") and not is_prose
        is_prose = not is_html and not is_code and not re.match(r"\s*(#|\||!!! |\[[^\]]+\]: |---$)", line)
    return found


FOR_WHOM: Final = re.compile(r"\b[Ff]or (whoever|developers|people|programs|organisers|those|games)\b")


def test_a_page_says_in_its_first_line_for_whom_it_is() -> None:
    """The first line is the first paragraph, behind the title and pictures."""
    first = {}
    for page in (*PAGES, PROJECT / "CHANGELOG.md"):
        lines = page.read_text(encoding="utf-8").splitlines()
        first[page.name] = next(line for line in lines if line and not line.startswith(("#", "!", "<")))
    assert [name for name, line in first.items() if not FOR_WHOM.search(line)] == []


def test_no_page_is_more_than_two_clicks_from_the_readme() -> None:
    """A folder is a click, and shows its pages, in the repository and on the site."""

    def linked(page: Path) -> set[Path]:
        targets = re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
        return {(page.parent / target).resolve() for target in targets}

    start = PROJECT / "README.md"
    one = linked(start)
    two = {below for there in one if there.suffix == ".md" for below in linked(there)}
    two |= {page for folder in one if folder.is_dir() for page in folder.glob("*.md")}
    assert sorted(page.relative_to(PROJECT).as_posix() for page in {*PAGES, *DECISIONS} - {start} - one - two) == []


@pytest.mark.parametrize("word", ["webhook", "dashboard", "openapi", "alarm", "prizes"])
def test_a_heading_has_what_people_search_for(word: str) -> None:
    """The site's search ranks headings first."""
    headings = (line for page in PAGES for line in page.read_text(encoding="utf-8").splitlines() if line[:1] == "#")
    assert [line for line in headings if word in line.lower()]


def test_each_open_question_of_a_first_evening_has_a_command_and_what_to_send_back() -> None:
    text = (PROJECT / "docs" / "how-to" / "first-evening.md").read_text(encoding="utf-8")
    asked = [part for part in re.split(r"^## \d+\. ", text, flags=re.MULTILINE)[1:] if "*Send back*" in part]
    subjects = ("function URL", "SDK", "zone files", "pause", "index", "boards that have ended", "pollers")
    titles = " ".join(part.partition("\n")[0] for part in asked)
    assert [subject for subject in subjects if subject not in titles] == []
    assert [part for part in asked if f"```sh\n{NEEDS_ACCOUNT}\n" not in part] == []


@pytest.mark.parametrize("page", PROSE, ids=lambda page: str(page.relative_to(PROJECT)))
def test_a_paragraph_is_one_line(page: Path) -> None:
    assert going_on(page.read_text(encoding="utf-8")) == []


def test_the_committed_description_is_the_one_that_is_made() -> None:
    assert text_of_file() == DESCRIPTION, "run `make openapi`, and commit what it writes"
    types = answer_types.FILE.read_text(encoding="utf-8")
    assert answer_types.text_of_types() == types, "run `make openapi`, and commit what it writes"


def test_nothing_is_said_of_a_call_or_an_argument_that_is_none() -> None:
    assert OPERATIONS.keys() == CALLS.keys()
    assert [name for name, said in OPERATIONS.items() if said.arguments.keys() - CALLS[name].arguments.keys()] == []


def test_the_reference_names_every_call() -> None:
    named = {
        (method, path.replace("{ranking}", RANKING).replace("{", "<").replace("}", ">"))
        for method, path in re.findall(r"`(GET|PUT|POST|DELETE) ([^?` ]+)", (REFERENCE / "http.md").read_text("utf-8"))
    }

    assert named == {(call.method, call.path) for call in CALLS.values()}


def test_the_reference_names_every_error_with_its_status() -> None:
    schemas = [schema["properties"] for schema in DESCRIBED["components"]["schemas"].values() if "properties" in schema]
    described = {
        (str(kinds["status"]["const"]), kind.removeprefix("urn:standings:"))
        for kinds in schemas
        if "const" in kinds.get("status", {})
        for kind in kinds["type"].get("enum", [kinds["type"].get("const")])
    }
    page = (REFERENCE / "errors.md").read_text("utf-8")

    assert set(re.findall(r"^\| (\d+) \| `([a-z-]+)` \|", page, re.MULTILINE)) == described
    calls = [call for item in DESCRIBED["paths"].values() for call in item.values() if isinstance(call, dict)]
    statuses = {status for call in calls for status in call["responses"] if status >= "4"}
    of_gateway = statuses - {status for status, _ in described} | {"403"}
    assert set(re.findall(r"\b[45]\d\d\b", page.rpartition("API Gateway itself")[2])) == of_gateway


def test_the_reference_gives_each_argument_its_limits_and_its_default() -> None:
    calls = [call for call in CALLS.values() if call.path.startswith(RANKING)]
    page = (REFERENCE / "http.md").read_text("utf-8")

    assert set(re.findall(r"^\| `(\w+)` \| (\d+) to ([\d,]+) \| (\d+) \|$", page, re.MULTILINE)) == {
        (name, str(argument.least), f"{argument.most:,}", str(argument.default))
        for call in calls
        for name, argument in call.arguments.items()
        if argument.kind == "whole" and name != "rank"
    }


def levels(level: argparse.ArgumentParser, *names: str) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Yield a parser and all those below it, each with the words that lead to it."""
    yield names, level
    for action in level._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from levels(below, *names, name)


def test_the_reference_has_every_command_and_no_other() -> None:
    page = (REFERENCE / "command-line.md").read_text("utf-8")
    known = dict(levels(parser()))
    groups = {names[:-1] for names in known if names}
    named = set()
    for row in re.findall(r"^\| (`[a-z].*?) \|", page, re.MULTILINE):
        for command in re.findall(r"`([^`]+)`", row):
            words = re.findall(r"^[a-z]+|(?<= )[a-z]+(?= |$)", command)
            if (words[0],) in known:
                named.add(tuple(words[: 2 if (words[0],) in groups else 1]))

    assert named == known.keys() - groups
    options = {option for level in known.values() for option in level._option_string_actions}
    unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", page)) - options
    assert unknown == {"--function-name", "--payload"}, "these two are of the command line of AWS"


def test_the_reference_gives_the_settings_of_a_family_their_defaults() -> None:
    (family,) = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }').families
    page = (REFERENCE / "boards.md").read_text("utf-8")
    timetable, metric = family.timetable, family.metrics["points"]
    defaults = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", page, re.MULTILINE))

    assert defaults == {
        "timezone": timetable.timezone,
        "week_start": ["monday", "sunday"][timetable.week_start],
        "late": f"{timetable.late // DAY} days",
        "keep": f"{timetable.keep // DAY} days",
    }
    assert f"`{metric.order}` (default:" in page
    assert "0 (default) to 9" in page
    assert metric.precision == 0
    assert f"`{metric.ties}` (default:" in page
    assert (metric.least, metric.most, metric.notes) == (None, None, False)


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
    boards = parse_boards("\n".join([BOARDS_FILE.read_text(encoding="utf-8"), *_fenced("toml")]))
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
            f'"{metric}": {USUAL.amount(metric, amount)}'
            for metric, _, amount in (word.partition("=") for word in rest)
            if amount
        )
        at = "2026-11-21T10:15:00Z"
        event = f'{{"id": "x", "board": "{board}", "member": "{member}", "at": "{at}", "metrics": {{{amounts}}}}}'
        try:
            parse_event(event, boards, NOW)
        except RefusedEvent:
            refused.append(amounts)
    assert refused == ['"poitns": 4']
