"""The words of every command: options stand anywhere, and a wrong value ends the command with its name, at once."""

import argparse
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from random import Random
from typing import Final

import pytest

from standings_cli.__main__ import parser
from standings_cli.terminal import WRONG
from tests.documents.test_reference import levels
from tests.support.cli.command_line import runner
from tests.support.thoroughness import seeds

PARSER: Final = parser()
LEAVES: Final = {" ".join(names): leaf for names, leaf in levels(PARSER) if leaf._subparsers is None}
STACK: Final = ("stack", "profile", "region", "endpoint_url", "queue_url", "api_url", "token")

NO_TEXT: Final = ("", "\udcff")
NO_NAME: Final = (*NO_TEXT, "a b", "a/b", "x" * 300, "\0", "\x1b[2J", "🦦", "٣", "[]", "=")
NO_NUMBER: Final = (*NO_NAME, "nan", "inf", "-inf", "1e999", "1_0", " 1", "1.5.2", "0x1", "9" * 401, "--")
NO_WHOLE: Final = (*NO_NUMBER, "1.5", "1e2", "٣", "10000000000000000")
NO_DAY: Final = ("yesterday's", "2026-02-30", "2026-13-01T00:00:00Z", "0000-00-00", "2026-11-20T25", "1e3", *NO_NAME)
NO_ADDRESS: Final = (*NO_NAME, "x", "ftp://x", "http://", "http://[", "http://a:99999", "http://a:0", "http://..")
NO_FILE: Final = ("", "a\0b", "none/such/file")
VALUES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "action": ("list", ()),
    "amounts": ("points=3", ("x", "=1")),
    "api_url": ("http://a", (*NO_ADDRESS, "https://me:secret@e.org")),
    "at": ("2026-11-20T10:00:00Z", (*NO_DAY, "2026-11-20T10:00:00", "2999-01-01T00:00:00Z")),
    "before": ("layers/standings/boards.toml", NO_FILE),
    "board": ("b", (*NO_NAME, "..")),
    "boards": ("layers/standings/boards.toml", NO_FILE),
    "column": ("member=user", ("", "x", "=x")),
    "csv": ("rows.csv", NO_FILE),
    "dates": ("day-first", (*NO_NAME, "first")),
    "decimal": (",", (*NO_NAME, ";")),
    "delimiter": ("tab", ("", "ab", '"', "\n", "\udcff")),
    "endpoint_url": ("http://a", NO_ADDRESS),
    "file": ("rows.csv", NO_FILE),
    "format": ("jsonl", NO_NAME),
    "grace": ("7", (*NO_WHOLE, "-1")),
    "id": ("x", (*NO_TEXT, "x" * 129)),
    "ids": ("x", NO_TEXT),
    "ignore": ("x", ("\udcff", "none")),
    "jsonl": ("rows.csv", NO_FILE),
    "keys": ("x", NO_TEXT),
    "limit": ("7", (*NO_WHOLE, "0", "-1")),
    "member": ("-m", (*NO_TEXT, "x" * 257)),
    "member_of_rows": ("m", (*NO_TEXT, "x" * 257)),
    "method": ("dense", NO_NAME),
    "metric": ("points", (*NO_NAME, "Points", "1")),
    "name": ("Ada", (*NO_TEXT, " ", "x" * 65, "a\nb", "\u202e")),
    "new": ("-m", (*NO_TEXT, "x" * 257)),
    "note": ("{}", (*NO_TEXT, "x", "[]", "1", '{"a": NaN}', f'{{"a": "{"x" * 256}"}}', "[" * 9999)),
    "of": ("x", (*NO_TEXT, "x" * 129)),
    "old": ("-m", (*NO_TEXT, "x" * 257)),
    "only": ("x", ("\udcff", "none")),
    "output": ("x", ("", "\0")),
    "period": ("winter-2026", NO_DAY),
    "periods": ("7", (*NO_WHOLE, "0", "-1", "101")),
    "prefix": ("b", NO_NAME[1:]),
    "profile": ("x", (*NO_TEXT, "a\nb")),
    "queue_url": ("http://a", NO_ADDRESS),
    "radius": ("7", (*NO_WHOLE, "-1", "101")),
    "reason": ("x", NO_TEXT),
    "record": ("x", ("", "\0")),
    "region": ("eu-west-1", (*NO_NAME, "1", "-a")),
    "score": ("-1.5", (*NO_NUMBER, "10000000000000000", "1e-10")),
    "shell": ("fish", NO_NAME),
    "source": ("x", NO_TEXT),
    "stack": ("mine", (*NO_NAME, "1", "..")),
    "start": ("-3", (*NO_WHOLE, "0")),
    "state": ("x", ("", "\0")),
    "tie_breaks": ("-1.5,3", (*NO_NUMBER, "1,", ",1", "1,x")),
    "token": ("a.b.c", (*NO_TEXT, "a b", "🦦")),
    "window": ("last-7-days", (*NO_NAME, "fortnight", "last-91-days", "last-0-days", "Day")),
    "zone": ("Europe/Berlin", (*NO_NAME, "+1", "../UTC")),
}
"""A value of each argument that is right, and some that are wrong, by its `dest`."""
EVENT: Final = {
    ("{}", "m", "points=1"): ("board", VALUES["board"][1]),
    ("b", "{}", "points=1"): ("member", VALUES["member"][1]),
    ("b", "m", "points={}"): ("metrics.points", (*NO_NUMBER, "1,5", "12345678901234567", "0.1234567891")),
    ("b", "m", "{}"): ("METRIC=AMOUNT", ("", "x", "=1")),
}
"""Words of one event, what may be wrong there, and the name that the error has."""


def words_of(action: argparse.Action) -> list[str]:
    """The words of an argument, with a value that is right."""
    if action.nargs == 0:
        return [action.option_strings[0]]
    if action.dest == "event":
        return ["b", "m", "points=-3"]
    if action.dest == "amounts":
        return ["points=-3"]
    return [*action.option_strings[:1], *[VALUES[action.dest][0]] * (2 if action.nargs in ("*", "+") else 1)]


def named(leaf: argparse.ArgumentParser) -> list[str]:
    return list(chain.from_iterable(map(words_of, leaf._get_positional_actions())))


def options(leaf: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in leaf._get_optional_actions() if action.dest != "help"]


@pytest.mark.parametrize("seed", seeds(10, 100))
def test_options_stand_anywhere(seed: int) -> None:
    for command, leaf in LEAVES.items():
        check_order(Random(f"{seed} {command}"), command, leaf)


def check_order(rng: Random, command: str, leaf: argparse.ArgumentParser) -> None:
    one_of_each = [rng.choice(group._group_actions) for group in leaf._mutually_exclusive_groups]
    others = {action for group in leaf._mutually_exclusive_groups for action in group._group_actions} - {*one_of_each}
    chosen = [each for each in options(leaf) if each.required or (each not in others and rng.random() < 0.5)]
    words = named(leaf)
    # What begins with - stands behind --, with all that follows it.
    end = words.index("-m") if "-m" in words else rng.randint(0, len(words))
    anywhere = [[word] for word in words[:end]]
    for action in chosen:
        anywhere.insert(rng.randint(0, len(anywhere)), words_of(action))
    first = [*command.split(), *chain.from_iterable(map(words_of, chosen)), "--", *words]
    mixed = [*command.split(), *chain.from_iterable(anywhere), "--", *words[end:]]
    assert vars(PARSER.parse_args(mixed)) == vars(PARSER.parse_args(first)), mixed


def some(rng: Random, values: Sequence[str]) -> list[str]:
    return rng.sample(values, min(5, len(values)))


def wrong(rng: Random, command: str, leaf: argparse.ArgumentParser) -> Iterator[tuple[list[str], str]]:
    """The words of a command of which one is wrong, and the name that the error has."""
    for words, (name, values) in EVENT.items() if command == "post" else ():
        yield from ((["--", *(word.format(value) for word in words)], name) for value in some(rng, values))
    positional = leaf._get_positional_actions()
    for action in [*positional, *options(leaf)]:
        if action.dest == "event" or action.nargs == 0 or (action.dest in STACK and command != "boards list"):
            continue
        before = [word for each in options(leaf) if each.required and each is not action for word in words_of(each)]
        of_event = action.dest in ("id", "note")
        if command == "post" and not of_event:
            before = [] if action.dest in ("csv", "jsonl") else ["--csv", "rows.csv"]
        for value in some(rng, VALUES[action.dest][1]):
            option = [f"{action.option_strings[0]}={value}"] if action.option_strings else []
            behind = [[value] if each is action else words_of(each) for each in positional]
            behind = behind if command != "post" or of_event else []
            behind = behind[:1] if command == "member register" and action.dest == "csv" else behind
            name = action.option_strings[0].lstrip("-") if action.option_strings else str(action.metavar or action.dest)
            yield [*before, *option, "--", *chain.from_iterable(behind)], value if value == NO_FILE[-1] else name


@pytest.mark.parametrize("seed", seeds(1, 8))
@pytest.mark.parametrize("command", LEAVES)
def test_a_wrong_value_is_named_before_a_stack_is_asked(
    command: str, seed: int, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("member,points\nm,1\n")
    run = runner(object(), capsys)  # whatever is asked of a stack raises an error
    for words, name in wrong(Random(f"{seed} {command}"), command, LEAVES[command]):
        ran = run(command, *words)
        said = ran.err.partition("error: ")[2] or ran.err
        assert (ran.status, ran.out) == (WRONG, ""), (words, ran)
        assert re.search(rf"\b{re.escape(name)}\b", said), (name, words, said)
        assert "secret" not in said
        assert name != "token" or "🦦" not in said
        assert len(said) < 2_000
