"""Pictures come from the hosts that the stack names, and from no other."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from benchmarks.measure.live_page.tab import Tab
from tests.support.aws.stack import Stack

pytestmark = [pytest.mark.thorough]


@pytest.mark.parametrize(
    ("host", "picture", "asked"),
    [
        ("pictures.example", "https://pictures.example/ada.png", 1),
        ("pictures.example:443", "https://pictures.example/ada.png", 1),
        ("pictures.example", "https://pictures.example:443/ada.png", 1),
        ("pictures.example:8443", "https://pictures.example:8443/ada.png", 1),
        ("pictures.example:8443", "https://pictures.example/ada.png", 0),
        ("pictures.example", "https://other.example/ada.png", 0),
    ],
)
def test_the_usual_port_may_be_written_or_not(
    opened: Callable[..., Tab], stack: Stack, host: str, picture: str, asked: int
) -> None:
    assert stack.put("/members", {"name": "Ada Nagy", "picture": picture}, id="m001")[0] == 200
    tab = opened("board=b&window=day", missing="status of 404", hosts=[host])
    expect(tab.page.locator("#rows .face").first).to_be_visible()
    assert tab.asked["ada.png"] == asked
