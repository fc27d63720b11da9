"""The context that Lambda passes to a handler beside the event.

https://docs.aws.amazon.com/lambda/latest/dg/python-context.html
"""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field


class Killed(BaseException):
    """Ends the sandbox in the middle of an invocation. Handlers do not catch it. Pollers count a failed invocation."""


@dataclass
class Context:
    """The context of one invocation. The invocation starts when the context is created."""

    function_name: str = "function"
    memory_limit_in_mb: int = 512
    seconds: float = 60.0
    clock: Callable[[], float] = time.monotonic
    aws_request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    started: float = field(init=False)

    def __post_init__(self) -> None:
        self.started = self.clock()

    @property
    def invoked_function_arn(self) -> str:
        return f"arn:aws:lambda:us-east-1:000000000000:function:{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        return max(0, round((self.started + self.seconds - self.clock()) * 1000))
