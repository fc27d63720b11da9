"""What axe finds on a page. The browser itself runs it: the page's content security policy would block a script."""

from playwright.sync_api import Page

from tests.support.browser.live_page import AXE

_RUN = "axe.run().then(found => found.violations.map(one => `${one.id}: ${one.nodes.map(node => node.html)}`))"


def violations(page: Page) -> list[str]:
    """The rules that the page breaks now, of any severity, each with the elements that break it."""
    found: list[str] = page.evaluate(f"{AXE.read_text(encoding='utf-8')};{_RUN}")
    return found
