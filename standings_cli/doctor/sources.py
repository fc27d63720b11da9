"""Checks of what feeds the functions: the queue, the stream, and the event source mappings that read them."""

from collections.abc import Iterator
from typing import Any, Final

from standings_cli.doctor.deployed import ANNOUNCER, Deployed
from standings_cli.doctor.finding import Finding, failed, failed_on_aws, ok

_VIEW: Final = "NEW_AND_OLD_IMAGES"
_ENABLE: Final = "run `aws lambda update-event-source-mapping --uuid {uuid} --enabled`"


def mappings(deployed: Deployed) -> Iterator[Finding]:
    """All event source mappings are enabled, read the right source, and have no problem with it."""
    yield _mapping(deployed, "WriterFunction", _queue(deployed, "ActivityQueue"))
    stream = deployed.tables["ScoresTable"].get("LatestStreamArn", "no stream")
    yield _mapping(deployed, "ProjectorFunction", stream)
    if ANNOUNCER in deployed.functions:
        yield _mapping(deployed, ANNOUNCER, _queue(deployed, "LooksQueue"))


def recursion(deployed: Deployed) -> Iterator[Finding]:
    """Lambda lets the announcer, which asks itself for the next look, go on."""
    if ANNOUNCER not in deployed.functions:
        return
    about, name = "the announcer's loop", deployed.resources[ANNOUNCER]
    found = deployed.client("lambda").get_function_recursion_config(FunctionName=name)["RecursiveLoop"]
    if found == "Allow":
        yield ok(about, "allowed")
    else:
        yield failed_on_aws(
            deployed, about, f"expected RecursiveLoop Allow, got {found}: Lambda drops looks: deploy again"
        )


def _queue(deployed: Deployed, name: str) -> str:
    asked = {"QueueUrl": deployed.resources[name], "AttributeNames": ["QueueArn"]}
    return str(deployed.client("sqs").get_queue_attributes(**asked)["Attributes"]["QueueArn"])


def _mapping(deployed: Deployed, function: str, source: str) -> Finding:
    about = f"{function} reads its source"
    answer = deployed.client("lambda").list_event_source_mappings(FunctionName=deployed.resources[function])
    found: list[dict[str, Any]] = answer["EventSourceMappings"]
    mapping = next((one for one in found if one["EventSourceArn"] == source), None)
    if mapping is None:
        sources = ", ".join(one["EventSourceArn"] for one in found) or "nothing"
        return failed(about, f"expected a mapping of {source}, got {sources}: deploy again")
    if mapping["State"] != "Enabled":
        advice = _ENABLE.format(uuid=mapping["UUID"])
        return failed(about, f"expected the mapping to be Enabled, got {mapping['State']}: {advice}")
    result = mapping.get("LastProcessingResult", "")
    if result.startswith("PROBLEM"):
        return failed(about, f"Lambda cannot read {source}: {result}")
    return ok(about, f"enabled, {result.lower() or 'nothing read yet'}")


def stream(deployed: Deployed) -> Iterator[Finding]:
    """The stream of Scores has old and new images."""
    about = "the stream of Scores"
    found = deployed.tables["ScoresTable"].get("StreamSpecification", {})
    if not found.get("StreamEnabled"):
        yield failed(about, "the table has no stream, so no rank changes: deploy again")
    elif found.get("StreamViewType") != _VIEW:
        yield failed(about, f"expected {_VIEW}, got {found.get('StreamViewType')}: the projector needs both images")
    else:
        yield ok(about, _VIEW)
