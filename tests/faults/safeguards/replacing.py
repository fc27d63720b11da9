"""Replace functions, constants and deployed settings of the product temporarily."""

import importlib
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import _lru_cache_wrapper
from types import ModuleType
from typing import Any, Final
from unittest import mock

from tests.support.awslambda import settings

from .rig import Rig

PRODUCT = "standings"
Schedule = Callable[[Rig], None]


@dataclass(frozen=True)
class Change:
    """A replacement for a function, a method or a constant of the product."""

    where: str
    """Module and name, such as `rankings.calendar.storing:_start_from` or `project.projector:_Batch._report`."""
    instead: Callable[..., Any]
    """Takes the original, and the arguments if it is a function, and returns what the product gets in its place."""

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
        after = self._called(before) if callable(before) else self.instead(before)
        # Other names may hold an equal constant, so a constant is replaced only in its own module.
        holders = list(_holders(before)) if callable(before) and owner is module else [(owner, name)]
        with ExitStack() as patches:
            patches.callback(_forget, module)
            if callable(before):
                patches.callback(_give_back, after, before)
            for holder, attribute in holders:
                patches.enter_context(mock.patch.object(holder, attribute, after))
            _forget(module)
            yield

    def _called(self, before: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *arguments, **named: self.instead(before, *arguments, **named)


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


def _give_back(after: Any, before: Any) -> None:
    """Put the original where a module was imported meanwhile, and took what stood in its place."""
    for holder, name in list(_holders(after)):
        setattr(holder, name, before)


def _forget(module: ModuleType) -> None:
    """Empty the caches of a module, because their entries were computed with the original."""
    for held in vars(module).values():
        if isinstance(held, _lru_cache_wrapper):
            held.cache_clear()


class Safeguard:
    """A rule of the product, with the changes that disable it. It decorates a schedule that was written for it.

    Random schedules that look for it have what `of` names: fields of `tests.faults.world.Options`, like "notes bests".
    None look for it if it is not `searched`: without it they would not end, or break off.
    """

    def __init__(self, name: str, *changes: Change | Setting, of: str = "", searched: bool = True) -> None:
        self.changes = changes
        self.searched = searched
        self.options = dict.fromkeys(of.split(), True)
        self.written: Schedule | None = None
        SAFEGUARDS[name] = self

    def __call__(self, schedule: Schedule) -> Schedule:
        self.written = schedule
        return schedule

    @contextmanager
    def removed(self) -> Iterator[None]:
        with ExitStack() as changes:
            for change in self.changes:
                changes.enter_context(change.made())
            yield


SAFEGUARDS: Final[dict[str, Safeguard]] = {}
"""Each safeguard by its name. Modules that define some add them."""


def always(value: Any) -> Callable[..., Any]:
    """Put a value in the place of a constant, or of whatever a function returns."""
    return lambda *_, **__: value


def unconditionally(original: Callable[..., Any], *arguments: Any) -> Any:
    """Return the action that a function returns, without its condition."""
    return unconditional(original(*arguments))


def unconditional(action: dict[str, Any]) -> dict[str, Any]:
    """Return an action whose condition always holds, without the values that only the old condition used."""
    ((kind, request),) = action.items()
    used = set(re.findall(r":\w+", request.get("UpdateExpression", "")))
    values = {name: value for name, value in request.get("ExpressionAttributeValues", {}).items() if name in used}
    rest = {name: value for name, value in request.items() if name != "ExpressionAttributeValues"}
    condition = {"ConditionExpression": "attribute_not_exists(nothing)"}
    return {kind: {**rest, **condition, **({"ExpressionAttributeValues": values} if values else {})}}


def deleting(action: dict[str, Any]) -> dict[str, Any]:
    """Return an action that deletes an item instead of putting it, on the same condition."""
    request = {name: value for name, value in action["Put"].items() if name != "Item"}
    return {
        "Delete": {
            **request,
            "Key": {name: action["Put"]["Item"][name] for name in action["Put"]["Item"].keys() & {"pk", "sk"}},
        }
    }
