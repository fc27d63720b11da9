"""The last build is used again only if all that it was made of is the same; a linked layer is the built one."""

import shutil
import site
import sys
from pathlib import Path

import pytest

from demo.embedded.built import boards_file, copy_build, define, digest, link_layer, made_of, mark


@pytest.fixture
def sources(tmp_path: Path) -> list[Path]:
    for name in ("template.yaml", "layers/a/b.py", "layers/a/c.py"):
        (path := tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return [tmp_path / "template.yaml", tmp_path / "layers"]


def test_each_change_of_what_is_built_makes_another_digest(sources: list[Path], tmp_path: Path) -> None:
    b, c = (tmp_path / "layers" / "a" / name for name in ("b.py", "c.py"))
    made = [digest(sources, ["python3.13"])]
    made.append(digest(sources, ["python3.14"]))
    made.append(digest(sources, ["python3.1", "3"]))
    b.write_text("another", encoding="utf-8")
    made.append(digest(sources, ["python3.13"]))
    c.rename(c.with_name("d.py"))
    made.append(digest(sources, ["python3.13"]))
    c.with_name("d.py").unlink()
    made.append(digest(sources, ["python3.13"]))
    (tmp_path / "template.yaml").write_text("", encoding="utf-8")
    made.append(digest(sources, ["python3.13"]))
    assert len(set(made)) == len(made)


def test_neither_dates_nor_bytecode_make_another_digest(sources: list[Path], tmp_path: Path) -> None:
    before = digest(sources, [])
    (cache := tmp_path / "layers" / "a" / "__pycache__").mkdir()
    (cache / "b.pyc").write_bytes(b"")
    (tmp_path / "template.yaml").touch()
    assert digest(sources, []) == before


@pytest.fixture
def build(tmp_path: Path) -> Path:
    build = tmp_path / "shared"
    (layer := build / "StandingsLayer" / "python" / "some_package_of_the_layer").mkdir(parents=True)
    (layer / "__init__.py").write_text("WHERE = 'built'\n", encoding="utf-8")
    (layer.parent / "boards.toml").write_text("shipped", encoding="utf-8")
    (build / "template.yaml").write_text("  A:\n    ContentUri: StandingsLayer\n    CodeUri: A\n", encoding="utf-8")
    return build


def test_a_mark_stays_with_the_build(build: Path, tmp_path: Path) -> None:
    assert made_of(build) is None
    mark(build, "a digest")
    copy_build(build, tmp_path / "copy")
    assert (made_of(build), made_of(tmp_path / "copy")) == ("a digest", None)


def test_a_deployment_defines_boards_of_its_own(build: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        copy_build(build, tmp_path / name)
    define(tmp_path / "one", "of one")
    link_layer(tmp_path / "one" / "template.yaml", "python3.13")
    texts = [boards_file(folder).read_text(encoding="utf-8") for folder in (build, tmp_path / "one", tmp_path / "two")]
    assert texts == ["shipped", "of one", "shipped"]
    assert "LinkedLayer" not in (build / "template.yaml").read_text(encoding="utf-8")


def test_python_finds_the_built_layer_by_the_linked_one_and_before_other_packages(
    build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link_layer(build / "template.yaml", "python3.13")
    text = (build / "template.yaml").read_text(encoding="utf-8")
    assert text == "  A:\n    ContentUri: LinkedLayer\n    CodeUri: A\n"
    unpacked = tmp_path / "unpacked"
    shutil.copytree(build / "LinkedLayer", unpacked)
    monkeypatch.setattr(sys, "path", list(sys.path))
    site.addsitedir(str(unpacked / "python" / "lib" / "python3.13" / "site-packages"))
    assert sys.path[0] == str(build / "StandingsLayer" / "python")


def test_a_template_without_the_layer_is_an_error(build: Path) -> None:
    (build / "template.yaml").write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match=r"expected 'ContentUri: StandingsLayer\\n' once, got it 0 times"):
        link_layer(build / "template.yaml", "python3.13")
