"""Calls a stack's maintenance function until its task is done."""

import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

from standings.domain.errors import InvalidArgumentError, NotFoundError
from standings.runtime.clock import OUT_OF_TIME, backoff
from standings.stores import StoreUnavailableError
from standings_cli.stack.errors import FunctionError, InputError
from standings_cli.terminal import Working, say

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_MAX_PAUSE_S: Final = 30.0  # a waiting task is asked at least this often, to show its progress
_LOOK_EVERY_S: Final = 10.0  # how often a person sees how far a job is within a call, which may take 15 minutes
_ATTEMPTS: Final = 6
_FIRST_RETRY_S: Final = 1.0
_JOBS: Final = frozenset(("rebuild", "delete"))
_ANY_ERROR: Final = "Runtime.HandlerError"
"""What the embedded AWS calls each error of a function. Lambda calls it by its class."""
_CUT_SHORT: Final = frozenset(("Sandbox.Timedout", "Runtime.ExitError"))
"""What Lambda calls the end of a function in the middle of a call. Every task may be called again, and goes on."""
_CUT_SHORT_SAID: Final = ("Task timed out", "Worker process died", OUT_OF_TIME)
"""The same where the error has no name, or another: in the embedded AWS, which ends functions to change boards.toml."""
_MISTAKES: Final = frozenset(error.__name__ for error in (ValueError, InvalidArgumentError, NotFoundError))


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A stack's maintenance function."""

    client: "LambdaClient"
    function: str
    sleep: Callable[[float], None] = time.sleep
    chance: Callable[[], float] = random.random

    def answers(
        self,
        task: str,
        arguments: Mapping[str, Any],
        action: str | None = None,
        progress: Callable[[Mapping[str, Any]], str] = lambda _: "",
    ) -> Iterator[dict[str, Any]]:
        """Call the function until the task is done, and return each answer. For a list it is called once.

        `action` names the part of the task to do, such as `replay`. Arguments that are None are left out. While the
        store is unavailable, or where the function ended in the midst of a call, the call is tried again, six times in
        a row at most. Raises FunctionError, and InputError for a mistake in the arguments. Meanwhile a person sees
        `progress` of the last answer.
        """
        remaining = {name: value for name, value in arguments.items() if value is not None}
        working = Working(" ".join(filter(None, (action, task.replace("_", " "), remaining.get("board")))))
        while True:
            with self._watching(task, remaining.get("board"), progress, working):
                answer = self._answer({task: remaining if action is None else {action: remaining}}, working)
            working.text = progress(answer)
            yield answer
            if answer["done"] or action == "list":
                return
            if "cursor" in answer:
                remaining["cursor"] = answer["cursor"]
            elif action is None:
                remaining["begin"] = False
            with working:
                self.sleep(min(answer.get("wait") or 0.0, _MAX_PAUSE_S))

    @contextmanager
    def _watching(
        self, task: str, board: str | None, progress: Callable[[Mapping[str, Any]], str], working: Working
    ) -> Iterator[None]:
        """Show a person meanwhile how far a rebuild or deletion is, by the board's record. Nothing waits for it."""
        ended = Event()

        def watch() -> None:
            from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - at first use

            while not ended.wait(_LOOK_EVERY_S):
                try:
                    failed, shown = self._invoke({"boards": {"show": {"boards": [board]}}})
                except (BotoCoreError, ClientError, FunctionError):
                    continue  # The call itself says what is wrong
                job = None if failed else shown["boards"][0].get("job")
                if job is not None and not ended.is_set():
                    working.text = progress({**job, "slot": job["part"], "wait": 0, "done": False})

        if task in _JOBS and sys.stderr.isatty():
            Thread(target=watch, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def _answer(self, event: Mapping[str, Any], working: Working) -> dict[str, Any]:
        for attempt in range(1, _ATTEMPTS + 1):
            with working:
                failed, answer = self._invoke(event)
            if not failed:
                return answer
            kind, told = answer.get("errorType", "error"), str(answer.get("errorMessage", ""))
            is_of_board = told.startswith(("board ", "no family "))
            # A mistake names the argument that is wrong. That tells it apart where the class has another name.
            (arguments,) = event.values()
            if kind in _MISTAKES or (kind == _ANY_ERROR and (is_of_board or told.partition(":")[0] in arguments)):
                raise InputError(told + (": `standings boards list` shows the boards" if is_of_board else ""))
            error = f"{kind}: {told}"
            if kind != StoreUnavailableError.__name__ and not _is_cut_short(kind, told):
                raise FunctionError(error)
            if attempt < _ATTEMPTS:
                pause = backoff(attempt, _FIRST_RETRY_S, _MAX_PAUSE_S, self.chance)
                retry = f"trying again in {pause:.1f} s (attempt {attempt + 1} of {_ATTEMPTS})"
                say(f"standings: {error}; {retry}")
                with working:
                    self.sleep(pause)
        goes_on = ", and the rebuild goes on" if "rebuild" in event else ""
        raise FunctionError(
            f"{error}; the function failed {_ATTEMPTS} times in a row: run the same command again later{goes_on}"
        )

    def _invoke(self, event: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Return whether the function failed, and its answer or error."""
        response = self.client.invoke(FunctionName=self.function, Payload=json.dumps(event).encode())
        content = response["Payload"].read()
        failed = "FunctionError" in response
        try:
            return failed, json.loads(content)
        except ValueError as undecodable:
            if not failed:
                raise
            raise FunctionError(content.decode(errors="replace")) from undecodable


def _is_cut_short(kind: str, told: str) -> bool:
    return kind in _CUT_SHORT or any(words in told for words in _CUT_SHORT_SAID)
