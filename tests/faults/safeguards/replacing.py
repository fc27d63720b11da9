"""Replaces functions and constants of the product for a while."""

from __future__ import annotations

import importlib
import re
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

PRODUCT = "standings"


@dataclass(frozen=True)
class Change:
    """A replacement of a function, a method or a constant of the product."""

    where: str
    """Its module and its name in it, as in `project.commit_moves:_believe` or `project.projector:_Batch._report`."""
    make: Callable[[Any], Any]
    """Makes the replacement, given what it replaces."""

    @contextmanager
    def made(self) -> Iterator[None]:
        """Replace it in every module of the product that has imported it; LookupError where there is no such name."""
        module = importlib.import_module(f"{PRODUCT}.{self.where.partition(':')[0]}")
        *owners, name = self.where.partition(":")[2].split(".")
        owner: Any = module
        for part in owners:
            owner = _own(owner, part, self.where)
        before = _own(owner, name, self.where)
        after = self.make(before)
        # A constant may equal others: it is replaced in its own module alone.
        holders = list(_holders(before)) if callable(before) and owner is module else [(owner, name)]
        with ExitStack() as patches:
            patches.callback(_forget, module)
            for holder, attribute in holders:
                patches.enter_context(mock.patch.object(holder, attribute, after))
            _forget(module)
            yield


def _own(owner: Any, name: str, where: str) -> Any:
    if name not in vars(owner):
        raise LookupError(f"expected the name of something in {PRODUCT}, got {where!r}: there is no {name!r}")
    return vars(owner)[name]


def _holders(function: Any) -> Iterator[tuple[ModuleType, str]]:
    """The modules of the product that hold a function, each with its name there."""
    for path, module in list(sys.modules.items()):
        if path.partition(".")[0] == PRODUCT:
            yield from ((module, name) for name, held in vars(module).items() if held is function)


def _forget(module: ModuleType) -> None:
    """Empty a module's caches: what is in them follows from what is replaced."""
    for held in vars(module).values():
        if isinstance(held, _lru_cache_wrapper):
            held.cache_clear()


@dataclass(frozen=True)
class Safeguard:
    """A rule of the product: what happens without it, and what takes it away."""

    name: str
    without: str
    changes: tuple[Change, ...]
    written: str = ""
    """The schedule of `written` that was made for it, where chance seldom meets it."""
    unneeded: str = ""
    """Why all is right without it, where nothing notices that it is gone."""

    @contextmanager
    def removed(self) -> Iterator[None]:
        """Take it away for a while."""
        with ExitStack() as changes:
            for change in self.changes:
                changes.enter_context(change.made())
            yield


def becomes(value: Any) -> Callable[[Any], Any]:
    """A constant with another value."""
    return lambda _: value


def returns(value: Any) -> Callable[[Any], Callable[..., Any]]:
    """A function that always returns the same value."""
    return lambda _: lambda *_, **__: value


def unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose action of a transaction is done whatever its condition says."""
    return lambda *given: unconditional(original(*given))


def unconditional(action: dict[str, Any]) -> dict[str, Any]:
    """An action with a condition that always holds, and without the values of the condition that it had."""
    ((kind, request),) = action.items()
    used = set(re.findall(r":\w+", request.get("UpdateExpression", "")))
    values = {name: value for name, value in request.get("ExpressionAttributeValues", {}).items() if name in used}
    rest = {name: value for name, value in request.items() if name != "ExpressionAttributeValues"}
    condition = {"ConditionExpression": "attribute_not_exists(nothing)"}
    return {kind: {**rest, **condition, **({"ExpressionAttributeValues": values} if values else {})}}
