"""The simulated queue and mapping have the settings of template.yaml, and those outlive an outage of a day."""

from dataclasses import astuple

from tests.support.awslambda.settings import QUEUE, STREAM, deployed_queue, deployed_stream, timeout
from tests.support.awslambda.stream_poller import RETENTION

HOUR = 3600


def test_they_are_those_of_the_template() -> None:
    assert (deployed_stream(), deployed_queue()) == (STREAM, QUEUE)
    assert all(type(value) in (int, bool) for value in (*astuple(STREAM), *astuple(QUEUE)))


def test_the_age_of_a_record_binds_before_the_tries_and_before_the_stream_drops_it() -> None:
    assert STREAM.max_retries == -1
    assert 12 * HOUR <= STREAM.max_record_age <= RETENTION - timeout("ProjectorFunction")
    assert (STREAM.bisects, STREAM.reports, STREAM.keeps_failures) == (True, True, True)


def test_a_message_is_delivered_for_more_than_a_day() -> None:
    assert QUEUE.visibility * QUEUE.max_receive_count > 24 * HOUR
