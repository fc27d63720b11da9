"""The layer is compiled by a Python of the runtime's version, wherever on the machine one is."""

import importlib.util
import os
import sys
from pathlib import Path
from types import MappingProxyType

import pytest

from compile_layer import NAMED, NoInterpreterError, find, main

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
OTHER = "3.99"


def program(path: Path, prints: str, status: int = 0) -> str:
    """A program that prints this, whatever it is asked."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{prints}'\nexit {status}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def places(tmp_path: Path) -> MappingProxyType[str, str]:
    """The environment of a machine that has no Python but the one that builds."""
    folders = os.pathsep.join(str(tmp_path / name) for name in ("first", "second"))
    return MappingProxyType({"PATH": folders, "HOME": str(tmp_path), "PYENV_ROOT": str(tmp_path / "pyenv")})


def test_the_building_python_is_taken_where_it_fits(places: dict[str, str]) -> None:
    assert find(HERE, places) == sys.executable


def test_one_on_the_path_is_taken_and_a_shim_that_starts_none_is_not(places: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "first" / f"python{OTHER}", "pyenv: command not found", status=127)
    right = program(tmp_path / "second" / f"python{OTHER}", "cpython-399 final")
    assert find(OTHER, places) == right


def test_one_of_pyenv_is_taken_though_none_is_chosen(places: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "pyenv" / "versions" / f"{OTHER}.1" / "bin" / f"python{OTHER}", "cpython-399 candidate")
    right = program(tmp_path / "pyenv" / "versions" / f"{OTHER}.0" / "bin" / f"python{OTHER}", "cpython-399 final")
    assert find(OTHER, places) == right
    assert find(OTHER, {"HOME": str(tmp_path / "other"), "PYENV_ROOT": str(tmp_path / "pyenv")}) == right


def test_one_of_uv_is_taken_and_installed_first_if_need_be(
    places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = program(tmp_path / "managed", "cpython-399 final")
    uv = tmp_path / "first" / "uv"
    program(uv, "")
    uv.write_text(
        f"#!/bin/sh\n"
        f'case "$*" in\n'
        f'  "python find --managed-python {OTHER}") [ -e {tmp_path}/there ] && echo {right};;\n'
        f'  "python install --no-bin {OTHER}") : >{tmp_path}/there;;\n'
        f"  *) exit 2;;\n"
        f"esac\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PATH", f"{places['PATH']}{os.pathsep}/usr/bin{os.pathsep}/bin")
    assert find(OTHER, places) == right
    assert "uv tries to install one" in capsys.readouterr().out
    assert find(OTHER, places) == right
    assert capsys.readouterr().out == ""


def test_the_named_one_goes_first_and_no_other_takes_its_place(places: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "first" / f"python{OTHER}", "cpython-399 final")
    named = program(tmp_path / "mine", "cpython-399 final")
    assert find(OTHER, {**places, NAMED: named}) == named
    for wrong in (sys.executable, str(tmp_path / "none"), program(tmp_path / "pypy", "pypy-399 final")):
        with pytest.raises(NoInterpreterError, match=f"{NAMED}: expected a Python {OTHER}.*, got {wrong}$"):
            find(OTHER, {**places, NAMED: wrong})


def test_where_there_is_none_the_layer_fails_and_each_remedy_is_named(
    places: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name, value in places.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv(NAMED, raising=False)
    assert main([OTHER, str(tmp_path)]) == 1
    said = capsys.readouterr().err
    for remedy in (
        f"pyenv install {OTHER}",
        f"uv python install {OTHER}",
        f"{NAMED}=/path/to",
        f"PythonRuntime=python{HERE}",
    ):
        assert remedy in said


def test_a_layer_that_does_not_compile_fails(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "right.py").write_text("answer = 42\n", encoding="utf-8")
    assert main([HERE, str(tmp_path)]) == 0
    assert Path(importlib.util.cache_from_source(str(tmp_path / "right.py"))).exists()
    (tmp_path / "wrong.py").write_text("answer =\n", encoding="utf-8")
    assert main([HERE, str(tmp_path)]) == 1
    assert "could not compile the layer" in capfd.readouterr().err
