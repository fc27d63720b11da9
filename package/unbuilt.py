"""Writes what `make package` would make of templates, without building or uploading: `make check` lints that.

The linter reads less from a template of SAM than from what CloudFormation deploys of it.

    python -m package.unbuilt .local/expanded template.yaml examples/leagues/template.yaml

writes `.local/expanded/template.json` and `.local/expanded/examples-leagues-template.json`.
"""

import json
import logging
import sys
from collections.abc import Iterable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from package.__main__ import expanded


def addressed(template: Mapping[str, Any]) -> dict[str, Any]:
    """A template with addresses of code, as `sam package` and `sam deploy` leave it. There is nothing at them."""
    found = deepcopy(dict(template))
    of_all = {kind: {"Properties": properties} for kind, properties in found.get("Globals", {}).items()}
    for name, part in {**of_all, **found["Resources"]}.items():
        for uri in part.get("Properties", {}).keys() & {"CodeUri", "ContentUri"}:
            part["Properties"][uri] = f"s3://bucket/{name}"
    return found


def write(folder: Path, sources: Iterable[Path]) -> None:
    """Write each template, expanded, into a folder, which then holds nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.json"):
        old.unlink()
    for source in sources:
        made = expanded(addressed(yaml_parse(source.read_text(encoding="utf-8"))))
        name = "-".join(source.with_suffix(".json").parts[-3:])
        (folder / name).write_text(json.dumps(made, indent=1), encoding="utf-8")


if __name__ == "__main__":
    logging.getLogger("samtranslator.metrics").setLevel(logging.ERROR)  # It warns of metrics that nobody asked for.
    into, *templates = map(Path, sys.argv[1:])
    write(into, templates)
