"""The rules: each looks through an expanded template and yields what is wrong with it, in a sentence."""

from collections.abc import Callable, Iterator
from typing import Final

from tests.template import access, pipeline, watching
from tests.template.expansion import Expanded

Rule = Callable[[Expanded], Iterator[str]]
OUTPUTS: Final = {
    "ActivityQueueUrl",
    "ApiUrl",
    *(f"{name}FunctionName" for name in ("Writer", "Projector", "Query", "Command", "Maintenance")),
}


def outputs_are_there(template: Expanded) -> Iterator[str]:
    for name in sorted(OUTPUTS - template.outputs.keys()):
        yield f"{name}: is not among the outputs"


RULES: Final[tuple[Rule, ...]] = (
    pipeline.a_message_stays_hidden_for_six_timeouts,
    pipeline.attempts_end_in_time,
    pipeline.retries_are_finite,
    pipeline.batches_fail_in_part,
    pipeline.what_fails_is_kept_whole,
    pipeline.what_is_kept_goes_while_it_can_be_weighed,
    access.statements_name_what_they_allow,
    access.the_query_function_cannot_write,
    access.tables_are_kept,
    access.buckets_are_closed_and_encrypted,
    access.queues_are_encrypted_and_take_tls_only,
    access.routes_ask_who_calls,
    access.the_api_is_throttled_and_logged,
    watching.logs_end,
    watching.alarms_say_what_to_do,
    watching.dead_letters_ring,
    watching.what_can_go_wrong_rings,
    watching.sources_count_their_events,
    watching.metrics_are_there,
    watching.functions_are_traced,
    outputs_are_there,
)


def complaints(template: Expanded) -> list[tuple[str, str]]:
    """The name of each rule that does not hold, with what is wrong."""
    return [(rule.__name__, wrong) for rule in RULES for wrong in rule(template)]
