"""A client of the HTTP API for reads."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode

from demo import api

PAGE = 500


class ReadError(Exception):
    """The API answered with an error, or not at all."""


class Reader:
    """Reads one metric of one board."""

    def __init__(self, api_url: str, board: str, metric: str = "points") -> None:
        self._base = f"{api_url}/boards/{quote(board, safe='')}/{metric}"

    def pages(self, window: str, period: str | None, limit: int = PAGE) -> Iterator[dict[str, Any]]:
        """Yield all pages of a ranking."""
        cursor: str | None = None
        while True:
            answer = self._get(f"/{window}", limit=limit, period=period, cursor=cursor)
            if answer is None:
                raise ReadError(f"{window} of {period}: 404")
            yield answer
            cursor = answer["next"]
            if cursor is None:
                return

    def rank(self, window: str, member: str) -> dict[str, Any] | None:
        """Return a member's rank in the current period; None if it has none."""
        return self._get(f"/{window}/rank", member=member)

    def _get(self, path: str, **arguments: str | int | None) -> dict[str, Any] | None:
        query = {name: value for name, value in arguments.items() if value is not None}
        try:
            answer: dict[str, Any] = api.call("GET", f"{self._base}{path}?{urlencode(query)}")
        except api.ProblemError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise ReadError(str(error)) from error
        except api.NoAnswerError as error:
            raise ReadError(str(error)) from error
        return answer
