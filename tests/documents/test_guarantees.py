"""Every test that docs/guarantees.md names is there."""

import ast
import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]


def test_every_test_that_shows_a_guarantee_is_there() -> None:
    text = (PROJECT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[a-z_/]+\.py)(?:::(test_[a-z_]+))?`", text)
    assert len(named) > 10
    for path, test in named:
        content = (PROJECT / path).read_text(encoding="utf-8")
        there = {node.name for node in ast.walk(ast.parse(content)) if isinstance(node, ast.FunctionDef)}
        assert test in there if test else there, f"{path}::{test}"


def test_every_promise_is_shown_by_something() -> None:
    text = (PROJECT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    promises = text.split("\n## ")[1:]
    assert len(promises) > 5
    assert [promise.splitlines()[0] for promise in promises if "*Shown by*: `tests/" not in promise] == []
