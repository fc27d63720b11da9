"""Time zones come from the package tzdata alone, by their names alone, and leave everybody else's alone."""

import os
import pickle
import subprocess
import sys
import zoneinfo  # noqa: TID251 - the path and the cache of the program around
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import tzdata

from standings.client import BadArgument
from standings.client import time_zone as of_client
from standings.domain.zones import VERSION, names, of_system, time_zone

NONE = [
    *(
        "Mars/Olympus",
        "Europe",
        "Europe/",
        "europe/berlin",
        " Europe/Berlin",
        "Europe/Berlin\0",
        "posixrules",
        "localtime",
    ),
    *("posix/Europe/Berlin", "right/Europe/Berlin", "../zones", "../zoneinfo/UTC", "Europe/../UTC", "./UTC", "", "."),
    *("/usr/share/zoneinfo/UTC", "zone.tab", "tzdata.zi", "__init__.py", "+01:00", "\ud800", "x" * 5000),
    *(None, 1, True, b"UTC", ["UTC"], {"UTC"}),
]


@pytest.mark.parametrize("name", NONE, ids=lambda name: ascii(name)[:30])
def test_no_other_value_is_a_zone(name: Any) -> None:
    with pytest.raises(ValueError, match='expected an IANA time zone such as "Europe/Berlin", got '):
        time_zone(name)
    with pytest.raises(BadArgument, match="name: expected"):
        of_client(name)


def test_every_zone_of_the_package_is_there_and_has_its_rules() -> None:
    """As `ZoneInfo` has them that looks for no files of the system."""
    at = datetime(2026, 11, 27, 7, 30, tzinfo=UTC)
    path = zoneinfo.TZPATH
    zoneinfo.reset_tzpath(to=())
    try:
        expected = {name: at.astimezone(zoneinfo.ZoneInfo.no_cache(name)).isoformat() for name in sorted(names())}
    finally:
        zoneinfo.reset_tzpath(to=path)

    assert {name: at.astimezone(time_zone(name)).isoformat() for name in names()} == expected
    assert expected["America/Vancouver"] == "2026-11-27T00:30:00-07:00"
    assert len(expected) > 590
    assert tzdata.IANA_VERSION == VERSION


def test_the_layers_zones_come_before_those_that_a_function_brings(tmp_path: Path) -> None:
    """Lambda's path has the function first. In the layer, tzdata is beside the package."""
    own = tmp_path / "function" / "tzdata"
    own.mkdir(parents=True)
    (own / "__init__.py").write_text('IANA_VERSION = "2025b"\n')
    layer = tmp_path / "layer"
    layer.mkdir()
    (layer / "tzdata").symlink_to(Path(tzdata.__path__[0]))
    (layer / "standings").symlink_to(Path(__file__).parents[3] / "layers/standings/standings")
    program = "import tzdata; from standings.domain import zones; print(tzdata.IANA_VERSION, zones.VERSION)"
    path = f"{own.parent}{os.pathsep}{layer}"
    done = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": path}, capture_output=True, check=True)
    assert done.stdout.decode().split() == ["2025b", VERSION]


def test_zones_are_one_for_each_name_and_others_keep_theirs() -> None:
    others, path = zoneinfo.ZoneInfo("Asia/Tokyo"), zoneinfo.TZPATH
    zone = time_zone("Asia/Tokyo")

    assert (zone is time_zone("Asia/Tokyo"), str(zone)) == (True, "Asia/Tokyo")
    assert deepcopy(zone) is pickle.loads(pickle.dumps(zone)) is zone  # noqa: S301 - our own
    assert (zoneinfo.ZoneInfo("Asia/Tokyo") is others, zoneinfo.TZPATH) == (True, path)
    assert zone is not others


def test_the_systems_files_say_their_version_or_none(tmp_path: Path) -> None:
    file = tmp_path / "tzdata.zi"
    assert of_system(file) is None
    for text, version in (("# version 2025b\nR Z 1 2\n", "2025b"), ("R Z 1 2\n", None)):
        file.write_text(text)
        assert of_system(file) == version
