"""Every command that README and docs show is run, line by line, beside `make serve`."""

import os
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.support.documents.pages import PAGES, PROJECT, Block, blocks

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("serve")]

PATIENCE_S: Final = 300
OUTSIDE: Final = (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
LONG: Final = {"make test", "make soak", "make bench", "make bench SIZE=small"}
"""Targets that take minutes or hours: here make only has to know them."""
SERVES: Final = "make serve"

# An event takes a moment to show. A person who types is slower than these pauses.
PRELUDE: Final = """
set -euo pipefail
again() { for pause in 0 1 1 2 2 4 4 8; do sleep "$pause"; "$@" && return 0; done; return 1; }
curl() { again command curl --silent --show-error --fail "$@"; }
standings() { again command standings "$@"; }
set -x
"""


def typed(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.needs is None]


@pytest.mark.parametrize("page", [page for page in PAGES if typed(page)], ids=lambda page: page.name)
def test_what_a_page_says_can_be_typed(page: Path, served: None) -> None:
    del served
    script = [PRELUDE]
    for block in typed(page):
        for command in block.commands:
            if command == SERVES:
                continue
            if command.startswith("make "):
                if command in LONG:
                    script.append(command.replace("make ", "make --dry-run --silent ", 1) + " >/dev/null")
                else:
                    assert f"\ntimed {command}\n" in OUTSIDE, f"{command}: nobody runs it"
                continue
            script.append(command)
    found = subprocess.run(
        ["bash", "-c", "\n".join(script)],
        cwd=PROJECT,
        env={**os.environ, "PATH": f"{PROJECT}/.venv/bin:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert found.returncode == 0, f"{found.stdout[-4000:]}\n{found.stderr[-4000:]}"
