"""Asks the maintenance function of a stack, until what was asked for is done."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

MAX_NAP_S_LENGTH: Final = 30.0
"""Whoever waits longer is told in between."""


class FunctionError(Exception):
    """The function failed; the message says what it said."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """A stack's maintenance function."""

    client: "LambdaClient"
    function: str
    sleep: Callable[[float], None] = time.sleep

    def answers(self, task: str, arguments: Mapping[str, Any], action: str | None = None) -> Iterator[dict[str, Any]]:
        """What the function answers to a task, again and again until it is done; it waits where that says so.

        `action` is what to do within the task, if it has several; a list is answered once.
        """
        asked = dict(arguments)
        while True:
            answer = self._answer(task, asked if action is None else {action: asked})
            yield answer
            if answer["done"] or action == "list":
                return
            if "cursor" in answer:
                asked["cursor"] = answer["cursor"]
            elif action is None:
                asked["begin"] = False
            self.sleep(min(answer.get("wait") or 0.0, MAX_NAP_S_LENGTH))

    def _answer(self, task: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        payload = json.dumps({task: arguments}).encode()
        answer = self.client.invoke(FunctionName=self.function, Payload=payload)
        content = answer["Payload"].read()
        if "FunctionError" in answer:
            try:
                error = json.loads(content)
                raise FunctionError(f"{error.get('errorType', 'error')}: {error.get('errorMessage', '')}")
            except ValueError as undecodable:
                raise FunctionError(content.decode(errors="replace")) from undecodable
        found: dict[str, Any] = json.loads(content)
        return found
