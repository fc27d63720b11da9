"""All rules. A rule takes an expanded template and yields a sentence for each mistake."""

from collections.abc import Callable, Iterator
from typing import Final

from tests.template.expansion import Expanded
from tests.template.rules import access, capacity, encryption, pipeline, schedules, watching

Rule = Callable[[Expanded], Iterator[str]]
OUTPUTS: Final = {
    "ActivityQueueUrl",
    "ApiUrl",
    *(f"{name}FunctionName" for name in ("Writer", "Projector", "Query", "Command", "Maintenance")),
}


def outputs_exist(template: Expanded) -> Iterator[str]:
    for name in sorted(OUTPUTS - template.outputs.keys()):
        yield f"{name}: expected an output of this name"


RULES: Final[tuple[Rule, ...]] = (
    pipeline.a_message_stays_hidden_for_six_timeouts,
    pipeline.attempts_end_in_time,
    pipeline.retries_are_finite,
    pipeline.an_outage_of_a_day_costs_nothing,
    pipeline.batches_fail_in_part,
    pipeline.failures_are_kept_whole,
    pipeline.nothing_is_kept_too_long_to_replay,
    pipeline.looks_are_tried_until_they_succeed,
    access.statements_name_what_they_allow,
    access.buckets_of_others_are_out_of_reach,
    access.events_are_put_in_our_name_alone,
    access.the_query_function_cannot_write,
    access.tables_are_protected,
    access.a_first_deployment_can_be_rolled_back,
    access.buckets_are_closed_and_encrypted,
    access.queues_are_encrypted_and_require_tls,
    encryption.one_key_encrypts_all,
    encryption.roles_may_use_the_key_and_no_other,
    capacity.provisioned_capacity_is_scaled,
    access.routes_authenticate,
    access.whoever_may_post_writes_for_their_member_alone,
    access.the_api_is_throttled_and_logged,
    watching.logs_expire,
    watching.alarms_say_what_to_do,
    watching.dead_letters_have_an_alarm,
    watching.failures_have_alarms,
    watching.sources_that_nobody_polls_have_alarms,
    watching.damage_is_not_called_mended,
    watching.sources_count_their_events,
    watching.metrics_exist,
    watching.functions_can_be_traced,
    schedules.schedules_start_tasks_that_end,
    schedules.only_a_rule_of_the_stack_may_start_a_task,
    schedules.scheduled_runs_are_not_repeated,
    outputs_exist,
)


def complaints(template: Expanded) -> list[tuple[str, str]]:
    """Return each mistake, with the name of the rule that it breaks."""
    return [(rule.__name__, wrong) for rule in RULES for wrong in rule(template)]
