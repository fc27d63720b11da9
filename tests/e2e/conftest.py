"""Deployed stacks that tests share: those of an xdist group run in one process.

Each test has boards of its own there, and looks only at what it has posted itself.
"""

import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from demo.embedded.stack import PROJECT, Deployment, deployed
from tests.support.aws.embedded_tools import skip_without_tools
from tests.support.aws.tokens import AUDIENCE, Issuer, published

OLD: Final = "beba167a2ba70a889cc948080b0c0a14e959bcd9"
"""The commit of the last release, from which `test_upgrade.py` upgrades a stack."""
_is_there = (
    subprocess.run(["git", "cat-file", "-e", OLD], cwd=PROJECT, check=False, capture_output=True).returncode == 0
)
# A shallow clone has no history; `git fetch --unshallow` brings it.
collect_ignore = [] if _is_there else ["test_upgrade.py"]

PICTURES: Final = "pictures.example"
WEST: Final = datetime.now(UTC).hour - 12
"""Hours to the west of Greenwich where it is about noon: the day before ended there long ago."""
TODAY: Final = (datetime.now(UTC) - timedelta(hours=WEST)).date()
SEASON: Final = "first-2026"


def boards(late: str, late_of_tiers: str = "3 days") -> str:
    """The project's `boards.toml`, with boards that announce a top, whose season ended at midnight, and of a league."""
    return f"""
{(PROJECT / "layers" / "standings" / "boards.toml").read_text(encoding="utf-8")}
[boards."race-*"]
metrics.points = {{ aggregate = "sum", windows = ["all"] }}
announce.all = {{ top = 3 }}

[boards."league-*"]
timezone = "Etc/GMT{WEST:+}"
late = "{late}"
keep = "30 days"
settle = ["season"]
seasons = [{{ name = "{SEASON}", starts = "{TODAY - timedelta(days=9)}", ends = "{TODAY}" }}]
metrics.points = {{ aggregate = "sum", windows = ["all", "season"] }}
prizes.season = [
  {{ ranks = "1", name = "gold" }},
  {{ ranks = "2-3", name = "silver" }},
  {{ percent = 10, name = "top" }},
]

[boards."tier-*"]
timezone = "Etc/GMT{WEST:+}"
late = "{late_of_tiers}"
keep = "30 days"
settle = ["day"]
metrics.points = {{ aggregate = "sum", windows = ["day"] }}
"""


@pytest.fixture(scope="session")
def deployment() -> Iterator[Deployment]:
    skip_without_tools()
    parameters = {"PictureOrigins": PICTURES, "FunctionUrl": "open", "QueryReservedConcurrency": "100"}
    with deployed(print, parameters, boards=boards("1 day")) as stack:
        yield stack


@pytest.fixture(scope="session")
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    with published(made):
        yield made


@pytest.fixture(scope="session")
def guarded(issuer: Issuer) -> Iterator[Deployment]:
    """A stack that takes tokens. One without `standings/admin` writes for the member that its `sub` names.

    Its query function has an address that takes signed requests.
    """
    skip_without_tools()
    tokens = {"JwtIssuer": issuer.address, "JwtAudience": f"another,{AUDIENCE}", "JwtMemberClaim": "sub"}
    closed = {"OpenReads": "false", "OpenWrites": "false", "FunctionUrl": "iam"}
    with deployed(print, {**tokens, **closed}) as stack:
        yield stack
