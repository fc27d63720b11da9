"""The fixtures and tests of docs/how-to/test-your-code.md pass as they stand on the page."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.documents.pages import PROJECT

PAGE: Final = (PROJECT / "docs" / "how-to" / "test-your-code.md").read_text(encoding="utf-8")


def test_they_pass(tmp_path: Path) -> None:
    files = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert [name for name, _ in files] == ["conftest.py", "test_matches.py"]
    for name, text in files:
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "standings").symlink_to(PROJECT)
    paths = os.pathsep.join(str(path) for path in (PROJECT / "layers" / "standings",))
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": paths}
    environment["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9"  # In the terminal of the tutorial. Nothing listens there.
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout
