"""Replace functions, constants and deployed settings of the product temporarily."""

from __future__ import annotations

import importlib
import re
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import _lru_cache_wrapper
from typing import TYPE_CHECKING, Any
from unittest import mock

from tests.support.awslambda import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

PRODUCT = "standings"


@dataclass(frozen=True)
class Change:
    """A replacement for a function, a method or a constant of the product."""

    where: str
    """Module and name, such as `project.commits:_start_from` or `project.projector:_Batch._report`."""
    make: Callable[[Any], Any]
    """Takes the original and returns its replacement."""

    @contextmanager
    def made(self) -> Iterator[None]:
        """Replace the original in every module of the product that has imported it.

        Raise LookupError if the name does not exist.
        """
        module = importlib.import_module(f"{PRODUCT}.{self.where.partition(':')[0]}")
        *owners, name = self.where.partition(":")[2].split(".")
        owner: Any = module
        for part in owners:
            owner = _own(owner, part, self.where)
        before = _own(owner, name, self.where)
        after = self.make(before)
        # Other names may hold an equal constant, so a constant is replaced only in its own module.
        holders = list(_holders(before)) if callable(before) and owner is module else [(owner, name)]
        with ExitStack() as patches:
            patches.callback(_forget, module)
            for holder, attribute in holders:
                patches.enter_context(mock.patch.object(holder, attribute, after))
            _forget(module)
            yield


@dataclass(frozen=True)
class Setting:
    """Another value of a setting of a mapping or of the queue than that in `template.yaml`."""

    where: str
    """File and name of the setting, such as `template.yaml:MaximumRetryAttempts`."""
    of: str
    """`STREAM` or `QUEUE`, in `tests.support.awslambda.settings`."""
    values: Mapping[str, Any]

    @contextmanager
    def made(self) -> Iterator[None]:
        with mock.patch.object(settings, self.of, replace(getattr(settings, self.of), **self.values)):
            yield


def _own(owner: Any, name: str, where: str) -> Any:
    if name not in vars(owner):
        raise LookupError(f"expected MODULE:NAME in the package {PRODUCT}, got {where!r}: {name!r} does not exist")
    return vars(owner)[name]


def _holders(function: Any) -> Iterator[tuple[ModuleType, str]]:
    """Yield each module of the product that holds a function, with the function's name in that module."""
    for path, module in list(sys.modules.items()):
        if path.partition(".")[0] == PRODUCT:
            yield from ((module, name) for name, held in vars(module).items() if held is function)


def _forget(module: ModuleType) -> None:
    """Empty the caches of a module, because their entries were computed with the original."""
    for held in vars(module).values():
        if isinstance(held, _lru_cache_wrapper):
            held.cache_clear()


class Safeguard:
    """The changes that disable a rule of the product, and perhaps a schedule written for it, which fails without it."""

    def __init__(self, *changes: Change | Setting, written: Callable[[], None] | None = None) -> None:
        self.changes = changes
        self.written = written

    @contextmanager
    def removed(self) -> Iterator[None]:
        with ExitStack() as changes:
            for change in self.changes:
                changes.enter_context(change.made())
            yield


def becomes(value: Any) -> Callable[[Any], Any]:
    return lambda _: value


def returns(value: Any) -> Callable[[Any], Callable[..., Any]]:
    """Replace a function by one that always returns the same value."""
    return lambda _: lambda *_, **__: value


def unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    """Replace a function that returns an action by one that returns the action without its condition."""
    return lambda *arguments: unconditional(original(*arguments))


def unconditional(action: dict[str, Any]) -> dict[str, Any]:
    """Return an action whose condition always holds, without the values that only the old condition used."""
    ((kind, request),) = action.items()
    used = set(re.findall(r":\w+", request.get("UpdateExpression", "")))
    values = {name: value for name, value in request.get("ExpressionAttributeValues", {}).items() if name in used}
    rest = {name: value for name, value in request.items() if name != "ExpressionAttributeValues"}
    condition = {"ConditionExpression": "attribute_not_exists(nothing)"}
    return {kind: {**rest, **condition, **({"ExpressionAttributeValues": values} if values else {})}}
