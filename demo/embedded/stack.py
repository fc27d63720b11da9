"""Builds the real template and deploys it into an embedded AWS."""

import fcntl
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from demo.embedded import emulator
from demo.embedded.built import boards_file, copy_build, define, digest, link_layer, made_of, mark
from demo.embedded.processes import run

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

PROJECT = Path(__file__).resolve().parents[2]
LOCAL = PROJECT / ".local"

_TOOLS = LOCAL / "tools"
_STACK_NAME = "standings"
_BUCKET = "standings-artefacts"
_REGION = "us-east-1"
_SOURCES = ("template.yaml", "samconfig.toml", "functions", "layers", "requirements/sam.txt")
"""What `sam build` makes depends on these alone."""
_BUILD_TIMEOUT_S = 240
_DEPLOY_TIMEOUT_S = 120
_CLIENT_CONFIG = Config(proxies={}, retries={"mode": "standard"}, max_pool_connections=32)
# An invocation may take as long as a function: a client that sends it again would have two at work.
_INVOCATION_S = 900
# A request to a queue may be sent again: every event has an id.
_QUEUE_S = 30


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployed stack: its addresses, all on loopback, and its log."""

    endpoint: str
    api_url: str
    queue_url: str
    dead_letter_queue_url: str
    outputs: Mapping[str, str]
    log: Path
    define: Callable[[str], None]
    """Gives the functions another `boards.toml`. What the stack holds stays."""
    boards_file: Path
    """The `boards.toml` that the functions have."""

    def client(self, service: str) -> Any:
        """Return a client of a service of the embedded AWS."""
        return _client(service, self.endpoint)

    def sqs(self) -> "SQSClient":
        """Return a client of the embedded SQS. It ignores the environment's AWS settings."""
        client: SQSClient = _client("sqs", self.endpoint)
        return client

    def environments(self) -> dict[str, dict[str, str]]:
        """Return the environment variables of each function, by its logical id."""
        functions = _client("lambda", self.endpoint)
        named = {out.removesuffix("Name"): name for out, name in self.outputs.items() if out.endswith("FunctionName")}
        return {
            logical_id: functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
            for logical_id, name in named.items()
        }

    def complaint(self, lines: int = 30) -> str:
        """Return the log from the last warning or error on."""
        text = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        loud = [n for n, line in enumerate(text) if " WARNING [lambda" in line or " ERROR [" in line]
        start = loud[-1] if loud else max(0, len(text) - lines)
        return "\n".join(f"    {line}" for line in text[start : start + lines])


@contextmanager
def deployed(
    report: Callable[[str], None],
    parameters: Mapping[str, str] | None = None,
    boards: str | None = None,
    *,
    linked: bool = False,
) -> Iterator[Deployment]:
    """Deploy the stack, yield it, and stop everything at the end. A failure leaves its logs.

    Several stacks can run at the same time. `parameters` override the template parameters of the demo. `boards`
    replaces `boards.toml`. With `linked`, the functions run on the layer where it was built, not on a copy each: that
    starts and stops sooner.
    """
    LOCAL.mkdir(exist_ok=True)
    directory = Path(tempfile.mkdtemp(prefix="run-", dir=LOCAL))
    failed = False
    try:
        with emulator.running(_TOOLS, directory) as (endpoint, log):
            template = _build(directory, report)
            if linked:
                link_layer(template, target()[0].partition("=")[2])
            if boards is not None:
                define(template.parent, boards)
            deploy = partial(_deploy, template, endpoint, directory, parameters)
            take_up = partial(_restart_functions, endpoint) if linked else deploy

            def define_anew(boards: str) -> None:
                define(template.parent, boards)
                take_up()

            report(f"deploying it with sam deploy into the embedded AWS at {endpoint}")
            deploy()
            yield _describe(endpoint, log, boards_file(template.parent), define_anew)
    except Exception:
        failed = True
        report(f"the logs of the failure are in {directory}")
        raise
    finally:
        _clear(directory, keep_logs=failed)


def _build(directory: Path, report: Callable[[str], None]) -> Path:
    """Build for the interpreter and the processor that run the functions, and return the built template.

    Builds share a cache, so only one runs at a time. None runs if the last one was of the same sources. Each deployment
    has its own copy.
    """
    shared = LOCAL / "sam"
    shared.mkdir(exist_ok=True)
    environment = _environment(directory)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = [PROJECT / name for name in _SOURCES]
        made = digest(sources, [*target(), environment.get("WHEELS", ""), environment.get("RUNTIME_PYTHON", "")])
        if made_of(shared / "build") == made:
            report("the application is built: its sources are those of the last sam build")
        else:
            report("building the application with sam build")
            _sam_build(shared, environment, directory / "sam-build.log")
            mark(shared / "build", made)
        copy_build(shared / "build", directory / "build")
    return directory / "build" / "template.yaml"


def _sam_build(shared: Path, environment: Mapping[str, str], log: Path) -> None:
    command: list[str | Path] = [_sam(), "build", "--template", PROJECT / "template.yaml", "--cached"]
    command += ["--build-dir", shared / "build", "--cache-dir", shared / "cache"]
    run(
        [*command, "--parameter-overrides", *target()],
        env=environment,
        cwd=PROJECT,
        log=log,
        timeout_s=_BUILD_TIMEOUT_S,
    )


def _deploy(template: Path, endpoint: str, directory: Path, parameters: Mapping[str, str] | None) -> None:
    chosen = {
        "EndpointUrl": endpoint,
        "OpenReads": "true",
        "OpenSearch": "true",
        "OpenWrites": "true",
        "AdminPage": "true",
        "Settlements": "true",
        "Announcements": "true",
        "WriterMaximumConcurrency": "0",  # the embedded AWS does not support a limit
        "LogLevel": "DEBUG",  # for diagnosis; and without a line of log ministack waits 50 ms
        **(parameters or {}),
    }
    s3 = _client("s3", endpoint)
    if _BUCKET not in [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]:
        # Else sam would deploy a stack of its own, with a bucket in it.
        s3.create_bucket(Bucket=_BUCKET)
    command: list[str | Path] = [_sam(), "deploy", "--template-file", template, "--stack-name", _STACK_NAME]
    command += ["--region", _REGION, "--capabilities", "CAPABILITY_IAM", "--s3-bucket", _BUCKET]
    command += ["--no-confirm-changeset", "--no-progressbar"]
    run(
        [*command, "--parameter-overrides", *target(), *(f"{name}={value}" for name, value in chosen.items())],
        env=_environment(directory) | {"AWS_ENDPOINT_URL": endpoint},
        cwd=PROJECT,
        log=directory / "sam-deploy.log",
        timeout_s=_DEPLOY_TIMEOUT_S,
    )


def _restart_functions(endpoint: str) -> None:
    """Let each function have new processes. A function's memory is set, to what it is: that ends the old ones."""
    functions = _client("lambda", endpoint)
    for page in functions.get_paginator("list_functions").paginate():
        for function in page["Functions"]:
            functions.update_function_configuration(
                FunctionName=function["FunctionName"], MemorySize=function["MemorySize"]
            )


def _sam() -> Path:
    return _TOOLS / "sam" / "bin" / "sam"


def target() -> list[str]:
    """Return the parameters for ministack, which runs functions with its own interpreter."""
    program = "import sys; print(f'python{sys.version_info[0]}.{sys.version_info[1]}')"
    interpreter = _TOOLS / "ministack" / "bin" / "python"
    runtime = subprocess.check_output([interpreter, "-c", program], text=True).strip()
    arm = platform.machine().lower() in {"arm64", "aarch64"}
    return [f"PythonRuntime={runtime}", f"Architecture={'arm64' if arm else 'x86_64'}"]


def _environment(directory: Path) -> dict[str, str]:
    """Return an environment for sam without the user's AWS settings, with a `python3` that can build the layer."""
    temporary = directory / "sam-tmp"
    temporary.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    wheels = {} if platform.libc_ver()[0] == "glibc" else {"WHEELS": "--only-binary=:all:"}
    return (
        kept
        | wheels
        | {
            "PATH": f"{_TOOLS / 'bootstrap' / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "AWS_ACCESS_KEY_ID": "embedded",
            "AWS_SECRET_ACCESS_KEY": "embedded",
            "TMPDIR": str(temporary),
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "NO_PROXY": ",".join(filter(None, [os.environ.get("NO_PROXY"), emulator.HOST])),
            "SAM_CLI_TELEMETRY": "0",
            "SAM_CLI_POLL_DELAY": "0.2",
        }
    )


def _client(service: str, endpoint: str) -> Any:
    return boto3.Session().client(
        service,  # type: ignore[call-overload]  # any service
        endpoint_url=endpoint,
        region_name=_REGION,
        aws_access_key_id="embedded",
        aws_secret_access_key="embedded",  # noqa: S106  the embedded AWS accepts any
        config=_CLIENT_CONFIG.merge(Config(read_timeout=_QUEUE_S if service == "sqs" else _INVOCATION_S)),
    )


def _describe(endpoint: str, log: Path, boards: Path, define: Callable[[str], None]) -> Deployment:
    stack = _client("cloudformation", endpoint).describe_stacks(StackName=_STACK_NAME)["Stacks"][0]
    outputs = {out["OutputKey"]: out["OutputValue"] for out in stack["Outputs"]}
    return Deployment(
        endpoint=endpoint,
        # Few clients can resolve the API's own host name; every client can use this address.
        api_url=f"{endpoint}/_aws/execute-api/{outputs['ApiId']}",
        queue_url=outputs["ActivityQueueUrl"],
        dead_letter_queue_url=outputs["ActivityDeadLetterQueueUrl"],
        outputs=outputs,
        log=log,
        define=define,
        boards_file=boards,
    )


def _clear(directory: Path, *, keep_logs: bool) -> None:
    if keep_logs:
        for part in directory.iterdir():
            if part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
    else:
        shutil.rmtree(directory, ignore_errors=True)
