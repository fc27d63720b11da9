"""Checks of the functions: what they run on, and how many may run at once."""

from collections.abc import Iterator
from typing import Any, Final

from standings_cli.doctor.deployed import Deployed
from standings_cli.doctor.finding import Finding, failed, note, ok

_STREAM_SHARDS: Final = 4  # Of a new table; each has projectors of its own
_FOR_READS: Final = 10
_LEAST_BOTOCORE: Final = (1, 35)  # The first that knows the condition If-None-Match of S3, which seals a settled period


def runtimes(deployed: Deployed) -> Iterator[Finding]:
    """Every function has the layer, and the layer is for the function's runtime and processor."""
    client = deployed.client("lambda")
    layers: dict[str, dict[str, Any]] = {}
    for name in deployed.functions:
        about = f"runtime of {name}"
        found = client.get_function_configuration(FunctionName=deployed.resources[name])
        runtime, (processor, *_) = found["Runtime"], found.get("Architectures", ["x86_64"])
        arns = [layer["Arn"] for layer in found.get("Layers", [])]
        if not arns:
            yield failed(about, "expected the layer with the package standings, got none: run sam build and sam deploy")
            continue
        layer = layers.setdefault(arns[0], client.get_layer_version_by_arn(Arn=arns[0]))
        fits = runtime in layer.get("CompatibleRuntimes", [runtime])
        if not fits or processor not in layer.get("CompatibleArchitectures", [processor]):
            built = (*layer.get("CompatibleRuntimes", ()), *layer.get("CompatibleArchitectures", ()))
            yield failed(
                about,
                f"{runtime} on {processor}, but the layer was built for {', '.join(built)}: give sam build and sam "
                "deploy the same PythonRuntime and Architecture",
            )
        else:
            yield ok(about, f"{runtime} on {processor}, as the layer")


def botocore(deployed: Deployed) -> Iterator[Finding]:
    """The runtime's botocore, which AWS chooses, knows every call of the functions."""
    about = "botocore of the runtime"
    (answer,) = deployed.connection.maintenance.answers("runtime", {})
    version = str(answer["botocore"])
    if tuple(int(part) for part in version.split(".")[:2]) < _LEAST_BOTOCORE:
        least = ".".join(map(str, _LEAST_BOTOCORE))
        yield failed(about, f"expected {least} or later, got {version}: deploy with a newer PythonRuntime")
    else:
        yield ok(about, f"{version} on Python {answer['python']}")


def concurrency(deployed: Deployed) -> Iterator[Finding]:
    """The account lets the writers and projectors run that the parameters allow, and leaves room for reads.

    What is reserved for a function is not part of what the account has left.
    """
    about = "functions that may run at once"
    needs = {
        "Writer": int(deployed.parameter("WriterMaximumConcurrency") or 0),
        "Projector": _STREAM_SHARDS * int(deployed.parameter("ProjectorParallelizationFactor") or 1),
        "Query": _FOR_READS,
    }
    shared = {
        name: need for name, need in needs.items() if not int(deployed.parameter(f"{name}ReservedConcurrency") or 0)
    }
    needed = sum(shared.values())
    found = deployed.client("lambda").get_account_settings()["AccountLimit"]["UnreservedConcurrentExecutions"]
    parts = ", ".join(f"{need} of {name}Function" for name, need in shared.items() if need)
    if found < needed:
        yield failed(about, f"the account allows {found:,}, expected {needed:,}, {parts}: ask AWS for more")
    elif shared.get("Writer") == 0:
        yield note(about, f"{found:,}; WriterMaximumConcurrency is 0, so a backlog may take all of them")
    else:
        yield ok(about, f"the account allows {found:,}, {needed:,} are needed")
