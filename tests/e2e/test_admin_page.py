"""The admin's page of a deployed stack that takes tokens: the gateway asks for one, and the functions do as it says."""

from typing import Final

import pytest
from playwright.sync_api import expect

from demo.embedded.stack import Deployment
from tests.support.aws.tokens import SCOPES, Call, Issuer, ask
from tests.support.browser.chromium import chromium_or_skip

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("tokens")]

BOARD: Final = "demo-admin"
PATIENCE_MS: Final = 60_000


def test_an_admin_signs_in_hides_merges_and_drops_what_was_refused(guarded: Deployment, issuer: Issuer) -> None:
    events = [{"id": f"adm-{name}", "board": BOARD, "member": name, "metrics": {"points": 5}} for name in ("al", "bo")]
    wrong = {"id": "adm-cy", "board": "nobodys/board", "member": "al", "metrics": {"points": 5}}
    assert ask(guarded, Call("POST", "/events", events, "", 0), issuer.token())[0] == 202
    guarded.sqs().send_message(QueueUrl=guarded.queue_url, MessageBody=str(wrong).replace("'", '"'))
    with chromium_or_skip() as browser:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
        page.goto(f"{guarded.api_url}/admin#view=member&id=al")
        for scopes, said in ((SCOPES[:2], "lacks the scope standings/admin"), (SCOPES, "")):
            expect(page.locator("#token")).to_be_focused()
            page.locator("#token").fill(issuer.token(scope=" ".join(scopes)))
            page.keyboard.press("Enter")
            if said:
                expect(page.locator("#sign-why")).to_contain_text(said)
        expect(page.locator("#state")).to_contain_text("signed in as u1 until")
        expect(page.locator(f"[data-board='{BOARD}']")).to_contain_text("1 of 2")
        for button, said in (("Hide", "al is hidden"), ("Show", "al is shown"), ("Drop", "1 deleted.")):
            page.get_by_role("button", name=button, exact=True).click()
            page.locator("#ask-yes").click()
            expect(page.locator("#note")).to_contain_text(said)
        page.locator("summary", has_text="Merge").click()
        page.get_by_label("The id that stays").fill("bo")
        page.keyboard.press("Enter")
        page.locator("#ask-yes").click()
        expect(page.locator("#note")).to_contain_text("is points · all: rank 1 of 1, score 10")
        page.get_by_role("link", name="Boards").click()
        expect(page.get_by_role("row", name=BOARD)).to_contain_text("open")
        assert complaints == []
