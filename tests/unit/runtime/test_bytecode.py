"""A package counts as compiled exactly where Python would load each of its imported modules from bytecode."""

import importlib
import os
import py_compile
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path
from py_compile import PycInvalidationMode

import pytest

from standings.runtime.bytecode import is_compiled

PACKAGE = "some_sdk"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of two modules, both imported, neither compiled."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (folder := tmp_path / PACKAGE).mkdir()
    for name in ("__init__", "part"):
        (folder / f"{name}.py").write_text("answer = 42\n", encoding="utf-8")
    importlib.import_module(f"{PACKAGE}.part")
    yield folder
    for name in (PACKAGE, f"{PACKAGE}.part"):
        del sys.modules[name]


def compile_all(package: Path, mode: PycInvalidationMode = PycInvalidationMode.TIMESTAMP) -> None:
    for source in package.glob("*.py"):
        py_compile.compile(str(source), doraise=True, invalidation_mode=mode)


@pytest.mark.parametrize("mode", PycInvalidationMode)
def test_it_is_compiled_where_every_module_is(package: Path, mode: PycInvalidationMode) -> None:
    assert not is_compiled(PACKAGE)
    compile_all(package, mode)
    assert is_compiled(PACKAGE)
    Path(cache_from_source(str(package / "part.py"))).unlink()
    assert not is_compiled(PACKAGE)


def test_bytecode_of_an_older_source_does_not_count(package: Path) -> None:
    compile_all(package)
    os.utime(package / "part.py", (1, 1))
    assert not is_compiled(PACKAGE)


def test_bytecode_of_another_python_does_not_count(package: Path) -> None:
    compile_all(package)
    cached = Path(cache_from_source(str(package / "part.py")))
    cached.write_bytes(b"\0\0" + cached.read_bytes()[2:])
    assert not is_compiled(PACKAGE)


def test_the_package_alone_counts(package: Path, tmp_path: Path) -> None:
    compile_all(package)
    (tmp_path / f"{PACKAGE}s.py").write_text("answer = 42\n", encoding="utf-8")
    importlib.import_module(f"{PACKAGE}s")
    assert is_compiled(PACKAGE)
    assert not is_compiled(f"{PACKAGE}s")
