import pytest

from tests.functions.maintain import test_audit as audit


@pytest.mark.parametrize("seed", range(1_000, 1_300))
def test_audits_of_many_seeds(seed: int) -> None:
    audit.test_each_corruption_is_named_and_nothing_else(seed)
    audit.test_no_false_alarm_while_events_flow(seed)
    audit.test_each_corruption_is_named_while_events_flow(seed)
