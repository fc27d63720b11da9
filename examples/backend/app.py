"""A backend in Flask that counts steps and answers with ranks: flask --app app run."""

from typing import Any

from flask import Flask, request

from standings.client import ApiError, connect

app = Flask(__name__)
standings = connect("standings", boards="boards.toml")


@app.post("/runs")
def run() -> tuple[dict[str, str], int]:
    """Count a run: `{"id": "run-17", "member": "u123", "points": 3}`. It is safe to send it again."""
    said = request.get_json()
    standings.post("demo-backend", said["member"], id=said["id"], points=said["points"])
    return {"id": said["id"]}, 202


@app.get("/ranks/<path:member>")
def rank(member: str) -> Any:
    """A member's rank in the last seven days."""
    return standings.board("demo-backend").rank(member, window="last-7-days")


@app.errorhandler(ApiError)
def problem(error: ApiError) -> tuple[dict[str, str], int]:
    """What the stack would answer: 404 for a member without a rank, 400 for a wrong number."""
    return {"type": error.type, "detail": error.detail}, error.status
